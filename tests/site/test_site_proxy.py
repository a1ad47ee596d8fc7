"""`gossamer site --proxy`: plain requests by their whole URL, https through a tunnel."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from site_rig import Site, page, paths, run_site, site_map

from tunnels import Tunnels

PAGES = {"/": page("/a", "/b"), "/a": page("/", text="a"), "/b": page("/a")}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path) -> list[str]:
    """Flags that make the authority one that counts."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return ["--set", f"spider.ca_file={tmp_path / 'ca.pem'}"]


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[tuple[Site, list[str | None]]]:
    """A site over https whose certificate is for site.test, and the names it was asked by."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("site.test").configure_cert(context)
    names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with Site(PAGES, context) as site:
        yield site, names


def test_a_proxy_is_used_only_when_asked_for():
    """It resolves the names; the request names the whole URL."""

    def proxy(path: str):
        known = {"http://no-such-name.test/": page("/a"), "http://no-such-name.test/a": page()}
        return known.get(path)

    with Site(proxy) as site:
        found = site_map("http://no-such-name.test/", "--proxy", site.url())
        loud = run_site("http://no-such-name.test/", "--proxy", site.url(), "--max-pages", "1")
    assert paths(found) == ["/", "/a"]
    assert "proxy" in loud.stderr


def test_https_goes_through_a_tunnel_that_sees_nothing_but_the_host(secure, trusted):
    """Certificate, SNI and Host are those of the site; what is secret stays in the tunnel."""
    site, names = secure
    flags = ["--auth", "me:h1dden", "--cookie", "a=b", *trusted]
    with Tunnels() as proxy:
        found = site_map(site.url("/", "site.test"), "--proxy", proxy.url, *flags)
    assert paths(found) == ["/", "/a", "/b"]
    assert found["summary"]["complete"]
    assert {each.headers["host"] for each in site.asked} == {f"site.test:{site.port}"}
    assert set(names) == {"site.test"}
    assert all("authorization" in each.headers for each in site.asked)
    targets = {head.split(" ", 2)[1] for head in proxy.heads}
    assert targets == {f"site.test:{site.port}"}
    heads = "".join(proxy.heads).lower()
    assert "authorization" not in heads
    assert "cookie" not in heads


def test_what_is_secret_for_https_is_not_sent_over_http(authority, trusted):
    """Both are one site, and anybody on the way could read it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("site.test").configure_cert(context)
    pages: dict[str, str] = {}
    with Site(pages, context) as site, Tunnels() as proxy:
        open_url = f"http://site.test:{site.port}/open"
        pages["/"] = page(open_url)
        url = site.url("/", "site.test")
        found = site_map(url, "--proxy", proxy.url, "--auth", "me:h1dden", *trusted)
    assert open_url in found["by_url"]
    plain = [head for head in proxy.heads if head.startswith(f"GET {open_url} ")]
    assert plain
    assert "authorization" not in "".join(plain).lower()
    assert "authorization" in site.asked[-1].headers


def test_a_certificate_nobody_vouches_for_is_refused_in_a_tunnel_too(secure):
    site, _ = secure
    with Tunnels() as proxy:
        result = run_site(site.url("/", "site.test"), "--proxy", proxy.url, "--quiet")
    assert result.returncode == 5
    assert "tls." in result.stderr
    assert site.asked == []


def test_a_certificate_for_another_name_is_refused_in_a_tunnel_too(secure, trusted):
    site, _ = secure
    with Tunnels() as proxy:
        url = site.url("/", "other.test")
        result = run_site(url, "--proxy", proxy.url, "--quiet", *trusted)
    assert result.returncode == 5
    assert "tls." in result.stderr
    assert site.asked == []


def test_a_proxy_that_is_not_there_is_one_clear_message():
    with Tunnels() as proxy:
        url = proxy.url
    result = run_site("https://site.test/", "--proxy", url, "--quiet")
    assert result.returncode == 5
    assert "net.refused" in result.stderr
    assert "check that --proxy names a proxy that runs" in result.stderr
