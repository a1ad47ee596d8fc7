"""The gate at work in a catalog: what a failed commit counted, and hosts without end."""

import hashlib
from urllib.parse import urlsplit

import pytest

from gossamer.catalog.catalog import RobotsRecord, TrapCount, Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.config.url import UrlSettings
from gossamer.crawl.admission import Admission
from gossamer.errors import GossamerError
from gossamer.messages import Due, Findings, Found, Kind, News
from gossamer.outcomes import Outcome, State

NOW = 1_800_000_000.0
START = "http://start.example/"
# A body that the catalog cannot keep: the transaction fails when all else in it is done.
IMPOSSIBLE = RobotsRecord(
    authority="a", fetched_at=NOW, expires_at=NOW, status=200, outcome=1, body="text"
)


def found(url: str, probation: str = "", kind: Kind = Kind.PAGE) -> Found:
    md5 = hashlib.md5(url.encode()).digest()
    return Found(url, md5, urlsplit(url).hostname or "", 1, int(kind), probation=probation)


def page(due: Due, *new: Found, news: News = News.UNKNOWN) -> Verdict:
    findings = Findings(
        doc_id=due.doc_id, trans_id=1, outcome=int(Outcome.OK), status=200, fetched_at=NOW,
        milliseconds=1, found=new, news=int(news),
    )  # fmt: skip
    return Verdict(findings, State.DONE)


@pytest.fixture
def catalog():
    with SqliteCatalog.open(":memory:", CatalogSettings()) as opened:
        opened.begin_run(NOW)
        opened.add([found(START)], NOW)
        yield opened
        assert opened.check() == []


def commit(catalog, verdicts, gate, *, fails=False):
    if not fails:
        return catalog.commit(verdicts, NOW, gate=gate)
    with pytest.raises(GossamerError):
        catalog.commit(verdicts, NOW, gate=gate, robots=[IMPOSSIBLE])
    return None


def test_a_commit_that_failed_counts_nothing(catalog):
    settings = UrlSettings(max_pattern_urls=20, max_query_variants=20, max_domain_hosts=20)
    gate = Admission(settings)
    (due,) = catalog.due(1, 1, NOW)
    new = [found(f"http://a.example/n/{n}") for n in range(19)]
    new += [found(f"http://a.example/q?a={n % 3}&b={n % 7}&c=1") for n in range(19)]
    new += [found(f"http://w{n}.wild.example/") for n in range(19)]
    for _ in range(5):
        commit(catalog, [page(due, *new)], gate, fails=True)
    commit(catalog, [page(due, *new)], gate)
    assert catalog.counts().excluded == 0
    assert {(trap.pattern, trap.urls) for trap in catalog.traps()} == {
        ("/n/{n}", 19),
        ("/q?*", 19),
        ("*.wild.example", 19),
    }


def test_a_family_that_a_failed_commit_closed_is_closed_by_the_next(catalog):
    gate = Admission(UrlSettings(max_fruitless_pages=3))
    (start,) = catalog.due(1, 1, NOW)
    family = "start.example/"
    new = [found(f"{START}m/{n}", probation=family) for n in range(10)]
    commit(catalog, [page(start, *new)], gate)
    batch = catalog.due(4, 4, NOW)
    assert len(batch) == 4
    verdicts = [page(due, news=News.NONE) for due in batch]
    commit(catalog, verdicts, gate, fails=True)
    assert catalog.counts().excluded == 0
    commit(catalog, verdicts, gate)
    assert (catalog.counts().pending, catalog.counts().excluded) == (0, 6)
    (trap,) = catalog.traps()
    assert trap == TrapCount("start.example", "links of /", 4, trap.reason)
    assert trap.reason.startswith("nothing new: more than 3 pages without news")
    later = Admission(UrlSettings(max_fruitless_pages=3), catalog.traps())
    assert later.refusal(START) == trap.reason


def test_a_domain_with_too_many_hosts_is_left_at_what_it_has(catalog):
    gate = Admission(UrlSettings(max_domain_hosts=20))
    (due,) = catalog.due(1, 1, NOW)
    new = [found(f"http://w{n}.wild.example/{name}") for n in range(30) for name in "ab"]
    commit(catalog, [page(due, *new, found("http://other.example/"))], gate)
    rows = {row.url: row for row in catalog.rows()}
    kept_out = {row.host for row in rows.values() if row.state is State.EXCLUDED}
    assert kept_out == {f"w{n}.wild.example" for n in range(20, 30)}
    row = rows["http://w25.wild.example/b"]
    assert row.outcome is Outcome.POLICY_TRAP
    assert row.detail == "wildcard names: more than 20 hosts of wild.example"
    later = Admission(UrlSettings(max_domain_hosts=20), catalog.traps())
    (due, *_) = catalog.due(1, 1, NOW)
    new = [found(f"http://w{n}.wild.example/later") for n in range(30)]
    commit(catalog, [page(due, *new)], later)
    rows = {row.url: row for row in catalog.rows()}
    states = [rows[f"http://w{n}.wild.example/later"].state for n in range(30)]
    assert states == [State.PENDING] * 20 + [State.EXCLUDED] * 10


@pytest.mark.parametrize("limit", [3, 20])
def test_a_host_with_too_many_sitemaps_is_left_at_what_it_has(catalog, limit):
    """Its pages go on; so does a host that is exempt."""
    settings = UrlSettings(max_host_sitemaps=limit, trap_exempt=("free.example",))
    gate = Admission(settings)
    (due,) = catalog.due(1, 1, NOW)
    names = [chr(97 + n // 26) + chr(97 + n % 26) for n in range(limit + 5)]
    hosts = ("a.example", "free.example", "b.example")
    new = [
        found(f"http://{host}/{name}.xml", kind=Kind.SITEMAP)
        for name in names
        for host in hosts[:2]
    ]
    new += [found("http://b.example/s.xml", kind=Kind.SITEMAP)]
    new += [found(f"http://a.example/{name}") for name in names]
    commit(catalog, [page(due, *new)], gate, fails=True)
    commit(catalog, [page(due, *new)], gate)
    kept_out = [row for row in catalog.rows() if row.state is State.EXCLUDED]
    assert {row.url for row in kept_out} == {
        f"http://a.example/{name}.xml" for name in names[limit:]
    }
    reason = f"sitemaps without end: more than {limit} of a.example"
    assert {(row.outcome, row.detail) for row in kept_out} == {(Outcome.POLICY_TRAP, reason)}
    later = Admission(settings, catalog.traps())
    (due, *_) = catalog.due(1, 1, NOW)
    more = found("http://a.example/later.xml", kind=Kind.SITEMAP)
    commit(catalog, [page(due, more, found("http://a.example/later"))], later)
    states = {row.url: row.state for row in catalog.rows()}
    assert states["http://a.example/later.xml"] is State.EXCLUDED
    assert states["http://a.example/later"] is State.PENDING
