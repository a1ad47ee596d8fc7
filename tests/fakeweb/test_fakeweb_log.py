"""The request log as a file, and the moments that it tells of."""

import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fakeweb import connection
from gossamer.fakeweb.log import DONE, GONE, Log, LogWriter


def test_what_is_written_is_read_again(tmp_path):
    path = tmp_path / "log"
    writer = LogWriter(path)
    first = writer.start(7, "127.16.0.1", "a:80", "GET", "/x?y=1")
    second = writer.start(8, "127.16.0.2", "b:80", "HEAD", "/", 3)
    writer.end(first, 200, 123, DONE)
    writer.stall(5, 9)
    writer.lookup(28, "h1.fake.test", 3)
    writer.close()
    log = Log.read(path)
    assert [request.number for request in log.requests] == [first, second]
    ended, still_open = log.requests
    assert (ended.url, ended.method, ended.connection) == ("http://a:80/x?y=1", "GET", 7)
    assert (ended.status, ended.body_bytes, ended.how) == (200, 123, DONE)
    assert ended.end_ns >= ended.start_ns > 0
    assert still_open.end_ns is None
    assert (ended.waited_ns, ended.arrived_ns) == (None, ended.start_ns)
    assert (still_open.waited_ns, still_open.arrived_ns) == (3, still_open.start_ns - 3)
    assert still_open.address == "127.16.0.2"
    assert log.stalls == [(5, 9)]
    assert (log.lookups[0].kind, log.lookups[0].name, log.lookups[0].rcode) == (
        28,
        "h1.fake.test",
        3,
    )


@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_no_request_can_break_the_lines_of_the_log(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("log") / "log"
    writer = LogWriter(path)
    writer.end(writer.start(1, "127.0.0.1", text, text, text), 0, 0, GONE)
    writer.close()
    (request,) = Log.read(path).requests
    assert request.how == GONE
    if text.isalnum():
        assert request.target == text


def test_a_second_writer_appends_and_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / "log"
    for target in ("/1", "/2"):
        writer = LogWriter(path)
        writer.end(writer.start(1, "127.0.0.1", "a", "GET", target), 200, 0, DONE)
        writer.close()
    with path.open("a") as file:
        file.write("S\t3\t17")
    assert [request.target for request in Log.read(path).requests] == ["/1", "/2"]


def test_a_line_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="not a line of a fakeweb log"):
        Log.parse(["X\t1\n"])


def test_without_a_file_nothing_is_written():
    writer = LogWriter(None)
    writer.end(writer.start(1, "127.0.0.1", "a", "GET", "/"), 200, 0, DONE)
    writer.close()


@pytest.mark.skipif(not connection._HAS_FINE_TICKS, reason="this system does not tell")
def test_who_loses_the_processor_between_two_questions_asks_again(monkeypatch):
    """Else the request would seem to have come later than it did."""
    waited_ns, calls = connection._waited_ns, []

    def interrupted(end: socket.socket) -> int | None:
        answer = waited_ns(end)
        calls.append(answer)
        if len(calls) == 1:
            time.sleep(0.1)
        return answer

    monkeypatch.setattr(connection, "_waited_ns", interrupted)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        with near, far:
            near.sendall(b"x")
            arrived_ns = time.monotonic_ns()
            seen_ns, waited = connection._seen(far)
    assert len(calls) > 1
    assert waited is not None
    assert abs(seen_ns - waited - arrived_ns) < 50_000_000
