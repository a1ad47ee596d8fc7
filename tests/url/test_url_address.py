"""The address policy: decided on addresses, by our own table."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.url import UrlSettings
from gossamer.errors import ConfigError, ProtocolError
from gossamer.url.address import (
    BAD_PORTS,
    FORBIDDEN_IPV4,
    FORBIDDEN_IPV6,
    AddressPolicy,
    port_refusal,
)
from gossamer.url.canonical import canonicalize, host_of

POLICY = AddressPolicy(UrlSettings())

# The list that the policy has to cover, written down a second time.
REQUIRED_IPV4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
]
REQUIRED_IPV6 = [
    "::/96",
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
# Addresses beside a forbidden network, where the public Internet begins.
PUBLIC_NEIGHBOURS = [
    "1.0.0.0",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::",
    "2001:200::",
    "2001:db7:ffff::1",
    "2001:db9::",
    "2003::",
    "3ffe:ffff::1",
    "3fff:1000::",
    "2606:4700:4700::1111",
]


def test_the_tables_hold_exactly_the_required_networks():
    assert set(FORBIDDEN_IPV4) == set(REQUIRED_IPV4)
    assert set(FORBIDDEN_IPV6) == set(REQUIRED_IPV6)


@pytest.mark.parametrize("network", REQUIRED_IPV4 + REQUIRED_IPV6)
def test_first_middle_and_last_address_of_each_network_are_refused(network):
    block = ip_network(network)
    for offset in {0, block.num_addresses // 2, block.num_addresses - 1}:
        assert not POLICY.allows("example.org", str(block[offset]))


@pytest.mark.parametrize("address", PUBLIC_NEIGHBOURS)
def test_public_addresses_beside_forbidden_networks_are_allowed(address):
    assert POLICY.allows("example.org", address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_decides_for_each_spelling(address):
    plain = POLICY.allows("h", str(address))
    number = int(address)
    assert POLICY.allows("h", f"::ffff:{address}") is plain
    assert POLICY.allows("h", f"64:ff9b::{address}") is plain
    assert POLICY.allows("h", str(ip_address((0x2002 << 112) | (number << 80)))) is plain
    assert not POLICY.allows("h", f"::{address}")
    assert not POLICY.allows("h", f"64:ff9b:1::{address}")
    assert not POLICY.allows("h", f"::ffff:0:{address}")


@given(st.ip_addresses(v=6))
def test_only_global_unicast_is_public(address):
    if POLICY.allows("h", str(address)):
        embedding = map(ip_network, ("2000::/3", "::ffff:0:0/96", "64:ff9b::/96"))
        assert any(address in network for network in embedding)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "127.1",
        "8.8.8.8 ",
        "[::1]",
        "8.8.8.8/32",
    ],
)
@pytest.mark.parametrize("allow_private", [False, True])
def test_what_is_not_an_address_is_refused(text, allow_private):
    assert not AddressPolicy(UrlSettings(allow_private=allow_private)).allows("h", text)


@pytest.mark.parametrize(
    "spelling",
    [
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127\u30020\u30020\u30021/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://example.org@127.0.0.1/",
        "http://user:pass@127.0.0.1:80/",
        "http:\\\\127.0.0.1\\",
        "http://127.0.\t0.1\n/",
        "http://%31%32%37.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[fd00:ec2::254]/",
    ],
)
def test_every_spelling_of_a_forbidden_address_is_refused(spelling):
    """A host that is an address resolves to itself; what decides is the address."""
    url = canonicalize(spelling)
    assert url is not None
    host = host_of(url)
    assert ip_address(host)
    assert not POLICY.allows(host, host)


def test_zone_is_ignored_and_the_address_decides():
    assert canonicalize("http://[fe80::1%25eth0]/") is None
    assert not POLICY.allows("h", "fe80::1%eth0")
    assert POLICY.allows("h", "2606:4700::1%eth0")


def test_one_forbidden_answer_refuses_the_whole_set():
    refusal = POLICY.refusal("evil.example", ["93.184.216.34", "10.0.0.7", "8.8.8.8"])
    assert refusal is not None
    assert "evil.example" in refusal
    assert "10.0.0.7" in refusal
    assert "10.0.0.0/8, private" in refusal
    assert POLICY.refusal("good.example", ["93.184.216.34", "2606:4700::1"]) is None


def test_named_host_is_allowed_its_own_address_only():
    policy = AddressPolicy(UrlSettings(), {"intranet": frozenset()})
    assert policy.is_named("intranet")
    assert policy.awaits_pin("intranet")
    assert not policy.allows("intranet", "10.0.0.1")
    pinned = policy.naming("intranet", ["10.0.0.1", "fd00::1"])
    assert not pinned.awaits_pin("intranet")
    assert pinned.allows("intranet", "10.0.0.1")
    assert pinned.allows("intranet", "::ffff:10.0.0.1")
    assert pinned.allows("intranet", "fd00:0::1")
    assert pinned.allows("intranet", "8.8.8.8")
    assert not pinned.allows("intranet", "10.0.0.2")
    assert not pinned.allows("other", "10.0.0.1")
    assert not policy.allows("intranet", "10.0.0.1")
    assert pinned.refusal("intranet", ["10.0.0.1", "127.0.0.1"]) is not None


def test_first_pin_stays_whatever_the_name_resolves_to_later():
    """A name that is public at first and private later (rebinding) gains nothing."""
    policy = POLICY.naming("site.example", ["93.184.216.34"])
    assert policy.naming("site.example", ["127.0.0.1"]) is policy
    assert not policy.allows("site.example", "127.0.0.1")


def test_text_that_is_no_address_cannot_be_pinned():
    policy = POLICY.naming("h", ["0x7f.1"])
    assert not policy.allows("h", "0x7f.1")
    assert policy.awaits_pin("h")


def test_own_addresses_are_refused_however_they_are_written():
    policy = AddressPolicy(UrlSettings(), own_addresses=["93.184.216.34", "2606:4700::9"])
    assert not policy.allows("h", "93.184.216.34")
    assert not policy.allows("h", "64:ff9b::93.184.216.34")
    assert not policy.allows("h", "2606:4700:0::9")
    assert policy.allows("h", "93.184.216.35")
    assert "own" in (policy.refusal("h", ["93.184.216.34"]) or "")


def test_settings_lift_the_policy():
    lifted = AddressPolicy(UrlSettings(allow_private=True), own_addresses=["10.0.0.1"])
    assert lifted.allows("h", "127.0.0.1")
    assert lifted.allows("h", "10.0.0.1")
    partly = AddressPolicy(UrlSettings(allow_networks=("10.1.0.0/16", "fd00::/8")))
    assert partly.allows("h", "10.1.2.3")
    assert partly.allows("h", "::ffff:10.1.2.3")
    assert partly.allows("h", "fd12::1")
    assert not partly.allows("h", "10.2.0.1")
    assert not partly.allows("h", "fc00::1")


@pytest.mark.parametrize("network", ["10.0.0.1/8", "ten", "10.0.0.0/33", ""])
def test_bad_network_is_explained(network):
    with pytest.raises(ConfigError) as caught:
        AddressPolicy(UrlSettings(allow_networks=(network,)))
    assert "[url] allow_networks" in str(caught.value)
    assert repr(network) in str(caught.value)


def test_policy_survives_the_way_to_another_process():
    policy = AddressPolicy(
        UrlSettings(allow_networks=("10.1.0.0/16",)), {"a": frozenset()}, ["93.184.216.34"]
    ).naming("b", ["127.0.0.1"])
    for twin in (
        AddressPolicy.from_bytes(policy.to_bytes()),
        AddressPolicy.from_dict(policy.to_dict()),
    ):
        assert twin.to_dict() == policy.to_dict()
        assert twin.awaits_pin("a")
        assert twin.allows("b", "127.0.0.1")
        assert twin.allows("h", "10.1.0.1")
        assert not twin.allows("h", "93.184.216.34")
        assert not twin.allows("h", "127.0.0.1")
    everything = AddressPolicy(UrlSettings(allow_private=True))
    assert AddressPolicy.from_bytes(everything.to_bytes()).allows("h", "127.0.0.1")


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x80", b"\x90"])
def test_damaged_policy_is_refused(data):
    with pytest.raises(ProtocolError):
        AddressPolicy.from_bytes(data)


def test_damaged_dict_is_refused():
    with pytest.raises(ProtocolError):
        AddressPolicy.from_dict({"allow_private": True})


def test_memory_of_answers_is_bounded():
    policy = AddressPolicy(UrlSettings())
    for number in range(20_000):
        policy.allows("h", str(ip_address(0x5DB80000 + number)))
    assert len(policy._reasons) <= 8_192


@pytest.mark.parametrize("port", [0, 22, 25, 53, 6000, 6379, 5432, 6667, 10080])
def test_ports_of_other_services_are_refused(port):
    assert str(port) in (port_refusal(port) or "")


@pytest.mark.parametrize("port", [80, 443, 8000, 8080, 8443, 3000, 65_535])
def test_ports_of_the_web_are_allowed(port):
    assert port_refusal(port) is None


def test_allowed_ports_are_the_whole_list():
    assert port_refusal(22, (22, 80)) is None
    assert port_refusal(443, (22, 80)) is not None


@given(st.integers(-5, 70_000))
def test_every_port_has_a_verdict(port):
    is_open = 0 < port < 65_536 and port not in BAD_PORTS
    assert (port_refusal(port) is None) is is_open
