"""Slices of canonical URLs."""

import hashlib

import pytest
from ada_url import URL
from hypothesis import given
from hypothesis import strategies as st

from gossamer.url.canonical import (
    authority_of,
    canonicalize,
    directory_of,
    host_of,
    md5_of,
    path_query_of,
    port_of,
    registrable_domain,
    site_of,
)

CANONICAL = st.builds(
    lambda scheme, host, port, path: canonicalize(f"{scheme}://{host}{port}/{path}"),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["example.org", "h", "127.0.0.1", "[::1]", "[2001:db8::7]", "a.b.co.uk"]),
    st.sampled_from(["", ":80", ":443", ":8080", ":1"]),
    st.text(alphabet="ab/:@?=.&[]é", max_size=20),
)


@pytest.mark.req("S2.38")
@given(CANONICAL)
def test_slices_agree_with_the_parser(url):
    parsed = URL(url)
    assert host_of(url) == parsed.hostname.strip("[]")
    assert site_of(url) == parsed.host
    assert authority_of(url) == f"{parsed.protocol}//{parsed.host}"
    assert path_query_of(url) == url[len(parsed.origin) :]
    assert path_query_of(url).partition("?")[0] == parsed.pathname
    default = 443 if parsed.protocol == "https:" else 80
    assert port_of(url) == int(parsed.port or default)
    assert authority_of(url) + path_query_of(url) == url
    assert directory_of(url) == URL(".", url).href.partition("?")[0]


def test_url_without_a_path_is_still_understood():
    assert host_of("http://h") == "h"
    assert authority_of("http://h:81") == "http://h:81"
    assert path_query_of("http://h") == "/"


@pytest.mark.req("S3.37")
def test_identifier_is_the_md5_of_the_url():
    url = "http://example.org/"
    assert md5_of(url) == hashlib.md5(url.encode()).digest()
    assert len(md5_of(url)) == 16


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org", "example.org"),
        ("www.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("me.github.io", "me.github.io"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("2001:db8::7", "2001:db8::7"),
        ("www.xn--85x722f.com.cn", "xn--85x722f.com.cn"),
        ("a.internal", "a.internal"),
    ],
)
def test_registrable_domain(host, domain):
    assert registrable_domain(host) == domain
