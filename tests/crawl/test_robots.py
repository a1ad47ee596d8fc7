"""robots.txt end to end: each kind of answer, and what may be asked for after it (RFC 9309)."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness import RunGossamer, command, crawl, read_jsonl

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.robots import RobotsDesk
from gossamer.fakeweb import judge
from gossamer.fakeweb.log import Log
from gossamer.fakeweb.options import ROBOTS_VARIANTS
from gossamer.fakeweb.process import FakeWeb
from gossamer.messages import Due, Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.urlserver.resolution import Resolution
from gossamer.urlserver.urlserver import UrlServer

VARIANTS = list(ROBOTS_VARIANTS)
READ = [name for name, verdict in ROBOTS_VARIANTS.items() if verdict == "rules"]
UNREACHABLE = [
    name
    for name, verdict in ROBOTS_VARIANTS.items()
    if verdict == "disallow" and name != "disallow-all"
]
FAST = ("--delay", "0", "--per-host", "8", "--quiet")
IMPATIENT = (
    *("--set", "crawl.patience_seconds=1"),
    *("--set", "urlserver.robots_retry_seconds=0.4"),
    *("--set", "urlserver.retry_back_off_seconds=0.5"),
)
# Short enough to wait for, and long enough for every answer that is meant to come.
SHORT = ("--set", "spider.timeout_first_byte_ms=3000")
ROBOTS_BYTES = 524_288


def run(web: FakeWeb, workspace: Path, *flags: str) -> int:
    """Crawl; return the exit code."""
    argv = command(web, workspace, *FAST, *flags)
    return subprocess.run(argv, capture_output=True, timeout=120, check=False).returncode


def rows_by_host(gossamer: RunGossamer, workspace: Path) -> dict[str, list[dict[str, object]]]:
    rows = read_jsonl(gossamer("export", "--dir", workspace, "--format", "jsonl").stdout)
    by_host: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        by_host.setdefault(str(row["host"]), []).append(row)
    return by_host


def robots_requests(log: Log) -> Counter[str]:
    """Return how often each address was asked for its robots.txt."""
    return Counter(request.address for request in log.requests if request.is_robots)


@pytest.mark.req("S1.7")
def test_every_answer_to_robots_txt_has_its_consequence(tmp_path: Path, gossamer: RunGossamer):
    """One host for each row of the table: rules obeyed, missing allowed, unreachable forbidden."""
    options = {
        "pages": 20 * len(VARIANTS),
        "hosts": len(VARIANTS),
        "seed": 3,
        "disallowed": 4 * len(VARIANTS),
        "sitemap_pages": 6 * len(VARIANTS),
        "robots": dict(enumerate(VARIANTS)),
    }
    with FakeWeb(**options) as web:
        assert run(web, tmp_path / "w", *IMPATIENT, *SHORT) == 5
        log, truth, hosts = web.log(), web.truth(), web.graph().hosts
    assert judge.missing(log, truth) == set()
    assert judge.disallowed_requests(log, truth) == []
    assert judge.unexpected(log, truth) == []
    assert judge.pages_before_robots(log) == []

    rows = rows_by_host(gossamer, tmp_path / "w")
    address_of = {variant: hosts.address(number) for number, variant in enumerate(VARIANTS)}
    for variant in UNREACHABLE:
        waiting = rows[address_of[variant]]
        assert {(row["state"], row["outcome"], row["status"]) for row in waiting} == {
            ("pending", "policy.robots_unreachable", None)
        }
        assert 1 <= robots_requests(log)[address_of[variant]] <= 6
    forbidden = rows[address_of["disallow-all"]]
    assert {(row["state"], row["outcome"]) for row in forbidden} == {("excluded", "policy.robots")}
    only_in_sitemaps = {url for url in truth["pages"] if "/only/" in url}
    assert {url.split("/")[2].split(":")[0] for url in only_in_sitemaps} == {
        address_of[variant] for variant in READ
    }
    assert_robots_is_cut(tmp_path / "w", hosts.authority(VARIANTS.index("huge")))


def assert_robots_is_cut(workspace: Path, authority: str) -> None:
    """Of 4 MB that end in a rule against everything, only the first 512 KiB count."""
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        record = catalog.robots(f"http://{authority}")
    assert record is not None
    assert ROBOTS_BYTES <= len(record.body) <= ROBOTS_BYTES + 1
    assert "only the first" in record.detail


@pytest.mark.req("S1.7")
def test_a_robots_txt_that_comes_back_frees_what_waited(tmp_path: Path):
    """What waits for an unreachable robots.txt is fetched by the same command when it is back."""
    web_options = {"pages": 60, "hosts": 2, "seed": 5}
    with FakeWeb(robots={1: "503"}, **web_options) as web:
        port = web.port
        assert run(web, tmp_path / "w", *IMPATIENT) == 5
        first, forbidden = web.log(), web.truth()
    assert judge.missing(first, forbidden) == set()
    assert judge.disallowed_requests(first, forbidden) == []
    with FakeWeb(port=port, **web_options) as web:
        crawl(web, tmp_path / "w", *FAST, *IMPATIENT, "--set", "crawl.patience_seconds=30")
        second, truth = web.log(), web.truth()
    both = Log([*first.requests, *second.requests])
    assert judge.missing(both, truth) == set()
    assert judge.disallowed_requests(second, truth) == []
    assert judge.refetches(both) == {}


def test_a_robots_txt_that_may_not_be_read_can_mean_disallow(tmp_path: Path):
    with FakeWeb(pages=20, hosts=2, seed=5, robots={-1: "403"}) as web:
        forbid = ("--set", "urlserver.robots_forbidden_means_disallow=true")
        assert run(web, tmp_path / "w", *IMPATIENT, *forbid) == 5
        log = web.log()
    assert log.requests
    assert all(request.is_robots for request in log.requests)


def test_sitemaps_can_be_left_alone(tmp_path: Path):
    """Pages that only a sitemap names are found through it, and not when sitemaps are off."""
    with FakeWeb(pages=20, hosts=2, seed=5, sitemap_pages=10) as web:
        crawl(web, tmp_path / "off", *FAST, "--set", "crawl.sitemaps=false")
        without, truth = web.log(), web.truth()
        crawl(web, tmp_path / "on", *FAST)
        log = web.log()
    only = {url for url in truth["pages"] if "/only/" in url}
    assert len(only) == 10
    assert judge.missing(without, truth) == only
    assert judge.missing(log, truth) == set()


class Clerk:
    """Takes orders and fetches nothing."""

    def __init__(self) -> None:
        self.visits: list[Visit] = []

    def start(self, visit: Visit) -> None:
        self.visits.append(visit)


@pytest.mark.parametrize("body", [b"User-agent: *\n", b"Sitemap: /sitemap.xml\n"])
def test_what_names_sitemaps_is_kept_only_when_they_are_known(body: bytes):
    """The next run does not ask for a robots.txt that it finds: what it names must be there."""
    settings, clock, clerk = Settings(), ManualClock(), Clerk()
    server = UrlServer(settings.urlserver, robots_agent="gossamer")
    desk = RobotsDesk(clerk, server, settings, clock)
    now = clock.monotonic()
    server.offer([Due(1, "http://a.test/", "a.test")], now)
    server.needs(now)
    server.resolved("a.test", Resolution(("192.0.2.1",), now + 60), now)
    server.orders(now, 1)
    for need in server.needs(now):
        desk.ask(need)
    (visit,) = clerk.visits
    desk.fetched(Fetch(visit, Outcome.OK, status=200, body=body), now)
    records = desk.records()
    named, waiting = desk.sitemaps()
    if not named:
        assert (len(records), waiting) == (1, [])
        return
    assert named == ["http://a.test/sitemap.xml"]
    assert records == []
    desk.keep(waiting)
    assert [record.authority for record in desk.records()] == ["http://a.test"]
