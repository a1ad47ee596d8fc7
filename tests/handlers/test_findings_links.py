"""What becomes of the links of a page."""

import pytest

from gossamer.config.crawl import CrawlSettings
from gossamer.config.settings import Settings
from gossamer.handlers.findings import Finder
from gossamer.messages import Document, Fetch, Findings, Link, Page, Visit
from gossamer.outcomes import Outcome, State
from gossamer.url.canonical import Joiner
from gossamer.url.parts import md5_of
from gossamer.url.scope import Scope

HOME = "http://h.example/"


@pytest.fixture
def finder() -> Finder:
    settings = Settings()
    scope = Scope(settings.crawl, [HOME])
    return Finder(scope, Joiner(settings.url), settings.url, settings.handlers)


def found_on(finder: Finder, *links: Link, url: str = HOME, **said: bool) -> Findings:
    fetch = Fetch(visit=Visit(1, 1, "192.0.2.1", url), outcome=Outcome.OK, status=200, body=b"x")
    return finder.findings(Document(fetch, None), Page(title=url, links=links, **said))


def keys(*urls: str) -> bytes:
    return b"".join(md5_of(url)[:8] for url in urls)


def test_each_target_is_named_once_in_the_order_of_the_page(finder):
    b, a = Link(f"{HOME}b", "a"), Link(f"{HOME}a", "a")
    findings = found_on(finder, b, a, Link(b.url, "frame"), b)
    assert findings.targets == keys(b.url, a.url)
    assert [item.url for item in findings.found] == [b.url, a.url]
    assert [item.md5 for item in findings.found] == [md5_of(b.url), md5_of(a.url)]


def test_what_was_reported_is_not_reported_again_until_it_is_forgotten(finder):
    first = found_on(finder, Link(f"{HOME}a", "a"))
    again = found_on(finder, Link(f"{HOME}a", "a"), Link(f"{HOME}b", "a"))
    assert [item.url for item in again.found] == [f"{HOME}b"]
    assert again.targets == keys(f"{HOME}a", f"{HOME}b")
    finder.forget(first)
    assert [item.url for item in found_on(finder, Link(f"{HOME}a", "a")).found] == [f"{HOME}a"]


@pytest.mark.parametrize("last", [True, False])
def test_of_several_links_to_a_url_the_last_says_whether_it_is_followed(finder, last):
    links = Link(f"{HOME}a", "a", not last), Link(f"{HOME}a", "frame", last)
    findings = found_on(finder, *links)
    assert findings.targets == keys(f"{HOME}a")
    assert [item.url for item in findings.found] == ([] if last else [f"{HOME}a"])


def test_page_that_asks_not_to_be_followed_has_targets_only(finder):
    findings = found_on(finder, Link(f"{HOME}a", "a"), nofollow=True)
    assert findings.targets == keys(f"{HOME}a")
    assert findings.found == ()


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("http://h.example/x", None),
        ("http://o.example/", Outcome.POLICY_SCOPE),
        ("http://h.example/" + "a/" * 9, Outcome.POLICY_TRAP),
    ],
)
def test_each_new_url_is_judged(finder, url, outcome):
    (item,) = found_on(finder, Link(url, "a")).found
    assert item.outcome == outcome
    assert item.state == (State.PENDING if outcome is None else State.EXCLUDED)
    assert item.host == url.split("/")[2]
    assert item.depth == 1


def test_port_of_another_service_is_refused_on_each_url_of_its_server():
    settings = Settings()
    start = "http://h.example:22/"
    scope = Scope(settings.crawl, [start])
    finder = Finder(scope, Joiner(settings.url), settings.url, settings.handlers)
    links = [Link(f"{start}{number}", "a") for number in range(3)]
    found = found_on(finder, *links, url=start).found
    assert [item.outcome for item in found] == [Outcome.POLICY_PORT] * 3
    assert {item.host for item in found} == {"h.example"}


@pytest.mark.parametrize(
    "asked", [{}, {"exclude": ("q",)}, {"include": ("q",)}, {"max_depth": 0}, {"max_depth": 1}]
)
def test_what_is_asked_of_each_url_is_asked_in_folders_that_are_known_too(asked):
    """A folder is judged for all of its files only as far as settings look no further."""
    settings = Settings()
    scope = Scope(CrawlSettings(**asked), [HOME])
    finder = Finder(scope, Joiner(settings.url), settings.url, settings.handlers)
    assert scope.takes_folders == (not asked)
    names = ("a", "q", "b", "y?q", "z?z")
    links = [Link(HOME + name, "a") for name in names]
    found = found_on(finder, *links).found
    verdicts = [scope.verdict(link.url, "h.example", 1) for link in links]
    assert [item.outcome for item in found] == verdicts
    pending = [item.state == State.PENDING for item in found]
    assert pending == [verdict is None for verdict in verdicts]
    assert any(pending) == (asked != {"max_depth": 0})


@pytest.mark.req("S4.23")
def test_a_long_chain_of_refreshing_pages_is_one_of_links(finder):
    """As of other redirects, a chain has a limit; beyond it each is a step deeper."""
    via, depth = (), 0
    for number in range(25):
        visit = Visit(1, 1, "192.0.2.1", f"{HOME}{number}", depth, via=via)
        fetch = Fetch(visit=visit, outcome=Outcome.OK, status=200, body=b"x")
        page = Page(title=str(number), refresh=f"{HOME}{number + 1}")
        findings = finder.findings(Document(fetch, None), page)
        (item,) = findings.found
        assert item.url == f"{HOME}{number + 1}"
        assert len(item.via) <= 10
        assert findings.redirect_to == (item.url if item.via else None)
        via, depth = item.via, item.depth
    assert depth == 2


def test_files_of_one_folder_are_judged_each_by_what_is_its_own(finder):
    urls = [
        *(f"{HOME}a/b/{name}" for name in ("c", "d?e=1&e=1&e=1&e=1", "f?g=/h/h/h/h")),
        *(f"{HOME}x/x/x/{name}" for name in ("x", "y")),
        "http://o.example/a/b/c",
        "http://h.example:22/a/b/c",
        f"{HOME}{'long/' * 2}{'l' * 300}/c",
    ]
    outcomes = [None, *[Outcome.POLICY_TRAP], None, Outcome.POLICY_TRAP, None, Outcome.POLICY_SCOPE]
    found = found_on(finder, *(Link(url, "a") for url in urls)).found
    assert [item.outcome for item in found[:6]] == outcomes
    assert found[6].state == State.EXCLUDED
    assert found[7].state == State.PENDING
    assert [item.host for item in found] == [*["h.example"] * 5, "o.example", *["h.example"] * 2]
