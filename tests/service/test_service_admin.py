"""Administration: statistics, variables, suspension, the shape of answers."""

import json

import pytest
from service_rig import Daemon, item_of, program, wait_for

import gossamer

CLASSES = [
    "AdminInterfaceServer",
    "URLManager",
    "SitesManager",
    "BatchTasksManager",
    "ClientInterfaceService",
]


@pytest.mark.req("S3.7", "S3.189", "S3.191", "S3.192")
def test_statistics_of_all_classes(shared):
    told = shared.ask("STAT")
    assert list(told) == CLASSES
    for name, fields in told.items():
        assert fields["error code"] == 0
        for figure in ("START_DATE", "RAMV", "RAMR", "CPUU", "CPUS", "THREADS", "VERSION"):
            assert figure in fields, (name, figure)
        assert fields["PARENT_SEND_CNT"] >= 1
    admin = told["AdminInterfaceServer"]
    assert admin["VERSION"] == gossamer.__version__
    assert set(admin["CLIENTS"]) == set(CLASSES) - {"AdminInterfaceServer"}
    assert admin["RAMV"] > admin["RAMR"] > 0
    assert told["BatchTasksManager"]["batches_crawl_total"] == 0


@pytest.mark.req("S3.1")
def test_the_service_is_one_process_with_many_threads(shared):
    told = shared.ask("STAT", "--fields", "THREADS", "--classes", "AdminInterfaceServer")
    # The five classes, the main thread, the runner of periodic processes and two of batches.
    assert told == {"AdminInterfaceServer": {"THREADS": 9, "error code": 0}}
    assert shared.ask("SYSTEM")["AdminInterfaceServer"]["PID"] == shared.process.pid


@pytest.mark.req("S3.2", "S3.3", "S3.6", "S3.12", "S3.40")
def test_every_class_has_a_list_of_transport_items(shared):
    told = shared.ask("SYSTEM")
    items = {
        name: {(item["name"], item["type"], item["protocol"]) for item in fields["TRANSPORTS"]}
        for name, fields in told.items()
    }
    tcp = {
        name: {item["endpoint"] for item in fields["TRANSPORTS"] if item["protocol"] == "tcp"}
        for name, fields in told.items()
    }
    # Two ports, one for each kind of client, and everything else inside.
    assert tcp["AdminInterfaceServer"] == {f"tcp://{shared.admin}"}
    assert tcp["ClientInterfaceService"] == {f"tcp://{shared.client}"}
    assert not tcp["URLManager"] | tcp["SitesManager"] | tcp["BatchTasksManager"]
    targets = {"URLMANAGER", "SITESMANAGER", "BATCHTASKSMANAGER"}
    assert {(name, "client", "inproc") for name in targets} <= items["ClientInterfaceService"]
    for name in ("URLManager", "SitesManager", "BatchTasksManager"):
        assert ("TASKS", "server", "inproc") in items[name]
    for name in CLASSES[1:]:
        assert ("ADMIN", "client", "inproc") in items[name]


def test_connections_are_counted_with_their_bytes(shared):
    names = "CLIENTS_RECV_CNT,CLIENTS_RECV_BYTES,CLIENTS_SEND_CNT,CLIENTS_SEND_BYTES"
    words = ("--fields", names, "--classes", "ClientInterfaceService")
    before = shared.ask("STAT", *words)["ClientInterfaceService"]
    shared.call("SITE_FIND", {})
    after = shared.ask("STAT", *words)["ClientInterfaceService"]
    assert after["CLIENTS_RECV_CNT"] == before["CLIENTS_RECV_CNT"] + 1
    assert after["CLIENTS_SEND_CNT"] == before["CLIENTS_SEND_CNT"] + 1
    assert after["CLIENTS_RECV_BYTES"] > before["CLIENTS_RECV_BYTES"] + 10
    assert after["CLIENTS_SEND_BYTES"] > before["CLIENTS_SEND_BYTES"] + 10


@pytest.mark.req("S3.7", "S3.191")
def test_settings_are_read_and_changed_while_it_runs(shared):
    target = ("--classes", "URLManager,SitesManager")
    told = shared.ask("SET", "--fields", "LOG_LEVEL:debug,POLL_TIMEOUT:321", *target)
    assert told["URLManager"] == {"LOG_LEVEL": "debug", "POLL_TIMEOUT": 321, "error code": 0}
    assert list(told) == ["URLManager", "SitesManager"]
    told = shared.ask("GET", "--fields", "POLL_TIMEOUT,LOG_LEVEL", "--classes", ",".join(CLASSES))
    assert [told[name]["POLL_TIMEOUT"] for name in CLASSES] == [1000, 321, 321, 1000, 1000]
    shared.call("URL_STATUS", [{"url": "http://a.example/"}])
    assert "debug URLManager: URL_STATUS" in shared.log
    assert "debug ClientInterfaceService" not in shared.log
    shared.ask("SET", "--fields", "LOG_LEVEL:info,POLL_TIMEOUT:1000", *target)


def test_everything_can_be_read(shared):
    told = shared.ask("GET", "--fields", "*", "--classes", "AdminInterfaceServer,BatchTasksManager")
    admin, tasks = told["AdminInterfaceServer"], told["BatchTasksManager"]
    assert admin["server.max_message_bytes"] == 100_000
    assert admin["sql.sql_custom"] is True
    assert {"LOG_LEVEL", "POLL_TIMEOUT", "SUSPENDED", "CRAWLING_PERIOD"} <= set(tasks)


def test_a_period_is_changed_while_it_runs(tmp_path):
    with Daemon(tmp_path) as daemon:
        words = ("--classes", "BatchTasksManager")
        assert daemon.ask("STAT")["BatchTasksManager"]["batches_crawl_total"] == 0
        daemon.ask("SET", "--fields", "CRAWLING_PERIOD:0.05", *words)

        def total() -> int:
            return daemon.ask("STAT", *words)["BatchTasksManager"]["batches_crawl_total"]

        wait_for(lambda: total() > 1, "runs")
        daemon.ask("SUSPEND", "--fields", "1", *words)
        # One may be under way; no other begins, however long it takes to ask for it.
        most = total() + 1
        assert [total() <= most for _ in range(3)] == [True] * 3
        daemon.ask("SUSPEND", "--fields", "0", *words)
        wait_for(lambda: total() > most, "runs after the suspension")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ("POLL_TIMEOUT:0", "POLL_TIMEOUT cannot be 0"),
        ('POLL_TIMEOUT:"x"', "POLL_TIMEOUT cannot be 'x'"),
        ("LOG_LEVEL:loud", "LOG_LEVEL cannot be 'loud'"),
        ("LOG_LEVEL:__import__('os').getpid()", "LOG_LEVEL cannot be"),
        ("NOPE:1", "no variable NOPE"),
    ],
)
def test_a_value_that_is_not_allowed_changes_nothing(shared, fields, word):
    told = shared.ask("SET", "--fields", fields, "--classes", "URLManager", code=1)
    assert told["URLManager"]["error code"] == 2
    assert word in json.dumps(told["URLManager"])
    now = shared.ask("GET", "--fields", "POLL_TIMEOUT,LOG_LEVEL", "--classes", "URLManager")
    assert now["URLManager"] == {"POLL_TIMEOUT": 1000, "LOG_LEVEL": "info", "error code": 0}


@pytest.mark.req("S3.191")
@pytest.mark.parametrize("command", ["GET", "SET"])
def test_fields_and_classes_are_a_must_for_get_and_set(shared, command):
    for words in ([], ["--fields", "A:1"], ["--classes", "URLManager"]):
        done = program(
            *("dc-admin", "--cmd", command, "--config", shared.client_config, *words),
            cwd=shared.folder,
        )
        assert done.returncode == 2
        assert "needs --fields and --classes" in done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--cmd", "STAT", "--classes", "Nobody"], "there is no class Nobody"),
        (["--cmd", "SQL_CUSTOM", "--fields", "SELECT 1", "--classes", "URLManager"], None),
    ],
)
def test_what_does_not_exist_is_refused(shared, words, text):
    done = program("dc-admin", *words, "--config", shared.client_config, cwd=shared.folder)
    if text is None:
        assert done.returncode == 1
        assert "URLManager does not serve SQL_CUSTOM" in done.stdout
        return
    assert done.returncode == 1
    ((thing, error),) = json.loads(done.stdout)
    assert error == 2
    assert text in thing["fields"]["error"]


def test_statements_of_administrators(shared, tmp_path):
    told = shared.ask("SQL_CUSTOM", "--fields", "SELECT 1, 2")
    assert told["SitesManager"]["response"]["query"] == "SELECT 1, 2"
    assert told["SitesManager"]["response"]["result"] == [[1]]
    with Daemon(tmp_path) as closed:
        told = closed.ask("SQL_CUSTOM", "--fields", "SELECT 1", code=1)
        assert "SQL_CUSTOM is off" in told["SitesManager"]["error"]
        refused = closed.call("SQL_CUSTOM", {"query": "SELECT 1"}, code=1)
        assert "NOT_ALLOWED: SQL_CUSTOM is off" in refused["itemsList"][0]["errorMessage"]


def test_a_suspended_class_says_so(tmp_path):
    with Daemon(tmp_path) as daemon:
        daemon.ask("SUSPEND", "--fields", "1", "--classes", "URLManager")
        refused = daemon.call("URL_STATUS", [{"url": "http://a.example/"}], code=1)
        assert "SUSPENDED: URLManager" in refused["itemsList"][0]["errorMessage"]
        assert item_of(daemon.call("SITE_FIND", {})) == []
        daemon.ask("SUSPEND", "--fields", "0", "--classes", "URLManager")
        assert item_of(daemon.call("URL_STATUS", [{"url": "http://a.example/"}])) == []
        daemon.ask("SUSPEND", "--classes", "ClientInterfaceService")
        refused = daemon.call("SITE_FIND", {}, code=1)
        assert "SUSPENDED: ClientInterfaceService" in refused["itemsList"][0]["errorMessage"]


def test_nobody_at_the_other_end(tmp_path):
    words = ["--cmd", "STAT", "--host", "127.0.0.1:9", "--timeout", "0.2"]
    done = program("dc-admin", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert "no answer from 127.0.0.1:9" in done.stderr
    done = program("dc-admin", "--cmd", "STAT", "--host", "nonsense", cwd=tmp_path)
    assert done.returncode == 2
    done = program("dc-admin", "--cmd", "STAT", cwd=tmp_path)
    assert done.returncode == 1
    assert "dc-admin.ini" in done.stderr


def test_the_group_of_gossamer_does_the_same(shared, gossamer):
    done = gossamer(
        *("service", "admin", "--cmd", "STAT", "--fields", "RESTARTS", "--host", shared.admin)
    )
    assert [thing["className"] for thing, _ in json.loads(done.stdout)] == CLASSES
    done = gossamer(
        *("service", "call", "--command", "SITE_FIND", "--fields", "{}"),
        *("--dcc_clientHost", shared.client),
    )
    assert json.loads(done.stdout)["errorCode"] == 0
    gossamer("service", "start", "--config", "missing.ini", check=1)
