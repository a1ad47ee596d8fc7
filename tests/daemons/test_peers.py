"""Endpoints, listeners, the shared secret, and sockets that never block."""

import re
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.wire import WireSettings
from gossamer.daemons.peers import (
    BackOff,
    DiallerHandshake,
    Endpoint,
    ListenerHandshake,
    PeerSocket,
    accept,
    dial,
    endpoint_of,
    is_challenge,
    is_loopback,
    listen,
    load_secret,
    parse_endpoint,
    parse_target,
)
from gossamer.errors import InputError, WireError
from held_ports import HeldPort

SECRET = b"correct horse battery staple"


def wait_for(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


def receive_some(peer, seconds=5.0):
    """Return what arrives next, or nothing when the link ends."""
    end = time.monotonic() + seconds
    while not peer.closed:
        assert time.monotonic() < end, "nothing arrived"
        if data := peer.receive():
            return data
        time.sleep(0.001)
    return b""


@pytest.fixture
def listener():
    with listen(Endpoint("127.0.0.1", 0), None, insecure=False) as end:
        yield end


@pytest.fixture
def connect(listener):
    """Return both ends of a new link."""
    peers = []

    def make(secret=None, dialler_secret=None, **options):
        near = PeerSocket(dial(endpoint_of(listener)), DiallerHandshake(dialler_secret), **options)
        far = None

        def has_called():
            nonlocal far
            far = accept(listener, secret)
            return far is not None

        wait_for(has_called)
        peers.extend((near, far))
        return near, far

    yield make
    for peer in peers:
        peer.close()


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:4000", Endpoint("127.0.0.1", 4000)),
        ("[::1]:4000", Endpoint("::1", 4000)),
        ("spider.example.org:1", Endpoint("spider.example.org", 1)),
        ("localhost:0", Endpoint("localhost", 0)),
        ("0.0.0.0:65535", Endpoint("0.0.0.0", 65535)),
    ],
)
def test_endpoints_are_read_and_written(text, endpoint):
    assert parse_endpoint(text) == endpoint
    assert str(endpoint) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4000",
        ":4000",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "::1:4000",
        "[::1]",
        "[]:4000",
        "a b:4000",
        "http://a:4000",
        "a:4000 ",
        "a:٤٠٠٠",
    ],
)
def test_what_is_no_endpoint_is_refused_with_examples(text):
    with pytest.raises(InputError, match=r"127\.0\.0\.1:4000"):
        parse_endpoint(text)


def test_who_is_to_be_dialled_has_a_port():
    assert parse_target("[::1]:4000") == Endpoint("::1", 4000)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:0.*1 to 65535"):
        parse_target("127.0.0.1:0")


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(address, loopback):
    assert is_loopback(address) is loopback


def test_a_listener_on_port_0_takes_a_free_one(listener):
    assert endpoint_of(listener).host == "127.0.0.1"
    assert endpoint_of(listener).port > 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_listener_for_strangers_needs_a_secret_or_a_word(host):
    with pytest.raises(InputError, match=r"secret_file.*GOSSAMER_SECRET.*--insecure"):
        listen(Endpoint(host, 0), None, insecure=False)
    with listen(Endpoint(host, 0), SECRET, insecure=False) as end:
        assert endpoint_of(end).port
    with listen(Endpoint(host, 0), None, insecure=True) as end:
        assert endpoint_of(end).port


def test_a_port_in_use_is_explained(listener):
    taken = endpoint_of(listener)
    with pytest.raises(InputError, match=re.escape(f"{taken}: Address already in use")):
        listen(taken, None, insecure=False)


def test_a_name_without_address_is_explained():
    with pytest.raises(InputError, match=r"no address is known for nowhere\.invalid"):
        listen(Endpoint("nowhere.invalid", 0), None, insecure=False)


def test_dialling_a_name_without_address_fails_like_every_other_failure_to_connect():
    """A name server that is down for a while is a reason to try again, not to end."""
    with pytest.raises(OSError, match=r"Name or service|resolution|No address"):
        dial(Endpoint("nowhere.invalid", 1))


def shake(listener_secret, dialler_secret, sizes=()):
    """Let both ends talk, in pieces of these sizes; returns what each was left with."""
    called, caller = ListenerHandshake(listener_secret), DiallerHandshake(dialler_secret)
    to_caller, called_done, _ = called.feed(b"")
    to_called, caller_done, _ = caller.feed(b"")
    sizes = list(sizes)
    for _ in range(1_000):
        size = sizes.pop() if sizes else 1_000
        piece, to_caller = to_caller[:size], to_caller[size:]
        if not caller_done:
            reply, caller_done, _ = caller.feed(piece)
            to_called += reply
        piece, to_called = to_called[:size], to_called[size:]
        if not called_done:
            reply, called_done, _ = called.feed(piece)
            to_caller += reply
        if called_done and caller_done and not to_caller:
            return True
    return False


@given(st.lists(st.integers(1, 80), max_size=60))
def test_two_ends_with_one_secret_agree_wherever_the_stream_is_cut(sizes):
    assert shake(SECRET, SECRET, sizes)


def test_without_a_secret_there_is_no_handshake():
    assert ListenerHandshake(None).feed(b"") == (b"", True, b"")
    assert DiallerHandshake(None).feed(b"GET 1\n") == (b"", True, b"GET 1\n")


def test_a_wrong_secret_is_refused():
    with pytest.raises(WireError, match="another secret"):
        shake(SECRET, b"something else entirely")


def test_a_listener_without_a_secret_is_not_believed():
    with pytest.raises(WireError, match="did not ask"):
        DiallerHandshake(SECRET).feed(b"GET 100\n")


def test_a_listener_that_cannot_prove_itself_is_not_believed():
    """Whoever only pretends to be the Spider or the Store Server gets no order and no result."""
    dialler = DiallerHandshake(SECRET)
    reply, done, _ = dialler.feed(b"AUTH " + b"0" * 64 + b"\n")
    assert not done
    # Sent back to its sender, a proof proves nothing: the two ends prove different things.
    with pytest.raises(WireError, match="could not prove"):
        dialler.feed(b"OK " + reply.split()[2] + b"\n")


def test_a_proof_is_of_no_use_a_second_time():
    first, second = ListenerHandshake(SECRET), ListenerHandshake(SECRET)
    challenge, _, _ = first.feed(b"")
    answer, _, _ = DiallerHandshake(SECRET).feed(challenge)
    assert first.feed(answer)[1]
    second.feed(b"")
    with pytest.raises(WireError):
        second.feed(answer)


@given(st.binary(max_size=2_000), st.sampled_from([ListenerHandshake, DiallerHandshake]))
def test_garbage_instead_of_a_handshake_ends_it(data, end):
    handshake = end(SECRET)
    try:
        _, done, _ = handshake.feed(data)
    except WireError:
        return
    assert not done
    assert b"\n" not in data
    with pytest.raises(WireError):
        handshake.feed(b"x" * 600)


def test_the_secret_itself_never_crosses_the_link():
    called, caller = ListenerHandshake(SECRET), DiallerHandshake(SECRET)
    challenge, _, _ = called.feed(b"")
    answer, _, _ = caller.feed(challenge)
    verdict, _, _ = called.feed(answer)
    assert is_challenge(challenge.rstrip())
    assert not is_challenge(b"GET 5")
    assert SECRET not in challenge + answer + verdict


def test_what_follows_the_handshake_is_handed_on():
    called, caller = ListenerHandshake(SECRET), DiallerHandshake(SECRET)
    answer, _, _ = caller.feed(called.feed(b"")[0])
    verdict, done, rest = called.feed(answer + b"first words")
    assert (done, rest) == (True, b"first words")
    assert caller.feed(verdict + b"STORE gossamer 1\n") == (b"", True, b"STORE gossamer 1\n")


def test_the_secret_comes_from_a_file_or_the_environment(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(SECRET + b"\n")
    path.chmod(0o600)
    assert load_secret(WireSettings(secret_file=str(path)), {}) == SECRET
    assert load_secret(WireSettings(), {"GOSSAMER_SECRET": SECRET.decode()}) == SECRET
    assert load_secret(WireSettings(), {}) is None


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602, 0o620, 0o666])
def test_a_secret_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        load_secret(WireSettings(secret_file=str(path)), {})


@pytest.mark.parametrize("secret", [b"", b"\n", b"short", b"x" * 5_000])
def test_a_secret_that_is_none_is_refused(tmp_path, secret):
    path = tmp_path / "secret"
    path.write_bytes(secret)
    path.chmod(0o600)
    with pytest.raises(InputError, match="openssl rand -hex 32"):
        load_secret(WireSettings(secret_file=str(path)), {})


def test_a_secret_that_is_missing_is_explained(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_secret(WireSettings(secret_file=str(tmp_path / "none")), {})


def test_bytes_go_both_ways(connect):
    near, far = connect()
    near.send(b"7 1 192.0.2.1 a http://a/\n")
    assert receive_some(far) == b"7 1 192.0.2.1 a http://a/\n"
    far.send(b"DONE 7\n")
    assert receive_some(near) == b"DONE 7\n"
    assert near.ready
    assert far.ready


def test_what_is_sent_before_the_connection_stands_waits(listener):
    near = PeerSocket(dial(endpoint_of(listener)))
    near.send(b"hello")
    wait_for(lambda: near.ready or near.flush())
    far = accept(listener, None)
    assert receive_some(far) == b"hello"
    near.close()
    far.close()


def test_a_secret_comes_before_everything_else(connect):
    near, far = connect(secret=SECRET, dialler_secret=SECRET)
    near.send(b"orders")
    far.send(b"STORE gossamer 1\n")
    assert not far.ready
    seen = {"near": b"", "far": b""}

    def both_heard():
        seen["near"] += near.receive()
        seen["far"] += far.receive()
        return all(seen.values())

    wait_for(both_heard)
    assert seen == {"near": b"STORE gossamer 1\n", "far": b"orders"}
    assert near.ready
    assert far.ready


def test_with_another_secret_nothing_is_handed_out(connect):
    near, far = connect(secret=SECRET, dialler_secret=b"something else entirely")
    near.send(b"orders")
    heard = []

    def over():
        heard.append(near.receive() + far.receive())
        return near.closed and far.closed

    wait_for(over)
    assert far.reason == "the other side has another secret"
    assert b"".join(heard) == b""


def test_a_refused_connection_says_so():
    with HeldPort() as nobody:
        peer = PeerSocket(dial(Endpoint("127.0.0.1", nobody.port)))
        wait_for(lambda: peer.flush() or peer.closed)
    assert peer.reason == "Connection refused"


def test_the_end_of_a_link_is_noticed_with_its_reason(connect):
    near, far = connect()
    near.send(b"last words")
    near.flush()
    near.close()
    assert receive_some(far) == b"last words"
    assert receive_some(far) == b""
    assert far.closed
    assert far.reason == "closed by the other side"
    far.send(b"to nobody")
    assert far.waiting_bytes == 0


def test_what_was_said_before_writing_failed_is_heard(connect):
    near, far = connect()
    wait_for(lambda: near.ready)
    near.send(b"what is never read makes the end a reset")
    far.send(b"last words")
    far.close()
    wait_for(lambda: near.send(b"more") or near.closed)
    assert near.receive() == b"last words"
    assert near.receive() == b""


def test_a_peer_that_does_not_read_blocks_nothing_and_is_left_in_the_end(connect):
    near, _ = connect(max_waiting_bytes=1 << 20)
    wait_for(lambda: near.ready)
    piece = b"x" * (1 << 18)
    for _ in range(200):
        near.send(piece)
        if near.closed:
            break
    assert near.closed
    assert "does not read" in near.reason
    assert near.waiting_bytes == 0


def test_what_waits_goes_out_when_the_peer_reads(connect):
    near, far = connect()
    wait_for(lambda: near.ready)
    data = bytes(range(256)) * 65_536
    near.send(data)
    assert near.waiting_bytes
    assert near.wants_to_write
    heard = bytearray()
    end = time.monotonic() + 20
    while len(heard) < len(data):
        assert time.monotonic() < end
        near.flush()
        heard += far.receive()
    assert heard == data
    assert not near.wants_to_write
    wait_for(lambda: near.unacknowledged_bytes == 0)


def test_bytes_that_the_peer_has_not_got_are_counted(connect):
    near, far = connect()
    wait_for(lambda: near.ready)
    far_socket = far._socket
    far_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    near.send(b"x" * 8_000_000)
    assert near.unacknowledged_bytes > 0
    near.close()
    assert near.unacknowledged_bytes == 0


def test_one_read_takes_no_more_than_it_is_told(connect):
    near, far = connect()
    near.send(b"x" * 100)
    wait_for(lambda: near.ready)
    assert receive_some(far)
    near.send(b"y" * 100)
    time.sleep(0.05)
    assert len(far.receive(10)) == 10


def test_waits_between_tries_double_up_to_five_seconds():
    back_off = BackOff()
    waits = [back_off.next_seconds() for _ in range(9)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    back_off.reset()
    assert back_off.next_seconds() == 0.1
