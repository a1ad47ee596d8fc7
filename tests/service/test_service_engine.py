"""The crawler application: the ring driven by batches, judged by what the server was asked for."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.load import load
from gossamer.crawl.pipeline import locked
from gossamer.crawl.workspace import Workspace
from gossamer.errors import WorkspaceError
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.error_mask import ErrorBit
from gossamer.service.engine import run_engine
from gossamer.service.engine_process import EngineProcess
from gossamer.url.parts import md5_of
from press import Press, Request, press
from sites_rig import Sites

NORMAL = 1
SETTINGS = load(
    None,
    {
        "url": {"allow_private": True},
        "urlserver": {"host_per_second": 0.0},
        "crawl": {"workers": 1},
    },
)


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


def page(paper: Press, path: str, *links: str) -> None:
    """Answer with a page that has these links."""
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    body = f"<html><title>{path}</title><p>The page {path}.</p>{anchors}".encode()
    paper.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8"}, body)


class Site:
    """One site of a workspace; what the operations do is done by hand here."""

    def __init__(self, directory: Path, root: str, **fields: object) -> None:
        directory.mkdir()
        (directory / "archive").mkdir()
        self.directory = directory
        rig = Sites(directory)
        self.set_id = rig.site(root, **fields)
        rig.now = time.time()
        self._rig = rig

    def filter(self, pattern: str, action: int = 1) -> None:
        self._rig.filter(self.set_id, pattern, action)

    def property(self, name: str, value: str) -> None:
        self._rig.property(self.set_id, name, value)

    def crawl(self, size: int = 100) -> int:
        """Make one batch and crawl it; return how many URLs were in it."""
        _, items = self._rig.catalog.make_batch(NORMAL, size, time.time(), 60.0, 5)
        run_engine(self.directory, SETTINGS, once=True, install_signals=False)
        return len(items)

    def members(self, what: str = "status") -> dict[str, object]:
        return self._rig.members(self.set_id, what)

    def field(self, name: str) -> object:
        return self._rig.field(self.set_id, name)

    def close(self) -> None:
        self._rig.close()


@pytest.mark.req("S3.43", "S3.53", "S3.58", "S3.67")
def test_batch_after_batch_crawls_the_site_and_nothing_twice(tmp_path: Path, paper: Press) -> None:
    page(paper, "/", "/a", "/b", "https://elsewhere.example/")
    page(paper, "/a", "/", "/b", "/c")
    page(paper, "/b", "/missing")
    page(paper, "/c")
    site = Site(tmp_path / "w", paper.url("/"))
    site.filter(f"^{paper.root}/")
    rounds = []
    while count := site.crawl():
        rounds.append(count)
    assert rounds == [1, 2, 2]
    assert Counter(
        request.path for request in paper.log if request.path != "/robots.txt"
    ) == Counter(["/", "/a", "/b", "/c", "/missing"])
    assert set(site.members().values()) == {CrawlStatus.CRAWLED}
    assert site.members("http_code")[paper.url("/missing")] == 404
    assert site.field("resources") == 4
    assert site.field("errors") == 1
    site.close()


@pytest.mark.req("S3.56", "S3.57")
def test_what_robots_txt_forbids_is_not_asked_for(tmp_path: Path, paper: Press) -> None:
    paper.routes["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /private\n")
    page(paper, "/", "/private/a")
    page(paper, "/private/a")
    site = Site(tmp_path / "w", paper.url("/"))
    site.crawl()
    site.crawl()
    assert paper.asked("/private/a") == 0
    assert site.members("error_mask")[paper.url("/private/a")] == 1 << ErrorBit.ROBOTS
    assert site.members()[paper.url("/private/a")] == CrawlStatus.CRAWLED
    site.close()


@pytest.mark.req("S3.51", "S3.52")
def test_requests_have_the_headers_and_cookies_of_the_site(tmp_path: Path, paper: Press) -> None:
    page(paper, "/")
    site = Site(tmp_path / "w", paper.url("/"))
    site.property("HTTP_HEADERS", '{"User-Agent": "the site\'s own", "X-Mark": "1"}')
    site.property("HTTP_COOKIE", "taste=good")
    site.crawl()
    (asked,) = [request for request in paper.log if request.path == "/"]
    assert asked.headers["user-agent"] == "the site's own"
    assert asked.headers["x-mark"] == "1"
    assert asked.headers["cookie"] == "taste=good"
    site.close()


@pytest.mark.req("S3.55")
def test_requests_are_as_far_apart_as_the_site_wants(tmp_path: Path, paper: Press) -> None:
    page(paper, "/", *(f"/{number}" for number in range(5)))
    for number in range(5):
        page(paper, f"/{number}")
    site = Site(tmp_path / "w", paper.url("/"), request_delay=200)
    site.crawl()
    site.crawl()
    starts = sorted(request.at for request in paper.log if request.path != "/robots.txt")
    gaps = [later - earlier for earlier, later in pairwise(starts)][1:]
    assert len(gaps) == 4
    # The server notes a request a moment after it was sent: one may be late, the next in time.
    assert min(gaps) > 0.15
    assert sum(gaps) > 0.75
    site.close()


@pytest.mark.req("S3.59")
def test_a_server_that_takes_too_long_is_a_time_out(tmp_path: Path, paper: Press) -> None:
    def slow(_: Request) -> tuple[int, dict[str, str], bytes]:
        time.sleep(3.0)
        return 200, {}, b"too late"

    paper.routes["/"] = slow
    site = Site(tmp_path / "w", paper.url("/"), http_timeout=300)
    site._rig.query("UPDATE member SET http_timeout = 300")
    site.crawl()
    mask = site.members("error_mask")[paper.url("/")]
    assert isinstance(mask, int)
    assert mask >> ErrorBit.TIMEOUT & 1
    site.close()


def test_the_engine_beside_a_daemon_crawls_what_it_is_given_until_its_parent_ends(
    tmp_path: Path, paper: Press
) -> None:
    page(paper, "/", "/a")
    page(paper, "/a")
    site = Site(tmp_path / "w", paper.url("/"))
    site.close()
    engine = EngineProcess(tmp_path / "w", SETTINGS)
    engine.tend()
    try:
        with ServiceCatalog.open(
            tmp_path / "w" / "catalog.db", CatalogSettings(), shared=True
        ) as catalog:
            for path in ("/", "/a"):
                deadline = time.monotonic() + 30.0
                while not paper.asked(path):
                    catalog.make_batch(NORMAL, 10, time.time(), 60.0, 1)
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
        first = engine.process_id
        engine.tend()
        assert engine.process_id == first
    finally:
        engine.stop()
    assert engine.process_id is None


@pytest.mark.req("S3.63", "S3.64", "S3.65", "S3.66")
def test_contents_are_kept_as_files_of_the_site_in_utf8(tmp_path: Path, paper: Press) -> None:
    body = "<html><title>Straße</title><p>Grüße</p>".encode("latin-1")
    paper.routes["/"] = (200, {"Content-Type": "text/html; charset=iso-8859-1"}, body)
    site = Site(tmp_path / "w", paper.url("/"))
    raw = tmp_path / "w" / "raw"
    store = replace(SETTINGS.store, keep=False, raw_folder=str(raw))
    _, items = site._rig.catalog.make_batch(NORMAL, 9, time.time(), 60.0, 5)
    run_engine(tmp_path / "w", replace(SETTINGS, store=store), once=True, install_signals=False)
    assert len(items) == 1
    md5 = md5_of(paper.url("/")).hex()
    folder = raw / f"{1:032x}" / md5[:2] / md5[2:]
    names = sorted(file.name for file in folder.iterdir())
    assert [name.partition(".")[2] for name in names] == ["bin", "headers.txt", "request.txt"]
    stamps = {re.fullmatch(rf"{md5}_(\d{{20}})", name.partition(".")[0]) for name in names}
    assert None not in stamps
    assert (folder / names[0]).read_bytes().decode() == body.decode("latin-1")
    assert (folder / names[1]).read_bytes().startswith(b"HTTP/1.1 200 OK\r\n")
    assert (folder / names[2]).read_bytes().startswith(b"GET / HTTP/1.1\r\n")
    site.close()


def test_an_engine_that_cannot_have_its_folder_says_so_once_and_ends_in_good_order(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = EngineProcess(tmp_path / "w", SETTINGS)
    with locked(Workspace(tmp_path / "w"), SystemClock(), "crawl"):
        try:
            for starts in (1, 2, 3):
                engine.tend()
                assert engine.starts == starts
                assert ended(engine) == WorkspaceError.exit_code
            engine.tend()
        finally:
            engine.stop()
    (complaint,) = engine.take_complaints()
    assert f"(exit code {WorkspaceError.exit_code})" in complaint
    assert engine.take_complaints() == []
    said = capfd.readouterr().err
    assert "(crawl); wait for it" in said
    assert "Fatal" not in said


def ended(engine: EngineProcess) -> int:
    """Wait for the end of an engine; return its exit code."""
    assert engine._process is not None
    return engine._process.wait(60.0)
