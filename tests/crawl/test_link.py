from itertools import islice

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.crawl.launch import link_pair
from gossamer.crawl.link import Link, Report, Tag, decode_orders, decode_report, frame
from gossamer.errors import ProtocolError
from gossamer.messages import Done, Findings, Found, Pointer, Visit


@pytest.fixture
def ends():
    ours, theirs = link_pair()
    near, far = Link(ours, blocking=False), Link(theirs, blocking=True)
    yield near, far
    near.close()
    far.close()


def test_frames_that_come_together_are_all_heard():
    """What arrives with the first frame does not make the descriptor readable again."""
    one, other = link_pair()
    sender, receiver = Link(one, blocking=True), Link(other, blocking=True)
    sender.send(Tag.ORDERS, [])
    sender.send(Tag.STOP, None)
    assert next(receiver.receive())[0] is Tag.ORDERS
    assert [tag for tag, _ in receiver.receive(read=False)] == [Tag.STOP]
    sender.close()
    receiver.close()


def test_frames_arrive_whole_and_in_order(ends):
    near, far = ends
    visits = [Visit(5, 9, "127.0.0.1", "http://h/é", via=("http://a/",), etag='"x"')]
    near.send(Tag.ORDERS, visits)
    near.send(Tag.STOP, None)
    received = list(far.receive())
    assert [tag for tag, _ in received] == [Tag.ORDERS, Tag.STOP]
    assert decode_orders(received[0][1]) == visits


def test_findings_survive_the_way_back(ends):
    near, far = ends
    found = Found("http://h/b", b"m" * 16, "h", 1)
    findings = Findings(
        1, 2, 1, 200, 1.5, 30, checksum=b"c" * 16, pointer=Pointer("f", 1, 2), found=(found,)
    )
    report = Report([Done(2, 1, 200, 1.5)], [findings])
    far.send(Tag.REPORT, report)
    ((tag, payload),) = near.receive()
    assert tag is Tag.REPORT
    assert decode_report(payload) == report


def test_what_the_socket_does_not_take_waits_and_is_sent_later(ends):
    near, far = ends
    payload = b"x" * 300_000
    for _ in range(20):
        near.send(Tag.POLICY, payload)
    assert near.waiting_bytes > 0
    received = 0
    while received < 20:
        received += sum(1 for _ in far.receive())
        near.flush()
    assert near.waiting_bytes == 0


def test_the_other_side_gone_is_noticed(ends):
    near, far = ends
    far.close()
    assert list(near.receive()) == []
    assert near.closed


def test_a_frame_of_absurd_length_is_refused(ends):
    near, far = ends
    far._socket.sendall(b"\xff\xff\xff\xff\x01")
    with pytest.raises(ProtocolError):
        list(near.receive())


def test_a_frame_split_anywhere_is_put_together(ends):
    near, far = ends
    data = frame(Tag.WORKING, [1, 2, 3])
    for byte in data[:-1]:
        far._socket.sendall(bytes([byte]))
        assert list(near.receive()) == []
    far._socket.sendall(data[-1:])
    assert [tag for tag, _ in near.receive()] == [Tag.WORKING]


def test_a_worker_whose_parent_is_gone_hears_it_and_does_not_fail():
    mine, other = link_pair()
    worker = Link(mine, blocking=True)
    other.close()
    for _ in range(3):
        worker.send(Tag.READY, None)
    assert worker.closed
    assert list(worker.receive()) == []
    worker.close()


@given(
    st.lists(st.tuples(st.sampled_from(Tag), st.binary(max_size=40)), max_size=8),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3))),
)
def test_frames_are_the_same_however_they_come_and_are_taken(sent, course):
    """In pieces of any size, with any number of them taken at a time."""
    mine, other = link_pair()
    link = Link(mine, blocking=False)
    data = b"".join(frame(tag, payload) for tag, payload in sent)
    heard = []
    for size, wanted in [*course, (len(data), len(sent)), (0, len(sent))]:
        other.sendall(data[:size])
        data = data[size:]
        heard += islice(link.receive(read=size > 0), wanted)
    assert [(tag, msgspec.msgpack.decode(payload)) for tag, payload in heard] == sent
    link.close()
    other.close()
