"""Visits through a proxy of their own: where the spider connects to, and what the proxy is told."""

import base64
import ssl
from pathlib import Path

import pytest
import trustme
from rawserver import RawServer, page

from conftest import MakeSpider, fetch_all, fetch_one, visit
from gossamer.config.url import UrlSettings
from gossamer.messages import Manner
from gossamer.outcomes import Outcome
from gossamer.spider.proxies import Proxies, without_login
from gossamer.url.address import AddressPolicy
from press import press
from tunnels import Tunnels

# 127.0.0.1 plays the public Internet here; all other addresses are forbidden.
STRICT = AddressPolicy(UrlSettings(allow_networks=("127.0.0.1/32",)))
PRIVATE = "127.0.0.3"


def through(proxy: Tunnels | str) -> Manner:
    return Manner(proxy=proxy if isinstance(proxy, str) else proxy.url)


def test_a_proxy_is_told_the_address_that_was_judged_and_no_name(make_spider: MakeSpider) -> None:
    """Else it could resolve the name to an address that the policy does not let pass."""
    with press() as web, Tunnels() as proxy:
        web.routes["/"] = (200, {}, b"hello")
        port = web.root.rpartition(":")[2]
        url = f"http://name.test:{port}/"
        fetch = fetch_one(make_spider(STRICT), url, manner=through(proxy))
        assert (fetch.outcome, fetch.body) == (Outcome.OK, b"hello")
        assert proxy.targets == [f"127.0.0.1:{port}"]
        assert web.log[0].headers["host"] == f"name.test:{port}"


def test_https_is_verified_in_the_tunnel(make_spider: MakeSpider, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("good.test").configure_cert(context)
    with RawServer({"": page(b"secret")}, context) as server, Tunnels() as proxy:
        spider = make_spider(STRICT, ca_file=str(tmp_path / "ca.pem"))
        visits = [
            visit(number, f"https://{name}:{server.port}/", manner=through(proxy))
            for number, name in enumerate(("good.test", "bad.test"))
        ]
        fetches = fetch_all(spider, visits)
        assert set(proxy.targets) == {f"127.0.0.1:{server.port}"}
    assert (fetches[0].outcome, fetches[0].body) == (Outcome.OK, b"secret")
    assert fetches[1].outcome is Outcome.TLS_NAME


def test_only_visits_that_name_a_proxy_go_through_it(make_spider: MakeSpider) -> None:
    """The same handle carries one visit after another."""
    with press() as web, Tunnels() as one, Tunnels() as two:
        web.routes["/"] = (200, {}, b"hello")
        spider = make_spider(STRICT)
        for number, manner in enumerate((None, through(one), None, through(two), None)):
            (fetch,) = fetch_all(spider, [visit(number, web.url("/"), manner=manner)]).values()
            assert fetch.body == b"hello"
        assert len(one.heads) == len(two.heads) == 1
    assert len(web.log) == 5


def test_the_target_must_pass_the_policy_whatever_the_proxy(make_spider: MakeSpider) -> None:
    with Tunnels() as proxy:
        spider = make_spider(STRICT, proxies=(proxy.name,))
        manner = through(proxy)
        fetch = fetch_one(spider, "http://x.test/", address=PRIVATE, manner=manner)
        assert fetch.outcome is Outcome.POLICY_PRIVATE_ADDRESS
        assert proxy.heads == []


@pytest.mark.parametrize("is_named", [True, False])
def test_the_address_of_a_proxy_must_pass_the_policy_unless_it_is_named(
    make_spider: MakeSpider, is_named: bool
) -> None:
    with press() as web, Tunnels(PRIVATE) as proxy:
        web.routes["/"] = (200, {}, b"hello")
        spider = make_spider(STRICT, proxies=(proxy.url,) if is_named else ("127.0.0.3:1",))
        fetch = fetch_one(spider, web.url("/"), manner=through(proxy))
        assert bool(proxy.heads) is is_named
    assert fetch.outcome is (Outcome.OK if is_named else Outcome.NET_UNREACHABLE)
    assert is_named or "may not be connected to for the proxy" in fetch.detail


def test_a_proxy_at_a_port_of_another_service_is_not_used(make_spider: MakeSpider) -> None:
    fetch = fetch_one(make_spider(), "http://x.test/", manner=through("http://127.0.0.1:25"))
    assert fetch.outcome is Outcome.NET_UNREACHABLE
    assert "port 25" in fetch.detail


def test_a_log_in_is_for_the_proxy_alone(make_spider: MakeSpider) -> None:
    with press() as web, Tunnels() as proxy:
        web.routes["/"] = (200, {}, b"hello")
        manner = Manner(
            proxy=f"http://me:s3cret@{proxy.name}", headers=(("Cookie", "a=1"), ("X-A", "b"))
        )
        fetch = fetch_one(make_spider(STRICT), web.url("/"), manner=manner)
        expected = base64.b64encode(b"me:s3cret").decode()
        (head,) = proxy.heads
        assert f"Proxy-Authorization: Basic {expected}" in head
        # What is for the server goes through the tunnel.
        assert "Cookie" not in head
        assert "X-A" not in head
    assert not [name for name in web.log[0].headers if name.startswith("proxy-")]
    assert web.log[0].headers["cookie"] == "a=1"
    assert b"s3cret" not in fetch.request_head
    assert without_login(manner.proxy) == proxy.url


@pytest.mark.parametrize(
    "proxy", ["http://no-such-proxy.invalid:3128", "http://127.0.0.1:1"], ids=["name", "port"]
)
def test_a_proxy_that_is_not_there_is_a_fault_of_the_network(
    make_spider: MakeSpider, proxy: str
) -> None:
    fetch = fetch_one(
        make_spider(proxies=("127.0.0.1:1",)), "http://x.test/", manner=through(proxy)
    )
    assert fetch.outcome in (Outcome.NET_UNREACHABLE, Outcome.NET_REFUSED)
    assert fetch.status == 0


def test_what_a_proxy_says_to_connect_is_not_the_answer_of_the_server(
    make_spider: MakeSpider,
) -> None:
    with Tunnels(status="403 Not through me") as proxy:
        fetch = fetch_one(make_spider(STRICT), "http://x.test/", manner=through(proxy))
    assert (fetch.outcome, fetch.status, fetch.head) == (Outcome.NET_REFUSED, 0, b"")
    assert "403" in fetch.detail


def test_a_proxy_may_be_asked_by_name_if_the_administrator_says_so(
    make_spider: MakeSpider,
) -> None:
    with press() as proxy:
        proxy.routes["http://name.test/a"] = (200, {}, b"by name")
        proxy.routes["/direct"] = (200, {}, b"direct")
        spider = make_spider(STRICT, proxy_by_name=True)
        manner = through(proxy.root)
        for number in range(2):
            visits = [visit(2 * number, "http://name.test/a", manner=manner)]
            assert fetch_all(spider, visits)[2 * number].body == b"by name"
            visits = [visit(2 * number + 1, proxy.url("/direct"))]
            assert fetch_all(spider, visits)[2 * number + 1].body == b"direct"
        # The target must pass all the same.
        refused = fetch_one(spider, "http://name.test/a", address=PRIVATE, manner=manner)
        assert refused.outcome is Outcome.POLICY_PRIVATE_ADDRESS


def test_named_proxies_are_known_in_any_spelling() -> None:
    proxies = Proxies([" HTTP://10.0.0.5:25/ ", "proxy.inside:3128"])
    assert proxies.refusal("http://me:x@10.0.0.5:25") is None
    assert proxies.allows("http://proxy.inside:3128", "10.9.9.9", STRICT)
    assert not proxies.allows("http://proxy.inside:3129", "10.9.9.9", STRICT)
    assert proxies.refusal("http://x:25") is not None
