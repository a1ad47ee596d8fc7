"""Where the spider does not go, whatever it is told."""

import socket
from collections.abc import Iterator

import pytest

from conftest import MakeSpider, fetch_all, fetch_one, visit
from gossamer.config.url import UrlSettings
from gossamer.outcomes import Outcome
from gossamer.url.address import AddressPolicy

# 127.1.0.0/16 plays the public Internet here; all other addresses are forbidden.
TEST_POLICY = AddressPolicy(UrlSettings(allow_networks=("127.1.0.0/16",)))


class Canary:
    """A listener on every loopback address that must never be connected to."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("0.0.0.0", 0), backlog=128)
        self.listener.setblocking(False)
        self.port: int = self.listener.getsockname()[1]

    def accepted(self) -> int:
        count = 0
        while True:
            try:
                peer, _ = self.listener.accept()
            except BlockingIOError:
                return count
            peer.close()
            count += 1


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.listener.close()


FORBIDDEN = (
    "127.0.0.1",
    "127.2.3.4",
    "0.0.0.0",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1",
    "fd00::1",
)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_a_forbidden_address_is_never_connected_to(
    address: str, canary: Canary, make_spider: MakeSpider
) -> None:
    """T1: the refusal costs no packet."""
    fetch = fetch_one(make_spider(TEST_POLICY), f"http://a.example:{canary.port}/", address=address)
    assert fetch.outcome is Outcome.POLICY_PRIVATE_ADDRESS
    assert fetch.sent_at == 0.0
    assert canary.accepted() == 0


def test_the_socket_is_judged_again(canary: Canary, make_spider: MakeSpider) -> None:
    """T2: even if an order passed, the address of the real socket decides."""

    class Careless(AddressPolicy):
        """Believes the order, not the socket."""

        calls = 0

        def allows(self, host: str, address: str) -> bool:
            Careless.calls += 1
            return Careless.calls == 1

    fetch = fetch_one(make_spider(Careless(UrlSettings())), f"http://a.example:{canary.port}/")
    assert Careless.calls == 2
    assert fetch.outcome is Outcome.POLICY_PRIVATE_ADDRESS
    assert canary.accepted() == 0


def test_the_url_does_not_decide_the_address(canary: Canary, make_spider: MakeSpider) -> None:
    """T3: a URL that spells an address is still fetched only from the address of its order."""
    spider = make_spider(TEST_POLICY)
    fetches = fetch_all(
        spider,
        [
            visit(number, f"http://{host}:{canary.port}/", address="10.9.8.7")
            for number, host in enumerate(["127.0.0.1", "[::1]", "localhost", "127.1.0.1"])
        ],
    )
    assert {fetch.outcome for fetch in fetches.values()} == {Outcome.POLICY_PRIVATE_ADDRESS}
    assert canary.accepted() == 0


@pytest.mark.parametrize("port", [1, 22, 25, 110, 6000, 6667])
def test_ports_of_other_services_are_refused(port: int, make_spider: MakeSpider) -> None:
    fetch = fetch_one(make_spider(), f"http://a.example:{port}/")
    assert fetch.outcome is Outcome.POLICY_PORT


def test_allowed_ports_are_the_only_ones(canary: Canary, make_spider: MakeSpider) -> None:
    spider = make_spider(allowed_ports=(80, 443))
    assert fetch_one(spider, f"http://a.example:{canary.port}/").outcome is Outcome.POLICY_PORT
    assert canary.accepted() == 0


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "file:///etc/passwd", "gopher://a.example/", "data:,x", "", "/x"]
)
def test_only_http_and_https(url: str, make_spider: MakeSpider) -> None:
    """T4: other schemes are refused before libcurl sees them."""
    assert fetch_one(make_spider(), url).outcome is Outcome.REDIR_SCHEME


def test_a_new_policy_counts_from_the_next_visit_on(
    canary: Canary, make_spider: MakeSpider
) -> None:
    spider = make_spider(TEST_POLICY, timeout_request_ms=200)
    address = f"http://a.example:{canary.port}/"
    assert fetch_one(spider, address).outcome is Outcome.POLICY_PRIVATE_ADDRESS
    spider.use_policy(TEST_POLICY.naming("a.example", ["127.0.0.1"]))
    assert fetch_one(spider, address).outcome is Outcome.NET_TIMEOUT_TOTAL
    assert canary.accepted() == 1
