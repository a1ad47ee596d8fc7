"""The DNS server: questions packed and answers unpacked by hand, over real UDP."""

import socket
import struct

import pytest

from gossamer.fakeweb import FakeWeb
from gossamer.fakeweb.dns import Answers
from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.options import Options

IDENTITY = 0xBEEF


@pytest.fixture(scope="module")
def web():
    with FakeWeb(pages=60, hosts=6, names=True, addresses=2) as running:
        yield running


def question(name, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return (
        struct.pack("!HHHHHH", IDENTITY, 0x0100, 1, 0, 0, 0)
        + labels
        + b"\0"
        + struct.pack("!HH", kind, 1)
    )


def ask(web, name, kind=1, timeout=5.0):
    address, _, port = web.dns.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout)
        client.sendto(question(name, kind), (address, int(port)))
        return client.recv(4_096)


def skip_name(packet, position):
    while True:
        length = packet[position]
        if length >= 0xC0:
            return position + 2
        if length == 0:
            return position + 1
        position += 1 + length


def records(packet):
    """Return (type, ttl, data) of each answer."""
    _, _, questions, answers, _, _ = struct.unpack_from("!HHHHHH", packet)
    position = 12
    for _ in range(questions):
        position = skip_name(packet, position) + 4
    found = []
    for _ in range(answers):
        position = skip_name(packet, position)
        kind, _, ttl, length = struct.unpack_from("!HHIH", packet, position)
        found.append((kind, ttl, packet[position + 10 : position + 10 + length]))
        position += 10 + length
    assert position == len(packet)
    return found


def header(packet):
    identity, flags = struct.unpack_from("!HH", packet)
    return identity, flags


def addresses(packet):
    return [socket.inet_ntoa(data) for kind, _, data in records(packet) if kind == 1]


def test_each_name_has_the_address_its_pages_are_served_on(web):
    hosts = web.graph().hosts
    for number in range(6):
        packet = ask(web, f"h{number}.fake.test")
        identity, flags = header(packet)
        assert identity == IDENTITY
        assert flags & 0x8000
        assert flags & 0xF == 0
        assert addresses(packet) == [hosts.address(number)]
        assert records(packet)[0][1] == 300
    assert hosts.address(0) == hosts.address(2) != hosts.address(1)


def test_names_are_found_in_any_case(web):
    assert addresses(ask(web, "H1.FaKe.TEST")) == addresses(ask(web, "h1.fake.test"))


@pytest.mark.parametrize("name", ["h6.fake.test", "h01.fake.test", "x.fake.test", "example.org"])
def test_an_unknown_name_does_not_exist(web, name):
    packet = ask(web, name)
    assert header(packet)[1] & 0xF == 3
    assert records(packet) == []


def test_a_name_without_an_address_of_that_kind_has_no_data(web):
    for packet in (ask(web, "h1.fake.test", kind=28), ask(web, "nodata.fake.test")):
        assert header(packet)[1] & 0xF == 0
        assert records(packet) == []


@pytest.mark.parametrize(("name", "rcode"), [("servfail", 2), ("refused", 5)])
def test_errors_have_names(web, name, rcode):
    assert header(ask(web, f"{name}.fake.test"))[1] & 0xF == rcode


def test_the_silent_name_gets_no_packet(web):
    with pytest.raises(TimeoutError):
        ask(web, "timeout.fake.test", timeout=0.3)


def test_broken_answers_are_broken_as_told(web):
    assert len(ask(web, "garbage.fake.test")) < 12
    assert header(ask(web, "wrong-id.fake.test"))[0] != IDENTITY
    assert header(ask(web, "truncated.fake.test"))[1] & 0x0200


def test_dangerous_addresses_have_names(web):
    assert addresses(ask(web, "private.fake.test")) == ["10.0.0.1"]
    assert addresses(ask(web, "metadata.fake.test")) == ["169.254.169.254"]
    assert "10.0.0.1" in addresses(ask(web, "mixed.fake.test"))
    assert addresses(ask(web, "rebind.fake.test")) != addresses(ask(web, "rebind.fake.test"))


def test_an_alias_carries_the_address_of_its_target(web):
    packet = ask(web, "alias.fake.test")
    kinds = [kind for kind, _, _ in records(packet)]
    assert kinds == [5, 1]
    assert records(packet)[0][2] == b"\x02h0\x04fake\x04test\0"
    assert addresses(packet) == addresses(ask(web, "h0.fake.test"))


def test_any_name_below_wild_and_the_name_with_many_addresses(web):
    assert addresses(ask(web, "a.b.wild.fake.test")) == addresses(ask(web, "h0.fake.test"))
    assert len(addresses(ask(web, "many.fake.test"))) == 40


def test_questions_are_in_the_log(web):
    ask(web, "h5.fake.test")
    last = web.log().lookups[-1]
    assert (last.name, last.kind, last.rcode) == ("h5.fake.test", 1, 0)


@pytest.mark.parametrize(
    "packet", [b"", b"\0" * 11, b"\0" * 12, b"\0" * 12 + b"\x3fabc", b"\xff" * 40]
)
def test_noise_is_answered_with_silence(packet):
    answers = Answers(Hosts(Options(names=True), 80))
    assert answers.packet(packet)[0] == b""
