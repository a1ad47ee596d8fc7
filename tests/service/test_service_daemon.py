"""The daemon as a process: configuration, start, stop, death of a thread, statistics."""

import json
import os
import re
import signal
import socket
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from service_rig import Daemon, item_of, program, toy_settings, wait_for, write_ini

from gossamer.service.zeromq import zmq

SEQUENCE = [
    "AdminInterfaceServer",
    "URLManager",
    "SitesManager",
    "BatchTasksManager",
    "ClientInterfaceService",
]


def started(log: str) -> list[str]:
    return re.findall(r"started (\w+)", log)


def stopped(log: str) -> list[str]:
    return re.findall(r"stopped (\w+(?:Server|Manager|Service))", log)


@pytest.mark.req("S3.179")
@pytest.mark.parametrize(
    "content", [None, b"[Server\n", b"\xff", b"[Server]\nclient_port = many\n", b"[Nope]\n"]
)
def test_without_a_usable_configuration_nothing_is_started(tmp_path, content):
    path = tmp_path / "some.ini"
    if content is not None:
        path.write_bytes(content)
    done = program("dc-daemon", "--config", path, "--daemon", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("dc-daemon: ")
    assert "Traceback" not in done.stderr
    assert "started" not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.req("S3.179", "S3.180")
def test_without_the_flag_the_configuration_in_this_folder_is_used(tmp_path):
    missing = program("dc-daemon", cwd=tmp_path)
    assert missing.returncode == 1
    assert "dc-daemon.ini" in missing.stderr
    write_ini(tmp_path / "dc-daemon.ini", {"Server": {"client_port": "none of your business"}})
    found = program("dc-daemon", cwd=tmp_path)
    assert found.returncode == 1
    assert "none of your business" in found.stderr


@pytest.mark.req("S3.181", "S3.183", "S3.188")
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("dc-daemon", ["--config", "-c", "--name", "-n", "--help", "-h"]),
        ("dc-client", ["--config", "--command", "-cmd", "--file", "-f", "--fields", "-ff", "-mrg"]),
        ("dc-admin", ["--config", "--cmd", "--fields", "--classes"]),
    ],
)
def test_help_names_the_arguments_and_ends_with_0(tmp_path, name, flags):
    for flag in ("--help", "-h"):
        done = program(name, flag, cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: {name}")
        assert "examples:" in done.stdout
        for word in flags:
            assert word in done.stdout


@pytest.mark.req("S3.34", "S3.178", "S3.189", "S3.190")
def test_classes_start_in_sequence_and_stop_in_reverse(tmp_path):
    with Daemon(tmp_path) as daemon:
        assert started(daemon.log) == SEQUENCE
        told = daemon.ask("STOP")
        assert list(told) == SEQUENCE[::-1]
        assert all(fields["stopped"] and not fields["error code"] for fields in told.values())
        assert daemon.wait() == 0
        assert stopped(daemon.log) == SEQUENCE[::-1]


@pytest.mark.req("S3.190")
def test_another_sequence_is_stopped_in_its_own_reverse(tmp_path):
    other = [SEQUENCE[0], SEQUENCE[2], SEQUENCE[1], SEQUENCE[4], SEQUENCE[3]]
    with Daemon(tmp_path, Server={"instantiateSequence": ", ".join(other)}) as daemon:
        assert started(daemon.log) == other
        assert item_of(daemon.call("SITE_FIND", {})) == []
        assert list(daemon.ask("STOP")) == other[::-1]
        assert daemon.wait() == 0
        assert stopped(daemon.log) == other[::-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_in_reverse_order_too(tmp_path, number):
    with Daemon(tmp_path) as daemon:
        assert daemon.terminate(number) == 0
        assert stopped(daemon.log) == SEQUENCE[::-1]


def test_some_classes_can_be_stopped_alone(tmp_path):
    with Daemon(tmp_path) as daemon:
        assert list(daemon.ask("STOP", "--classes", "URLManager")) == ["URLManager"]
        assert item_of(daemon.call("SITE_FIND", {})) == []
        refused = daemon.call("URL_STATUS", [{"url": "http://a.example/"}], code=1)
        assert "URLManager does not run" in refused["itemsList"][0]["errorMessage"]
        told = daemon.ask("STAT", "--fields", "RESTARTS", code=1)
        assert told["URLManager"]["error code"] == 1
        assert told["SitesManager"]["error code"] == 0
        assert daemon.terminate() == 0


@pytest.mark.req("S3.182")
def test_the_name_of_the_instance(tmp_path):
    with Daemon(tmp_path / "1") as daemon:
        assert daemon.ask("SYSTEM")["AdminInterfaceServer"]["NAME"] == "dc-daemon"
    with Daemon(tmp_path / "2", Application={"name": "north"}) as daemon:
        assert daemon.ask("SYSTEM")["AdminInterfaceServer"]["NAME"] == "north"
        assert daemon.call("SITE_FIND", {})["itemsList"][0]["node"] == "north"
    with Daemon(tmp_path / "3", "-n", "south", Application={"name": "north"}) as daemon:
        assert daemon.ask("SYSTEM")["AdminInterfaceServer"]["NAME"] == "south"
        assert daemon.call("SITE_FIND", {})["itemsList"][0]["node"] == "south"


def test_a_port_in_use_ends_it_with_a_message(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = write_ini(
            tmp_path / "some.ini",
            toy_settings(Server={"admin_port": "0", "client_port": str(port)}),
        )
        done = program("dc-daemon", "-c", config, cwd=tmp_path)
    assert done.returncode == 1
    assert f"cannot listen on tcp://127.0.0.1:{port}" in done.stderr
    assert stopped(done.stderr) == SEQUENCE[3::-1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::1"])
def test_other_addresses_can_be_listened_on(tmp_path, host):
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with Daemon(tmp_path, Server={"host": host, "insecure": "1"}) as daemon:
        assert daemon.client.host == host
        assert item_of(daemon.call("SITE_FIND", {})) == []
        assert daemon.terminate() == 0


@pytest.mark.req("S3.10")
def test_what_carries_operations_out_is_named_by_the_configuration(tmp_path):
    """The same requests, another environment: the wire and the threads know neither."""
    real = {"operations": "gossamer.service.catalog_operations:open_operations", "periodics": ""}
    for number, application in enumerate(({}, real)):
        with Daemon(tmp_path / str(number), Application=application) as daemon:
            site = {"urls": ["http://a.example/"]}
            assert item_of(daemon.call("SITE_NEW", site))["errorCode"] == 0
            assert item_of(daemon.call("SITE_NEW", site, code=1))["errorCode"] == 2020
            (found,) = item_of(daemon.call("SITE_FIND", {"url": "http://a.example/"}))
            assert found["state"] == 1


def test_what_cannot_be_opened_or_loaded_ends_it_with_a_message(tmp_path):
    broken = toy_settings(Application={"operations": "toy_operations:open_broken_operations"})
    done = program("dc-daemon", "-c", write_ini(tmp_path / "a.ini", broken), cwd=tmp_path)
    assert done.returncode == 1
    assert "URLManager cannot start: cannot open" in done.stderr
    missing = toy_settings(Application={"operations": "toy_operations:nothing"})
    done = program("dc-daemon", "-c", write_ini(tmp_path / "b.ini", missing), cwd=tmp_path)
    assert done.returncode == 1
    assert "[Application] operations = toy_operations:nothing" in done.stderr


def test_a_thread_that_dies_is_started_again_once(tmp_path):
    with Daemon(tmp_path) as daemon:
        daemon.call("SITE_NEW", {"id": "1", "urls": ["http://a.example/"]})
        lost = daemon.call("SITE_STATUS", {"id": "die"}, code=1)
        assert lost["errorCode"] == 1
        assert lost["errorMessage"].startswith("THREAD_LOST: SitesManager")
        # The others, and those who talk to it, have noticed nothing.
        assert item_of(daemon.call("SITE_STATUS", {"id": "1"}))["id"] == "1"
        told = daemon.ask("STAT")
        assert told["SitesManager"]["RESTARTS"] == 1
        assert told["SitesManager"]["SITE_NEW_CNT"] == 1
        assert told["URLManager"]["RESTARTS"] == 0
        daemon.call("SITE_STATUS", {"id": "die"}, code=1)
        assert daemon.wait() == 1
        assert "SitesManager died again" in daemon.log
        assert stopped(daemon.log) == [name for name in SEQUENCE[::-1] if name != "SitesManager"]


def test_a_batch_that_kills_its_thread_is_answered(tmp_path):
    with Daemon(tmp_path) as daemon:
        batch = {"id": 666, "items": [{"urlId": "a"}]}
        lost = daemon.call("BATCH", batch, code=1)
        assert lost["itemsList"][0]["errorMessage"].startswith("THREAD_LOST: BatchRunner")
        batch["id"] = 1
        assert len(item_of(daemon.call("BATCH", batch))) == 1
        assert daemon.ask("STAT")["BatchTasksManager"]["runners_restarted"] == 1
        assert daemon.terminate() == 0


def test_a_thread_that_does_not_stop_is_told_by_the_exit_code(tmp_path):
    with Daemon(tmp_path, Server={"stop_timeout_seconds": "0.3"}) as daemon, dealer(daemon) as end:
        body = {"operation": "SITE_STATUS", "object": {"id": "busy"}}
        end.send_multipart([b"", json.dumps(body).encode()])
        daemon.await_busy()
        assert daemon.terminate() == 1
        assert "SitesManager did not stop within 0.3 s" in daemon.log


def test_statistics_outlive_the_process(tmp_path):
    daemon = Daemon(tmp_path)
    with daemon:
        daemon.call("SITE_FIND", {})
        daemon.call("SITE_FIND", {})
        before = daemon.ask("STAT")
        assert daemon.terminate() == 0
    saved = json.loads((daemon.data / "service-statistics.json").read_text())
    assert saved["SitesManager"]["SITE_FIND_CNT"] == 2
    with daemon:
        daemon.call("SITE_FIND", {})
        after = daemon.ask("STAT")
        assert after["SitesManager"]["SITE_FIND_CNT"] == 3
        name = "CLIENTS_RECV_CNT"
        assert after["ClientInterfaceService"][name] == 3
        assert before["ClientInterfaceService"][name] == 2
        assert after["SitesManager"]["START_DATE"] > before["SitesManager"]["START_DATE"]


def test_a_spoilt_file_of_statistics_is_no_reason_not_to_start(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "service-statistics.json").write_text('{"SitesManager": 5}')
    with Daemon(tmp_path) as daemon:
        assert "counting begins anew" in daemon.log
        assert daemon.ask("STAT")["SitesManager"]["operations"] == 0


def test_it_can_go_into_the_background(tmp_path):
    settings = toy_settings(Application={"log_file": "some.log", "pid_file": "some.pid"})
    config = write_ini(tmp_path / "some.ini", settings)
    done = program("dc-daemon", "-c", config, "--daemon", cwd=tmp_path)
    assert done.returncode == 0
    log, pid_file = tmp_path / "some.log", tmp_path / "some.pid"
    wait_for(lambda: log.exists() and ": ready\n" in log.read_text(), "the daemon")
    pid = int(pid_file.read_text())
    try:
        assert os.getsid(pid) != os.getsid(0)
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not pid_file.exists(), "the daemon to end")
    assert stopped(log.read_text()) == SEQUENCE[::-1]


def test_periodic_processes_run_and_ask_the_sites_manager(tmp_path):
    with Daemon(tmp_path, Crawling={"period_seconds": "0.05"}) as daemon:
        daemon.call("SITE_NEW", {"id": "1", "urls": ["http://a.example/"]})
        runs = daemon.data / "runs.txt"
        wait_for(lambda: runs.exists() and " 1\n" in runs.read_text(), "runs that see the site")

        def told() -> dict[str, Any]:
            return daemon.ask("STAT")["BatchTasksManager"]

        # A run counts when it has ended.
        wait_for(lambda: told()["batches_crawl_queue"] == 1, "the counters")
        assert told()["batches_crawl_total"] > 0
        assert told()["common_operations_cnt"] > 0
        assert told()["periodic_faults"] == 0
        assert daemon.ask("STAT")["SitesManager"]["SITE_FIND_CNT"] > 0
        assert not (daemon.data / "closed.txt").exists()
        assert daemon.terminate() == 0
        assert (daemon.data / "closed.txt").exists()


def test_a_process_that_fails_is_counted_and_tried_again(tmp_path):
    with Daemon(tmp_path, Purge={"period_seconds": "0.05"}) as daemon:

        def faults() -> float:
            return daemon.ask("STAT")["BatchTasksManager"]["periodic_faults"]

        wait_for(lambda: faults() >= 10, "ten faults")
        assert "FAULTY failed: " in daemon.log
        told = daemon.ask("STAT")["BatchTasksManager"]
        assert told["batches_crawl_total"] == 0
        assert told["RESTARTS"] == 0


@pytest.mark.req("S3.4", "S3.40")
def test_a_slow_operation_does_not_block_others(tmp_path):
    """While the SitesManager is busy, URL operations and administrators are answered."""
    with Daemon(tmp_path, Server={"admin_timeout_seconds": "0.2"}) as daemon, dealer(daemon) as end:
        slow = {"id": "slow", "operation": "SITE_STATUS", "object": {"id": "busy"}}
        quick = {"id": "quick", "operation": "URL_FETCH", "object": [{}]}
        for body in (slow, quick):
            end.send_multipart([b"", json.dumps(body).encode()])
        assert json.loads(end.recv_multipart()[-1])["id"] == "quick"

        # The class that is busy is reported as one that does not answer; the other answers.
        def errors() -> list[int]:
            told = daemon.administer("STAT", ["SitesManager", "URLManager"])
            return [fields["error code"] for fields in told.values()]

        daemon.await_busy()
        wait_for(lambda: errors() == [1, 0], "the busy one to be noticed")
        daemon.wake()
        assert json.loads(end.recv_multipart()[-1])["id"] == "slow"


@contextmanager
def dealer(daemon: Daemon):
    with zmq.Context() as context:
        end = context.socket(zmq.DEALER)
        end.setsockopt(zmq.LINGER, 0)
        end.setsockopt(zmq.RCVTIMEO, 180_000)
        end.connect(f"tcp://{daemon.client}")
        try:
            yield end
        finally:
            end.close()


@pytest.mark.req("S3.40")
def test_a_request_that_takes_too_long_is_answered_with_code_1(tmp_path):
    with Daemon(tmp_path, Server={"request_timeout_seconds": "0.2"}) as daemon:
        late = daemon.call("SITE_STATUS", {"id": "sleep2"}, code=1)
        assert late["errorCode"] == 1
        assert "TIMEOUT: SitesManager" in late["errorMessage"]
        assert daemon.ask("STAT", code=None)["ClientInterfaceService"]["timeouts"] == 1


def end_with(pid_file) -> None:
    """End a daemon in the background, and wait until it has gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(pid_file.read_text()), signal.SIGTERM)
        wait_for(lambda: not pid_file.exists(), "the daemon to end")


def test_whoever_started_it_in_the_background_hears_when_it_is_ready(tmp_path):
    settings = toy_settings(Application={"log_file": "some.log", "pid_file": "some.pid"})
    config = write_ini(tmp_path / "some.ini", settings)
    try:
        assert program("dc-daemon", "-c", config, "--daemon", cwd=tmp_path).returncode == 0
        assert ": ready\n" in (tmp_path / "some.log").read_text()
    finally:
        end_with(tmp_path / "some.pid")


@pytest.mark.parametrize("wrong", ["data_dir", "pid_file", "port"])
def test_a_start_in_the_background_that_fails_is_told_to_whoever_started_it(tmp_path, wrong):
    (tmp_path / "file").touch()
    application = {"log_file": "some.log"}
    if wrong != "port":
        application[wrong] = "file/below"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1]) if wrong == "port" else "0"
        server = {"admin_port": "0", "client_port": port}
        settings = toy_settings(Application=application, Server=server)
        config = write_ini(tmp_path / "some.ini", settings)
        done = program("dc-daemon", "-c", config, "--daemon", cwd=tmp_path)
    assert done.returncode == 1
    assert ("Address already in use" if wrong == "port" else "file/below") in done.stderr
    assert done.stderr.startswith("dc-daemon: ")
    assert ": ready\n" not in (tmp_path / "some.log").read_text()


@pytest.mark.req("S3.179")
def test_a_second_daemon_in_the_same_folder_does_not_start(tmp_path):
    """Both would make batches there, and only one could crawl them."""
    with Daemon(tmp_path) as daemon:
        other = write_ini(tmp_path / "other.ini", toy_settings())
        done = program("dc-daemon", "-c", other, cwd=tmp_path)
        assert done.returncode == 1
        assert daemon.process is not None
        assert f"in use by process {daemon.process.pid} (dc-daemon)" in done.stderr
        assert "started" not in done.stderr
        assert daemon.terminate() == 0

    with Daemon(tmp_path) as again:
        assert again.terminate() == 0
