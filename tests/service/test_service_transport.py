"""Transport items: what a peer sends is kept within limits, however it is cut."""

import tracemalloc

import pytest

from gossamer.clock import ManualClock
from gossamer.service.transport import MOST_FRAMES, Kind, TransportItem
from gossamer.service.zeromq import zmq


@pytest.fixture
def server():
    with zmq.Context() as context:
        item = TransportItem("S", Kind.SERVER, "tcp://127.0.0.1:*", lambda _: None)
        item.open(context, ManualClock())
        yield item
        item.close()


@pytest.fixture
def peer(server):
    with zmq.Context() as context:
        end = context.socket(zmq.DEALER)
        end.connect(server.endpoint)
        yield end
        end.close(linger=0)


def received(server):
    assert server.socket.poll(30_000)
    return server.receive()


def test_what_is_kept_of_a_message_does_not_grow_with_its_frames(server, peer):
    for _ in range(200_000):
        peer.send(b"12345678", zmq.SNDMORE)
    peer.send(b"last")
    peer.send_multipart([b"", b"next"])
    assert server.socket.poll(30_000)
    tracemalloc.start()
    try:
        frames = server.receive()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert frames[1:] == [b"12345678"] * (MOST_FRAMES - 1)
    assert peak < 100_000
    # All of it was read and counted: the next message begins where it ends.
    assert server.received_bytes == 200_000 * 8 + 4 + len(frames[0])
    assert received(server)[1:] == [b"", b"next"]
    assert server.received == 2
    assert server.receive() is None


@pytest.mark.parametrize("count", [1, 2, MOST_FRAMES - 1])
def test_messages_within_the_limit_come_whole(server, peer, count):
    sent = [b"%d" % number for number in range(count)]
    peer.send_multipart(sent)
    assert received(server)[1:] == sent
