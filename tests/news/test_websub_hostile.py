"""Whatever a caller sends to the listener: a defined answer, and others are still heard."""

import gc
import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlencode

import pytest
from hub_rig import PATIENCE_SECONDS, Hub, Newsroom, path_of, say, until
from hypothesis import given
from hypothesis import strategies as st

from gossamer.catalog.pushes import PushState
from gossamer.news.push_listener import Limits, _RefusedError, _request

UNKNOWN = "/websub/" + "x" * 43


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One listener for all tests here: none of them may harm it for the next."""
    with Hub() as hub, Newsroom(tmp_path_factory.mktemp("news")) as room, room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).state is PushState.SUBSCRIBED, "subscribed")
        yield room, hub


@pytest.fixture
def callback(stage):
    return path_of(stage[1].forms[0])


@pytest.fixture
def listener(stage):
    """Where it listens; afterwards it must still work as before."""
    room, hub = stage
    yield room.listener
    form = hub.forms[0]
    assert hub.verify(form).body.startswith(b"challenge")


def status_of(heard: bytes) -> int:
    assert heard.count(b"HTTP/1.1 ") == 1, heard
    return int(heard.split(b" ", 2)[1])


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"get / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 20_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"A" * 100_000, 431),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"DELETE / HTTP/1.0\r\n\r\n", 404),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", 400),
        (b"GET " + UNKNOWN.encode() + b"?hub.mode=subscribe HTTP/1.1\r\n\r\n", 404),
        (b"POST " + UNKNOWN.encode() + b" HTTP/1.1\r\nContent-Length: 9\r\n\r\n", 410),
    ],
)
def test_a_head_that_is_none_gets_an_error(listener, data, status):
    heard = say(listener, data, finish=True)
    assert status_of(heard) == status
    assert heard.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("fields", "body", "status"),
    [
        (b"Content-Length: -1", b"", 400),
        (b"Content-Length: 1e3", b"", 400),
        (b"Content-Length: 5, 5", b"hello", 400),
        (b"Content-Length: 5\r\nContent-Length: 6", b"hello", 400),
        (b"Content-Length: 99999999999", b"", 413),
        (b"Content-Length: 9999999999999", b"", 400),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"0\r\n\r\n", 400),
        (b"Transfer-Encoding: gzip, chunked", b"0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked", b"zz\r\n", 400),
        (b"Transfer-Encoding: chunked", b"5\nhello\r\n0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked", b"5\r\nhelloX\r\n0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked", b"ffffffff\r\n", 413),
        (b"Transfer-Encoding: chunked", b"fffffffff\r\n", 400),
        (b"Transfer-Encoding: chunked", b"1;" + b"x" * 300 + b"\r\n", 400),
        (b"Transfer-Encoding: chunked", b"1;" + b"x" * 50_000 + b"\r\n", 400),
        (b"X-Hub-Signature: sha1=a\r\nX-Hub-Signature: sha1=b\r\nContent-Length: 0", b"", 400),
        (b"Host: x", b"", 202),
        (b"Transfer-Encoding: chunked", b"5;a=b\r\nhello\r\n0\r\n\r\n", 202),
    ],
)
def test_a_body_that_is_none_gets_an_error(listener, callback, fields, body, status):
    head = b"POST " + callback.encode() + b" HTTP/1.1\r\n" + fields + b"\r\n\r\n"
    assert status_of(say(listener, head + body, finish=True)) == status


def test_a_body_that_ends_early_is_not_a_push(stage, listener, callback):
    before = stage[0].row().pushes
    head = b"POST " + callback.encode() + b" HTTP/1.1\r\nContent-Length: 100\r\n\r\n"
    assert say(listener, head + b"half", finish=True) == b""
    assert stage[0].row().pushes == before


def test_a_chunked_push_counts_as_one(stage, listener, callback):
    import hashlib
    import hmac

    room, hub = stage
    body = b"<feed/>" * 1_000
    secret = hub.forms[0]["hub.secret"].encode()
    signed = hmac.new(secret, body, hashlib.sha1).hexdigest().encode()
    head = (
        b"POST " + callback.encode() + b" HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
        b"Expect: 100-continue\r\nX-Hub-Signature: sha1=" + signed + b"\r\n\r\n"
    )
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(body[i : i + 99]), body[i : i + 99]) for i in range(0, len(body), 99)
    )
    room.clock.advance(100)
    before = room.row().pushes
    heard = say(listener, head + chunks + b"0\r\n\r\n")
    assert heard.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 ")
    assert room.row().pushes == before + 1


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_head_breaks_the_reader(data):
    try:
        request = _request(b"GET /" + data + b"\r\n\r\n")
    except _RefusedError:
        return
    assert request.path.startswith("/")


def test_nothing_is_answered_to_a_second_request_on_a_connection(listener):
    assert status_of(say(listener, b"GET / HTTP/1.1\r\n\r\n" * 3, finish=True)) == 404


def test_a_caller_that_hangs_up_at_once_harms_nobody(listener):
    for _ in range(50):
        socket.create_connection(listener, PATIENCE_SECONDS).close()


def test_a_challenge_is_plain_text_and_cannot_split_the_head(stage, listener):
    hub = stage[1]
    text = "<script>alert(1)</script>\r\nSet-Cookie: a=b\r\n\r\n"
    call = hub.verify(hub.forms[0], **{"hub.challenge": text})
    assert call.body == text.encode()
    assert "set-cookie" not in call.headers
    assert call.headers["content-type"].startswith("text/plain")


def test_too_many_callers_are_turned_away_and_room_comes_back(stage, listener):
    idle = [socket.create_connection(listener, PATIENCE_SECONDS) for _ in range(100)]
    try:
        turned_away = [False]

        def is_turned_away() -> bool:
            turned_away[0] = b" 503 " in say(listener, b"GET / HTTP/1.1\r\n\r\n", finish=True)
            return turned_away[0]

        until(is_turned_away, "turned away")
    finally:
        for end in idle:
            end.close()
    until(lambda: not is_turned_away(), "served again")


def test_who_says_nothing_or_speaks_too_slowly_is_cut_off(tmp_path):
    import asyncio

    from gossamer.news.push_desk import PushDesk
    from gossamer.news.push_listener import PushListener
    from gossamer.news.websub import listen

    with Newsroom(tmp_path) as room, listen("127.0.0.1:0") as listening:
        desk = PushDesk(room.catalog.database, room.clock, 1_000.0)
        limits = Limits(max_body_bytes=1_000, head_seconds=0.3, request_seconds=1.0)
        stopped = asyncio.Event()
        loop = asyncio.new_event_loop()
        serving = PushListener(desk, "", limits).serve(listening, stopped)
        thread = threading.Thread(target=loop.run_until_complete, args=(serving,))
        thread.start()
        try:
            address = listening.getsockname()[:2]
            assert b" 408 " in say(address, b"GET / HT")
            assert drip(address, b"POST /x HTTP/1.1\r\n") < PATIENCE_SECONDS
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
            loop.close()


def test_who_is_there_when_it_ends_is_cut_off(tmp_path):
    """Nothing is left open of those who have not said what they want."""
    import asyncio

    from gossamer.news.push_desk import PushDesk
    from gossamer.news.push_listener import PushListener
    from gossamer.news.websub import listen

    async def serve(listener: PushListener, listening: socket.socket) -> None:
        stopped = asyncio.Event()
        serving = asyncio.create_task(listener.serve(listening, stopped))
        for words in (b"", b"GET / HT"):
            reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            writer.write(words)
            callers.append((reader, writer))
        while len(listener._open) < len(callers):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)
        stopped.set()
        await serving
        assert listener._open == {}
        for reader, writer in callers:
            with suppress(OSError):
                await reader.read()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    callers: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    with Newsroom(tmp_path) as room, listen("127.0.0.1:0") as listening:
        desk = PushDesk(room.catalog.database, room.clock, 1_000.0)
        limits = Limits(max_body_bytes=1_000, head_seconds=60.0, request_seconds=60.0)
        asyncio.run(serve(PushListener(desk, "", limits), listening))
    # What was left open complains now, which fails the test.
    gc.collect()


def test_who_does_not_hear_its_answer_when_it_ends_is_cut_off(tmp_path):
    """Its connection is being closed already, and would never be closed if that were waited for."""
    import asyncio

    from gossamer.news.push_desk import PushDesk
    from gossamer.news.push_listener import PushListener
    from gossamer.news.websub import listen

    async def serve(listener: PushListener, listening: socket.socket, target: str) -> None:
        stopped = asyncio.Event()
        serving = asyncio.create_task(listener.serve(listening, stopped))
        with socket.socket() as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            await asyncio.to_thread(caller.connect, listening.getsockname()[:2])
            await asyncio.to_thread(caller.sendall, f"GET {target} HTTP/1.1\r\n\r\n".encode())
            caller.shutdown(socket.SHUT_WR)
            while not any(writer.is_closing() for writer in listener._open.values()):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.001)
            (writer,) = listener._open.values()
            assert writer.transport.get_write_buffer_size() > 0
            stopped.set()
            await asyncio.wait_for(serving, PATIENCE_SECONDS)
        assert listener._open == {}

    token = "x" * 43
    with Newsroom(tmp_path) as room, listen("127.0.0.1:0") as listening:
        # What is accepted here has a small buffer, too: the answer does not fit.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        desk = PushDesk(room.catalog.database, room.clock, 1_000.0)
        room.add_feed("http://hub.example/")
        (push,) = desk.due(1, frozenset())
        assert desk.begin(push, token, "secret")
        query = {
            "hub.mode": "subscribe",
            "hub.topic": push.topic,
            "hub.challenge": "x" * 15_000,
        }
        limits = Limits(max_body_bytes=1_000, head_seconds=60.0, request_seconds=60.0)
        target = f"/{token}?{urlencode(query)}"
        asyncio.run(serve(PushListener(desk, "", limits), listening, target))
    gc.collect()


def drip(address, data: bytes) -> float:
    """Send byte by byte for ever; return after how many seconds we are cut off."""
    began = time.monotonic()
    with socket.create_connection(address, PATIENCE_SECONDS) as end:
        end.sendall(data)
        try:
            while time.monotonic() < began + PATIENCE_SECONDS:
                end.sendall(b"a")
                time.sleep(0.02)
        except OSError:
            pass
    return time.monotonic() - began
