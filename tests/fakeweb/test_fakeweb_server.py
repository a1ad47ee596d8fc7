"""The server as a process: connections, the log, latency, hosts, start and end."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from gossamer.fakeweb import FakeWeb
from gossamer.fakeweb.judge import max_concurrency, requests_in_flight_at


@pytest.fixture(scope="module")
def web():
    with FakeWeb(pages=100, hosts=4, seed=3, sitemap_pages=8, crawl_delay=1.5) as running:
        yield running


def get(web, host, target, method="GET", headers=None):
    connection = HTTPConnection(web.graph().hosts.address(host), web.port, timeout=10)
    try:
        connection.request(method, target, headers=headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def test_one_connection_carries_many_requests_and_the_log_has_both_ends_of_each(web):
    hosts = web.graph().hosts
    connection = HTTPConnection(hosts.address(1), web.port, timeout=10)
    for target in ("/", "/s0/p1.html", "/none"):
        connection.request("GET", target)
        connection.getresponse().read()
    connection.close()
    ours = [request for request in web.log().requests if request.host == hosts.authority(1)][-3:]
    assert len({request.connection for request in ours}) == 1
    assert [request.status for request in ours] == [200, 200, 404]
    assert [request.target for request in ours] == ["/", "/s0/p1.html", "/none"]
    for request in ours:
        assert request.address == hosts.address(1)
        assert request.end_ns > request.start_ns
        assert request.how == "done"


def test_the_clock_of_the_log_is_the_machines_monotonic_clock(web):
    before = time.monotonic_ns()
    get(web, 0, "/s0/p2.html")
    after = time.monotonic_ns()
    last = web.log().requests[-1]
    assert before < last.start_ns < after


def test_pipelined_requests_are_answered_in_order(web):
    with socket.create_connection((web.graph().hosts.address(0), web.port), timeout=10) as client:
        host = web.graph().hosts.authority(0)
        one = f"GET /s0/p3.html HTTP/1.1\r\nHost: {host}\r\n\r\n"
        two = f"GET /none HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        client.sendall((one + two).encode())
        data = b""
        while piece := client.recv(65_536):
            data += piece
    assert data.startswith(b"HTTP/1.1 200")
    assert data.count(b"HTTP/1.1 404") == 1


def test_a_request_in_pieces_is_one_request(web):
    with socket.create_connection((web.graph().hosts.address(0), web.port), timeout=10) as client:
        for piece in (
            "GET /static/sty",
            "le.css HTTP/1.0\r\nHo",
            f"st: {web.graph().hosts.authority(0)}\r\n\r",
            "\n",
        ):
            client.sendall(piece.encode())
            time.sleep(0.02)
        data = b""
        while got := client.recv(65_536):
            data += got
    assert b"Content-Type: text/css" in data


def test_head_has_the_headers_and_no_body(web):
    status, headers, body = get(web, 0, "/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1_000


@pytest.mark.parametrize(
    ("data", "status"),
    [(b"nonsense\r\n\r\n", b"400"), (b"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", b"405")],
)
def test_what_is_no_request_is_refused(web, data, status):
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as client:
        client.sendall(data)
        assert client.recv(100).startswith(b"HTTP/1.1 " + status)


def send_without_end(client):
    for _ in range(1_000):
        client.sendall(b"a" * 4_096)
        time.sleep(0.001)


def test_an_endless_request_is_cut_off(web):
    address = ("127.0.0.1", web.port)
    with socket.create_connection(address, timeout=10) as client, pytest.raises(ConnectionError):
        send_without_end(client)


def test_pages_answer_conditional_requests(web):
    _, headers, _ = get(web, 2, "/s0/p1.html")
    status, _, body = get(web, 2, "/s0/p1.html", headers={"If-None-Match": headers["ETag"]})
    assert (status, body) == (304, b"")


def test_a_page_of_another_host_is_not_here(web):
    graph = web.graph()
    assert graph.find(0, "/gone/0.html")
    assert get(web, 1, "/gone/0.html")[2] == get(web, 1, "/nothing/at/all")[2]
    assert get(web, 1, "/moved/0.html")[0] == 404
    assert get(web, 0, "/moved/0.html")[0] == 200


def test_an_address_that_is_no_host_serves_only_the_oddities(web):
    connection = HTTPConnection("127.0.0.1", web.port, timeout=10)
    for target, status in (("/", 404), ("/robots.txt", 200), ("/~/", 200)):
        connection.request("GET", target)
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


def test_robots_names_the_delay_and_the_sitemap(web):
    text = get(web, 3, "/robots.txt")[2].decode()
    assert "Crawl-delay: 1.5\n" in text
    assert f"Sitemap: {web.start_urls[3]}sitemap.xml\n" in text
    sitemap = get(web, 3, "/sitemap.xml")[2].decode()
    assert f"<loc>{web.start_urls[3]}only/" in sitemap


def test_pictures_are_pictures(web):
    status, headers, body = get(web, 0, "/img/3.png")
    assert (status, headers["Content-Type"], body[:4]) == (200, "image/png", b"\x89PNG")
    assert get(web, 0, "/img/99.png")[0] == 404


def test_latency_delays_each_answer_and_all_of_them_at_once():
    with FakeWeb(pages=20, hosts=2, latency_ms=2_000, jitter_ms=50) as slow:
        hosts = slow.graph().hosts
        clients = [HTTPConnection(hosts.address(0), slow.port, timeout=10) for _ in range(5)]
        for client in clients:
            client.request("GET", "/")
        while len(slow.log().requests) < 5:
            time.sleep(0.01)
        middle = time.monotonic()
        for client in clients:
            client.getresponse().read()
        for client in clients:
            client.close()
        log = slow.log()
    assert all((request.end_ns - request.start_ns) / 1e9 >= 1.999 for request in log.requests)
    assert len(requests_in_flight_at(log, middle)) == 5
    assert max_concurrency(log) == 5


def test_a_client_that_dies_ends_its_request_in_the_log():
    with FakeWeb(pages=20, hosts=2, latency_ms=30_000) as slow:
        client = socket.create_connection((slow.graph().hosts.address(0), slow.port), timeout=10)
        client.sendall(
            f"GET / HTTP/1.1\r\nHost: {slow.graph().hosts.authority(0)}\r\n\r\n".encode()
        )
        while not slow.log().requests:
            time.sleep(0.01)
        assert slow.log().requests[0].end_ns is None
        client.close()
        while slow.log().requests[0].end_ns is None:
            time.sleep(0.01)
        (request,) = slow.log().requests
    # Not "done": it did not wait for the answer's time.
    assert request.how == "gone"


def test_the_server_writes_down_when_it_could_not_look(tmp_path):
    with FakeWeb(pages=20, hosts=2) as web:
        os.kill(web.pid, signal.SIGSTOP)
        before = time.monotonic_ns()
        time.sleep(0.2)
        after = time.monotonic_ns()
        os.kill(web.pid, signal.SIGCONT)

        def is_noted() -> bool:
            return any(
                start < before + 20_000_000 and end >= after for start, end in web.log().stalls
            )

        deadline = time.monotonic() + 20
        while not is_noted():
            assert time.monotonic() < deadline, web.log().stalls
            time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
@pytest.mark.parametrize("is_fresh", [False, True])
def test_the_server_knows_when_a_request_came_that_it_saw_later(is_fresh):
    """Also the first one of a connection that it had to accept before."""
    with FakeWeb(pages=20, hosts=2) as web:
        port = urlsplit(web.start_urls[0]).port
        ask = f"GET /robots.txt HTTP/1.1\r\nHost: 127.16.0.1:{port}\r\n\r\n".encode()
        client = socket.create_connection(("127.16.0.1", port))
        if not is_fresh:
            client.sendall(ask)
            assert client.recv(65_536)
        os.kill(web.pid, signal.SIGSTOP)
        if is_fresh:
            client.close()
            client = socket.create_connection(("127.16.0.1", port))
        before = time.monotonic_ns()
        client.sendall(ask)
        time.sleep(0.2)
        after = time.monotonic_ns()
        os.kill(web.pid, signal.SIGCONT)
        assert client.recv(65_536)
        client.close()
        request = web.log().requests[-1]
    assert request.start_ns >= after
    # It counts in milliseconds, by a clock that moves every 4 of them or so.
    assert before - 10_000_000 <= request.arrived_ns < after


def run(*arguments, **more):
    command = [sys.executable, "-m", "gossamer.fakeweb", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_the_command_announces_itself_writes_truth_and_ends_on_a_signal(tmp_path):
    truth, ready = tmp_path / "truth.json", tmp_path / "ready"
    arguments = ["--pages", "60", "--hosts", "3", "--seed", "7", "--names", "--addresses", "2"]
    arguments += ["--robots", "1=404", "--robots", "rules", "--max-seconds", "60"]
    with run(*arguments, "--truth", str(truth), "--ready-file", str(ready)) as process:
        line = json.loads(process.stdout.readline())
        assert json.loads(ready.read_text()) == line
        assert line["start_urls"][2] == f"http://h2.fake.test:{line['port']}/"
        assert line["dns"].startswith("127.0.0.1:")
        known = json.loads(truth.read_text())
        assert known["disallow"][f"h1.fake.test:{line['port']}"] == []
        assert known["start_urls"] == line["start_urls"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def test_the_command_ends_by_itself():
    with run("--max-seconds", "0.2") as process:
        assert process.wait(10) == 0


def test_the_command_ends_when_its_parent_goes():
    with run("--until-stdin-closes", stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(10) == 0


def test_the_command_ends_while_answers_are_open(web):
    with run("--max-seconds", "60") as process:
        port = json.loads(process.stdout.readline())["port"]
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(b"GET /~/hang HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--pages", "2", "--hosts", "3"], 2, "hosts=3 must be between 1 and pages=2"),
        (["--robots", "418"], 2, "the variants are"),
        (["--robots", "x=404"], 2, "HOST a number"),
    ],
)
def test_wrong_arguments_are_named(arguments, code, message):
    with run(*arguments) as process:
        _, errors = process.communicate(timeout=20)
    assert process.returncode == code
    assert message in errors


def test_a_port_in_use_is_named(web):
    with run("--port", str(web.port)) as process:
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert f"cannot serve the fake web on port {web.port}" in errors


def test_a_web_that_cannot_start_says_so(web):
    with pytest.raises(RuntimeError, match="did not start"), FakeWeb(port=web.port):
        pass


def test_only_loopback_is_served(web):
    """The socket listens on every address, but a connection to any other than 127.x.y.z is cut."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # No packet is sent: connecting a datagram socket only chooses the local address.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address beside loopback")
        own = probe.getsockname()[0]
    with socket.create_connection((own, web.port), timeout=5) as client:
        try:
            client.sendall(b"GET /~/ HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(10) == b""
        except ConnectionError:
            pass


def test_the_log_can_be_read_after_the_server_has_ended():
    with FakeWeb(pages=20, hosts=2, max_seconds=0.5) as short:
        get(short, 0, "/")
        time.sleep(1)
        assert [request.target for request in short.log().requests] == ["/"]
