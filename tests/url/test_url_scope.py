"""Which URLs belong to a crawl."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.crawl import CrawlSettings
from gossamer.errors import ConfigError
from gossamer.outcomes import Outcome
from gossamer.url.canonical import directory_of, host_of
from gossamer.url.scope import Scope


def verdict(scope: Scope, url: str, depth: int = 1) -> Outcome | None:
    return scope.verdict(url, host_of(url), depth)


def scope_of(*start_urls: str, **settings) -> Scope:
    return Scope(CrawlSettings(**settings), start_urls)


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        (
            "host",
            ["http://www.a.org/", "https://www.a.org/x?y"],
            [
                "http://a.org/",
                "http://x.www.a.org/",
                "http://www.a.org:8080/",
                "http://www.a.orgx/",
                "http://b.org/www.a.org/",
            ],
        ),
        (
            "domain",
            ["http://a.org/", "https://x.y.a.org:8443/z", "http://www.a.org/"],
            ["http://ba.org/", "http://a.org.b.org/", "http://org/"],
        ),
        (
            "prefix",
            ["http://www.a.org/docs/", "https://www.a.org/docs/x/y?z"],
            [
                "http://www.a.org/",
                "http://www.a.org/docs",
                "http://www.a.org/docsx/",
                "http://www.a.org:81/docs/x",
                "http://b.org/docs/x",
                "http://b.org/?http://www.a.org/docs/",
            ],
        ),
        ("any", ["http://b.org/", "https://x/"], []),
    ],
)
def test_scope_reaches(scope, inside, outside):
    crawl = scope_of("http://www.a.org/docs/index.html?q=/a/b", scope=scope)
    assert [verdict(crawl, url) for url in inside] == [None] * len(inside)
    assert [verdict(crawl, url) for url in outside] == [Outcome.POLICY_SCOPE] * len(outside)


def test_port_of_the_start_url_must_match():
    crawl = scope_of("http://127.0.0.1:8001/", scope="host")
    assert verdict(crawl, "http://127.0.0.1:8001/x") is None
    assert verdict(crawl, "https://127.0.0.1:8001/x") is None
    assert verdict(crawl, "http://127.0.0.1:8002/x") is Outcome.POLICY_SCOPE
    assert verdict(crawl, "http://127.0.0.1/x") is Outcome.POLICY_SCOPE


def test_addresses_have_no_registrable_domain_but_themselves():
    crawl = scope_of("http://10.0.0.1/", "http://[2001:db8::1]/", scope="domain")
    assert verdict(crawl, "http://10.0.0.1/x") is None
    assert verdict(crawl, "http://[2001:db8::1]/x") is None
    assert verdict(crawl, "http://11.0.0.1/") is Outcome.POLICY_SCOPE


def test_redirect_of_a_start_url_does_not_leave_the_scope():
    """A redirect target keeps depth 0, and depth 0 opens no door."""
    crawl = scope_of("http://a.org/")
    assert verdict(crawl, "http://victim.org/", depth=0) is Outcome.POLICY_SCOPE


def test_depth_beyond_the_limit_is_a_matter_of_budget():
    crawl = scope_of("http://a.org/", max_depth=2)
    assert verdict(crawl, "http://a.org/x", depth=2) is None
    assert verdict(crawl, "http://a.org/x", depth=3) is Outcome.POLICY_BUDGET
    assert verdict(crawl, "http://b.org/x", depth=3) is Outcome.POLICY_SCOPE
    assert verdict(scope_of("http://a.org/", max_depth=0), "http://a.org/x") is (
        Outcome.POLICY_BUDGET
    )
    assert verdict(scope_of("http://a.org/"), "http://a.org/x", depth=10_000) is None


def test_include_spares_start_urls_and_exclude_does_not():
    crawl = scope_of("http://a.org/", include=(r"/keep/", r"\.pdf$"), exclude=(r"secret",))
    assert verdict(crawl, "http://a.org/", depth=0) is None
    assert verdict(crawl, "http://a.org/keep/x") is None
    assert verdict(crawl, "http://a.org/x.pdf") is None
    assert verdict(crawl, "http://a.org/x") is Outcome.POLICY_SCOPE
    assert verdict(crawl, "http://a.org/keep/secret") is Outcome.POLICY_SCOPE
    assert verdict(crawl, "http://a.org/secret", depth=0) is Outcome.POLICY_SCOPE


@pytest.mark.parametrize("key", ["include", "exclude"])
def test_bad_expression_is_explained(key):
    with pytest.raises(ConfigError) as caught:
        scope_of("http://a.org/", **{key: ("fine", "a(b")})
    message = str(caught.value)
    assert f"[crawl] {key}" in message
    assert "'a(b'" in message
    assert "at position 1" in message


@pytest.mark.parametrize("scope", ["host", "domain", "prefix", "any"])
def test_adding_start_urls_widens_a_new_scope_only(scope):
    narrow = scope_of("http://a.org/x/", scope=scope, exclude=("secret",))
    wide = narrow.adding(["http://b.org/y/"])
    assert verdict(wide, "http://a.org/x/1") is None
    assert verdict(wide, "http://b.org/y/1") is None
    assert verdict(wide, "http://b.org/y/secret") is Outcome.POLICY_SCOPE
    assert (verdict(narrow, "http://b.org/y/1") is None) == (scope == "any")


URLS = st.builds(
    lambda scheme, host, path: f"{scheme}://{host}/{path}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.org", "www.a.org", "b.org:81", "127.0.0.1"]),
    st.sampled_from(["", "x/", "x/y/", "x/y", "x/yy/z", "z?/x/"]),
)


# The first question about a domain reads the list of suffixes, which a deadline would not forgive.
@pytest.mark.parametrize("scope", ["host", "domain", "prefix", "any"])
@settings(deadline=None)
@given(start_urls=st.lists(URLS, min_size=1, max_size=5), url=URLS)
def test_order_of_start_urls_does_not_matter_and_each_is_in_scope(scope, start_urls, url):
    crawl = scope_of(*start_urls, scope=scope)
    assert all(verdict(crawl, each, depth=0) is None for each in start_urls)
    expected = verdict(crawl, url)
    assert verdict(scope_of(*reversed(start_urls), scope=scope), url) is expected
    added = scope_of(start_urls[0], scope=scope).adding(start_urls[1:])
    assert verdict(added, url) is expected


@pytest.mark.parametrize("scope", ["host", "domain", "subdomains", "prefix", "any"])
@settings(deadline=None)
@given(start_urls=st.lists(URLS, min_size=1, max_size=3), url=URLS)
def test_of_a_folder_all_files_are_reached_or_none(scope, start_urls, url):
    crawl = scope_of(*start_urls, scope=scope)
    host = host_of(url)
    assert crawl.reaches(url, host) is crawl.reaches(directory_of(url), host)
    assert (verdict(crawl, url) is None) is crawl.reaches(url, host)
