"""The tool for people who debug a link: relay, capture, decode, replay."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.daemons.capture import CaptureWriter, Record, read_capture, sent_record
from gossamer.daemons.peers import (
    DiallerHandshake,
    Endpoint,
    ListenerHandshake,
    PeerSocket,
    dial,
    endpoint_of,
    listen,
)
from gossamer.daemons.wiretap import Relay
from gossamer.errors import InputError

GOLDEN = Path(__file__).parents[1] / "wire" / "golden"
STREAM = (GOLDEN / "stream.bin").read_bytes()
SECRET = "correct horse battery staple"
MOVED = (
    "RESULT 258 failure 301 redirected http://example.org/old -> https://example.org/new "
    "(12 ms, 6 bytes)"
)
ORDER = b"7 12 192.0.2.1 example.org http://example.org/\n"


@contextmanager
def serving(serve, connections=1):
    """Run `serve(connection)` for each connection, one after the other; yields the endpoint."""
    with listen(Endpoint("127.0.0.1", 0), None, insecure=False) as listener:
        listener.settimeout(20)
        failures = []

        def run():
            try:
                for _ in range(connections):
                    end, _ = listener.accept()
                    end.settimeout(20)
                    with end:
                        serve(end)
            except Exception as error:  # noqa: BLE001 - told to the test below
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        yield endpoint_of(listener)
        thread.join(20)
        assert not thread.is_alive()
        assert failures == []


@contextmanager
def relaying(target, tell):
    with listen(Endpoint("127.0.0.1", 0), None, insecure=False) as listener:
        relay = Relay(listener, target, SystemClock(), tell)
        stop = threading.Event()

        def run():
            while not stop.is_set():
                relay.run_once(0.01)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield endpoint_of(listener)
        finally:
            stop.set()
            thread.join(20)
            relay.close()


def call(endpoint):
    return socket.create_connection((endpoint.host, endpoint.port), timeout=20)


def read_all(end):
    data = bytearray()
    while piece := end.recv(65_536):
        data += piece
    return bytes(data)


def test_a_relay_passes_on_every_byte_and_the_end_of_each_direction():
    """The listener hears the end of what was sent and can still answer: a half-closed link."""
    sent, answer = os.urandom(3_000_000), os.urandom(2_000_000)
    heard, told = [], []

    def serve(end):
        heard.append(read_all(end))
        end.sendall(answer)

    with serving(serve) as target, relaying(target, told.append) as here, call(here) as end:
        end.sendall(sent)
        end.shutdown(socket.SHUT_WR)
        assert read_all(end) == answer
    assert heard == [sent]
    pieces = {"dialler": b"", "listener": b""}
    for one in told:
        pieces[one.sender] += one.data
    assert pieces == {"dialler": sent, "listener": answer}
    assert [one.event for one in told if one.event] == ["opened", "closed"]


def test_a_relay_does_not_fill_up_when_one_end_does_not_read():
    """The dialler is held up, as it would be without us."""
    release = threading.Event()

    def serve(end):
        release.wait(20)
        read_all(end)

    with serving(serve) as target, relaying(target, lambda _: None) as here, call(here) as end:
        end.setblocking(False)
        taken, idle_since = 0, time.monotonic()
        while time.monotonic() - idle_since < 0.5:
            try:
                taken += end.send(bytes(65_536))
                idle_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        # The buffers of four sockets and ours; on Linux a socket takes a few megabytes.
        assert taken < 64_000_000
        release.set()


def test_a_relay_says_when_nobody_listens():
    told = []
    with listen(Endpoint("127.0.0.1", 0), None, insecure=False) as listener:
        nobody = endpoint_of(listener)
    with relaying(nobody, told.append) as here, call(here) as end:
        assert read_all(end) == b""
    assert told[-1].event == "closed"
    assert told[-1].reason == f"cannot connect to {nobody}: Connection refused"


def test_several_links_are_told_apart():
    told = []

    def serve(end):
        end.sendall(read_all(end))

    with serving(serve, connections=2) as target, relaying(target, told.append) as here:
        for text in (b"first", b"second"):
            with call(here) as end:
                end.sendall(text)
                end.shutdown(socket.SHUT_WR)
                assert read_all(end) == text
    said = {(one.link, one.sender): one.data for one in told if one.data}
    assert said[1, "dialler"] == said[1, "listener"] == b"first"
    assert said[2, "dialler"] == said[2, "listener"] == b"second"


def test_a_secret_passes_through_a_relay():
    done = []

    def serve(end):
        peer = PeerSocket(end, ListenerHandshake(SECRET.encode()))
        until = time.monotonic() + 20
        while not (peer.ready or peer.closed) and time.monotonic() < until:
            peer.receive()
            time.sleep(0.001)
        done.append(peer.ready)

    with serving(serve) as target, relaying(target, lambda _: None) as here:
        peer = PeerSocket(dial(here), DiallerHandshake(SECRET.encode()))
        until = time.monotonic() + 20
        while not (peer.ready or peer.closed) and time.monotonic() < until:
            peer.flush()
            peer.receive()
            time.sleep(0.001)
        assert peer.ready
        peer.close()
    assert done == [True]


def test_captures_come_back_as_they_were(tmp_path):
    path = tmp_path / "link.jsonl"
    records = [
        Record(0.0, 1, event="opened"),
        sent_record(0.25, 1, "dialler", ORDER),
        sent_record(0.5, 1, "listener", bytes(range(256))),
        Record(1.0, 1, event="closed"),
    ]
    writer = CaptureWriter(path, 1_800_000_000.0)
    for record in records:
        writer.write(record)
    writer.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with path.open("rb") as file:
        head, found = read_capture(file, "x")
        assert head.began_at == 1_800_000_000.0
        assert list(found) == records
    assert [record.data for record in records][1:3] == [ORDER, bytes(range(256))]


def test_the_capture_format_is_the_documented_one(tmp_path):
    """The examples of docs/reference/wire.md are read."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "wire.md"
    blocks = [block.partition("```")[0] for block in page.read_text().split("```json\n")[1:]]
    path = tmp_path / "documented"
    path.write_text("".join(blocks))
    with path.open("rb") as file:
        _, records = read_capture(file, "x")
        found = list(records)
    assert [record.event for record in found] == ["opened", "", "", "closed"]
    assert found[1].data == ORDER
    assert found[2].data == bytes(range(4))


def test_a_capture_whose_writer_was_killed_ends_where_it_ends(tmp_path):
    path = tmp_path / "link.jsonl"
    path.write_bytes(
        b'{"gossamer_capture":1,"began_at":0.0}\n'
        b'{"seconds":0.1,"link":1,"from":"dialler","text":"GET 1\\n"}\n'
        b'{"seconds":0.2,"link":1,"from":"dial'
    )
    with path.open("rb") as file:
        _, records = read_capture(file, "x")
        assert len(list(records)) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"seconds":-1,"link":1}',
        b'{"seconds":1}',
        b'{"seconds":1,"link":1,"event":"exploded"}',
        b'{"seconds":1,"link":1,"from":"nobody"}',
        b'{"seconds":1,"link":1,"from":"dialler","base64":"x"}',
        b'{"seconds":1,"link":1,"from":"dialler","text":"\xc3\xa4"}',
    ],
)
def test_what_is_no_record_is_named_by_its_line(tmp_path, line):
    path = tmp_path / "link.jsonl"
    path.write_bytes(b'{"gossamer_capture":1,"began_at":0.0}\n' + line + b"\n")
    with path.open("rb") as file:
        _, records = read_capture(file, "file")
        with pytest.raises(InputError, match="file, line 2: not a record"):
            list(records)


def test_a_capture_of_another_version_is_refused(tmp_path):
    path = tmp_path / "link.jsonl"
    path.write_bytes(b'{"gossamer_capture":2,"began_at":0.0}\n')
    with path.open("rb") as file, pytest.raises(InputError, match="version 2"):
        read_capture(file, "x")


# The command itself.


@contextmanager
def showing(tmp_path, target, *options):
    """Run `gossamer wire show` until the block ends."""
    where = ["--listen", "127.0.0.1:0", "--to", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer.cli", "wire", "show", *where, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        first = process.stderr.readline()
        words = first.split()
        assert words[:3] == ["gossamer:", "listening", "on"], first
        host, _, port = words[3].rstrip(",").rpartition(":")
        process.endpoint = Endpoint(host, int(port))
        yield process
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate()


def lines_until_closed(process):
    """Return what was printed, up to the end of the first link."""
    lines = []
    while not lines or "closed" not in lines[-1]:
        line = process.stdout.readline()
        assert line, "ended before the link did"
        lines.append(line.rstrip("\n"))
    return lines


def store(end):
    """Greet like our Store Server, take everything, acknowledge it."""
    end.sendall(b"STORE gossamer 1\n")
    read_all(end)
    end.sendall(b"SAVED 3\n")


def test_show_prints_a_store_link_and_captures_it(tmp_path, gossamer):
    path = tmp_path / "link.jsonl"
    with (
        serving(store) as target,
        showing(tmp_path, target, "--capture", str(path)) as process,
        call(process.endpoint) as end,
    ):
        assert end.recv(100) == b"STORE gossamer 1\n"
        end.sendall(STREAM)
        end.shutdown(socket.SHUT_WR)
        assert read_all(end) == b"SAVED 3\n"
        lines = lines_until_closed(process)
    assert process.returncode == 0
    shown = [line.partition(" ")[2] for line in lines]
    assert shown == [
        "1 = opened",
        "1 < STORE gossamer 1",
        "1 > RESULT 1 success 200 ok http://example.org/ (250 ms, 36 bytes)",
        f"1 > {MOVED}",
        "1 > RESULT 16909060 failure - not_connected http://192.0.2.7:8080/a?b=c (3 ms, 0 bytes)",
        "1 < SAVED 3",
        "1 = closed",
    ]
    # What was captured says the same, with the same times.
    assert gossamer("wire", "decode", path).stdout.splitlines() == lines
    # And it can be sent again.
    heard = []

    def serve(end):
        end.sendall(b"STORE gossamer 1\n")
        data = b""
        while len(data) < len(STREAM):
            data += end.recv(65_536)
        heard.append(data)
        end.sendall(b"SAVED 3\n")

    with serving(serve) as target:
        done = gossamer("wire", "replay", path, "--to", str(target), "--fast")
    assert heard == [STREAM]
    assert "< SAVED 3" in done.stdout
    assert f"{len(STREAM)} bytes sent" in done.stderr


def test_show_prints_a_url_link_as_json(tmp_path):
    def spider(end):
        end.sendall(b"GET 5\n")
        assert end.recv(1_000) == ORDER
        end.sendall(b"WORKING 7\nDONE 7\nnonsense \x1b[2J\n")

    with (
        serving(spider) as target,
        showing(tmp_path, target, "--json") as process,
        call(process.endpoint) as end,
    ):
        end.sendall(ORDER)
        read_all(end)
        end.close()
        lines = lines_until_closed(process)
    said = [json.loads(line) for line in lines]
    assert said[0]["listening"] == str(process.endpoint)
    assert [(one.get("event") or one["what"]) for one in said[1:]].count("bad") == 1
    order = next(one for one in said if one.get("what") == "order")
    assert (order["from"], order["link"], order["trans_id"]) == ("dialler", 1, 7)
    assert order["url"] == "http://example.org/"
    assert abs(order["at"] - time.time()) < 60
    assert "\x1b" not in "".join(lines)


def test_what_a_peer_says_cannot_steer_the_terminal(tmp_path, gossamer):
    path = tmp_path / "lines"
    path.write_bytes(b"DONE 7\nnonsense \x1b[2J\n")
    done = gossamer("wire", "decode", path)
    assert done.stdout == "DONE 7\nnot understood: nonsense \\x1b[2J\n"


def test_decode_reads_raw_streams_and_pipes(tmp_path, gossamer):
    done = gossamer("wire", "decode", GOLDEN / "stream.bin", "--json")
    assert [json.loads(line)["doc_id"] for line in done.stdout.splitlines()] == [1, 258, 16909060]
    piped = subprocess.run(
        [sys.executable, "-m", "gossamer.cli", "wire", "decode", "-"],
        input=ORDER + b"8 DONE\n",
        capture_output=True,
        check=True,
    )
    assert piped.stdout == ORDER + b"8 DONE\n"


def test_decode_shows_nonsense_before_the_first_message_too(tmp_path, gossamer):
    """A stream that was cut out of a longer one begins within a line."""
    path = tmp_path / "cut"
    path.write_bytes(b".example http://a.example/\nWORKING 7\n")
    done = gossamer("wire", "decode", path)
    assert done.stdout == "not understood: .example http://a.example/\nWORKING 7\n"


def test_replay_keeps_the_timing(tmp_path, gossamer):
    path = tmp_path / "link.jsonl"
    writer = CaptureWriter(path, 0.0)
    for seconds in (500.0, 501.0, 502.0):
        writer.write(sent_record(seconds, 1, "dialler", b"GET 1\n"))
    writer.close()
    heard = []
    with serving(lambda end: heard.append(read_all(end))) as target:
        began = time.monotonic()
        gossamer("wire", "replay", path, "--to", str(target), "--wait", "0")
        assert 2.0 <= time.monotonic() - began < 60
    assert heard == [b"GET 1\n" * 3]


def test_replay_without_its_timing_is_quick(tmp_path, gossamer):
    path = tmp_path / "link.jsonl"
    writer = CaptureWriter(path, 0.0)
    for seconds in (0.0, 10_000.0):
        writer.write(sent_record(seconds, 1, "dialler", b"GET 1\n"))
    writer.close()
    heard = []
    with serving(lambda end: heard.append(read_all(end))) as target:
        gossamer("wire", "replay", path, "--to", str(target), "--wait", "0", "--fast")
    assert heard == [b"GET 1\n" * 2]


def test_replay_makes_a_handshake_of_its_own(tmp_path, gossamer):
    path = tmp_path / "link.jsonl"
    writer = CaptureWriter(path, 0.0)
    # Cut in the middle of a line, as it may happen.
    writer.write(sent_record(0.0, 1, "dialler", b"AUTH " + b"0" * 64 + b" "))
    writer.write(sent_record(0.0, 1, "dialler", b"1" * 64 + b"\n" + STREAM))
    writer.close()
    heard = []

    def serve(end):
        peer = PeerSocket(end, ListenerHandshake(SECRET.encode()))
        until = time.monotonic() + 20
        while not peer.closed and time.monotonic() < until:
            heard.append(peer.receive())
            time.sleep(0.001)

    secret = f"wire.secret_file={tmp_path / 'secret'}"
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    with serving(serve) as target:
        gossamer("wire", "replay", path, "--to", str(target), "--wait", "0", "--set", secret)
    assert b"".join(heard) == STREAM
    with serving(serve) as target:
        done = gossamer("wire", "replay", path, "--to", str(target), check=2)
    assert "asks for a secret" in done.stderr


def test_replay_says_how_far_it_came_when_it_is_cut_off(tmp_path, gossamer):
    path = tmp_path / "link.jsonl"
    writer = CaptureWriter(path, 0.0)
    writer.write(sent_record(0.0, 1, "dialler", ORDER))
    writer.write(sent_record(0.5, 1, "dialler", ORDER))
    writer.close()
    with serving(lambda end: end.recv(1_000)) as target:
        done = gossamer("wire", "replay", path, "--to", str(target), check=6)
    assert "ended link 1 before all was sent (47 bytes" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show",), "wire show needs --listen HOST:PORT"),
        (("show", "--listen", "127.0.0.1:0"), "wire show needs --to HOST:PORT"),
        (("show", "--listen", "x", "--to", "127.0.0.1:1"), "'x' is not HOST:PORT"),
        (("show", "--listen", "0.0.0.0:0", "--to", "127.0.0.1:1"), "--insecure"),
        (("show", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--fast"), "no use for --fast"),
        (
            ("show", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--capture", "no/such"),
            "cannot write the capture no/such: No such file or directory",
        ),
        (("show", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:0"), "give the port of 1 to 65535"),
        (("decode",), "wire decode needs a FILE"),
        (("decode", "missing"), "cannot read missing: No such file or directory"),
        (("decode", "empty"), "empty is neither a capture nor a stream of the wire: it is empty"),
        (("decode", "text"), "text is neither a capture nor a stream"),
        (("decode", "text", "--kind", "results"), "text is neither a capture nor a stream"),
        (("decode", "torn"), "torn ends within a result, of which 46 bytes are here"),
        (("decode", "broken"), "broken: it cannot be read any further"),
        (("decode", "text", "--to", "127.0.0.1:1"), "no use for --to"),
        (("replay", "text"), "wire replay needs --to HOST:PORT"),
        (
            ("replay", "torn", "--to", "127.0.0.1:1"),
            "cannot connect to 127.0.0.1:1: Connection ref",
        ),
        (("replay", "torn", "--to", "127.0.0.1:0"), "give the port of 1 to 65535"),
        (("replay", "head", "--to", "127.0.0.1:1"), "head holds nothing that a dialler sent"),
        (("listen",), "invalid choice"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_cannot_be_done_is_one_line_and_a_code(tmp_path, gossamer, words, message):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("It was a dark and stormy night; the rain fell in torrents.\n")
    (tmp_path / "torn").write_bytes(STREAM[:-1])
    (tmp_path / "broken").write_bytes(STREAM + b"\xff" * 50)
    (tmp_path / "head").write_bytes(b'{"gossamer_capture":1,"began_at":0.0}\n')
    done = gossamer("wire", *words, check=2)
    assert message in done.stderr
    assert done.stderr.startswith("gossamer: ")
    assert done.stderr.count("\n") == 1
