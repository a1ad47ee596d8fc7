"""The crawler application: the ring driven by batches, judged by what the server was asked for."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from service_rig import wait_for

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.load import load
from gossamer.crawl.pipeline import locked
from gossamer.crawl.progress import Progress
from gossamer.crawl.report_log import ReportLog
from gossamer.crawl.stops import Stops
from gossamer.crawl.workspace import Workspace
from gossamer.errors import WorkspaceError
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.error_mask import ErrorBit
from gossamer.service.engine import run_engine
from gossamer.service.engine_process import EngineProcess, Orders, Pauses
from gossamer.store.reading import read_document
from gossamer.store.verify import verify_folder
from gossamer.url.parts import md5_of
from power_loss import lose_half_of_what_waits
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

    def __init__(self, directory: Path, *roots: str, **fields: object) -> None:
        directory.mkdir()
        (directory / "archive").mkdir()
        self.directory = directory
        rig = Sites(directory)
        self.set_id = rig.site(*roots, **fields)
        rig.now = time.time()
        self._rig = rig

    def filter(self, pattern: str, action: int = 1) -> None:
        self._rig.filter(self.set_id, pattern, action)

    def property(self, name: str, value: str) -> None:
        self._rig.property(self.set_id, name, value)

    def make_batch(self, size: int = 100) -> int:
        """Make one batch; return how many URLs are in it."""
        _, items = self._rig.catalog.make_batch(NORMAL, size, time.time(), 60.0, 5)
        return len(items)

    def crawl(self, size: int = 100) -> int:
        """Make one batch and crawl it; return how many URLs were in it."""
        count = self.make_batch(size)
        run_engine(self.directory, SETTINGS, once=True, install_signals=False)
        return count

    def written_down(self) -> int:
        """Return how many findings wait to be committed."""
        with closing(ReportLog(self.directory)) as log:
            return len(log.left(self._rig.catalog.last_run_id()))

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


STUCK = """
import sys, time

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.service.engine_process import main

def stuck(self, verdicts, *rest, **named):
    time.sleep(600)

SqliteCatalog.commit = stuck
sys.exit(main())
"""


def test_an_engine_after_a_loss_of_power_fetches_what_was_lost(
    tmp_path: Path, paper: Press
) -> None:
    """The findings that waited are there, and half of the bytes that they point to are not."""
    paths = [f"/{number}" for number in range(8)]
    page(paper, "/", *paths)
    for path in paths:
        page(paper, path)
    site = Site(tmp_path / "w", paper.url("/"))
    site.filter(f"^{paper.root}/")
    assert site.crawl() == 1
    assert site.make_batch() == len(paths)
    orders = msgspec.json.encode(Orders(str(site.directory), SETTINGS)) + b"\n"
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(orders)
        process.stdin.flush()
        while site.written_down() < len(paths):
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
    assert lose_half_of_what_waits(site.directory), "nothing was lost, so that nothing is proved"
    run_engine(site.directory, SETTINGS, once=True, install_signals=False)
    asked = Counter(request.path for request in paper.log)
    assert {asked[path] for path in paths} == {1, 2}, "what was lost, and nothing else"
    assert set(site.members().values()) == {CrawlStatus.CRAWLED}
    assert verify_folder(site.directory / "archive").sound
    with ServiceCatalog.open(
        site.directory / "catalog.db", CatalogSettings(), read_only=True
    ) as catalog:
        for row in catalog.rows():
            assert row.fetch is not None
            assert row.fetch.pointer is not None
            read_document(site.directory / "archive", row.fetch.pointer)
    site.close()


PLACES = """<html manifest=/manifest>
<head><link rel=stylesheet href=/style.css><script src=/script.js></script>
<link rel=icon href=/icon.png></head>
<body background=/ground.png><a href=/a>a</a><img src=/img.png srcset="/big.png 2x">
<iframe src=/iframe></iframe><map><area href=/area></map><q cite=/cite>q</q>
<embed src=/embed><object data=/object></object>
<video src=/film poster=/poster.png><track src=/track></video><audio src=/sound></audio>
<input type=image src=/input.png><button formaction=/form>x</button>
<p style="background: url(/inline.png)">p</p><a href="mailto:x@example.org">m</a>"""


@pytest.mark.req("S3.67")
def test_urls_are_collected_from_all_places_of_a_page(tmp_path: Path, paper: Press) -> None:
    paper.routes["/"] = (200, {"Content-Type": "text/html"}, PLACES.encode())
    site = Site(tmp_path / "w", paper.url("/"))
    assert site.crawl() == 1
    assert site.members().keys() == {
        paper.url(path)
        for path in (
            *("/", "/a", "/iframe", "/area", "/cite", "/form"),
            *("/manifest", "/style.css", "/script.js", "/embed", "/object", "/track"),
            *("/icon.png", "/ground.png", "/img.png", "/big.png", "/poster.png", "/input.png"),
            *("/film", "/sound", "/inline.png"),
        )
    }
    site.close()


@pytest.mark.req("S3.67")
def test_frames_are_collected(tmp_path: Path, paper: Press) -> None:
    body = b"<html><frameset><frame src=/one><frame src=/two></frameset></html>"
    paper.routes["/"] = (200, {"Content-Type": "text/html"}, body)
    site = Site(tmp_path / "w", paper.url("/"))
    assert site.crawl() == 1
    assert site.members().keys() == {paper.url(path) for path in ("/", "/one", "/two")}
    site.close()


@pytest.mark.req("S3.67")
def test_what_says_nofollow_is_not_collected(tmp_path: Path, paper: Press) -> None:
    html = {"Content-Type": "text/html"}
    listed = "<a href=/free>1</a><a rel=nofollow href=/marked>2</a><a href=/meta>3</a>"
    twice = "<a href=/header>4</a><a rel=nofollow href=/free>5</a>"
    paper.routes["/"] = (200, html, (listed + twice).encode())
    paper.routes["/free"] = (200, html, b"free")
    kept = b"<a href=/hidden>x</a><img src=/hidden.png>"
    paper.routes["/meta"] = (200, html, b"<meta name=robots content=nofollow>" + kept)
    paper.routes["/header"] = (200, {**html, "X-Robots-Tag": "nofollow"}, kept)
    site = Site(tmp_path / "w", paper.url("/"))
    assert [site.crawl() for _ in range(3)] == [1, 3, 0]
    assert site.members().keys() == {paper.url(path) for path in ("/", "/free", "/meta", "/header")}
    # They are counted all the same.
    assert site.members("links_i")[paper.url("/")] == 4
    site.close()


@pytest.mark.req("S3.67")
def test_what_says_nofollow_is_not_picked_either(tmp_path: Path, paper: Press) -> None:
    body = b"<ul><a rel=nofollow href=/marked>1</a><a href=/free>2</a></ul><a href=/other>3</a>"
    paper.routes["/"] = (200, {"Content-Type": "text/html"}, body)
    site = Site(tmp_path / "w", paper.url("/"))
    site.property("COLLECT_URLS_XPATH_LIST", '{"sets": {"*": ["//ul/a"]}}')
    assert site.crawl() == 1
    assert site.members().keys() == {paper.url(path) for path in ("/", "/free")}
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
def test_requests_are_as_far_apart_as_the_site_wants(tmp_path: Path) -> None:
    with FakeWeb(pages=20, hosts=1) as web:
        site = Site(tmp_path / "w", web.start_url, request_delay=200)
        assert site.crawl() == 1
        assert site.crawl(5) == 5
        # By when they reached the web, however late that came to look at them.
        assert len(web.log().requests) == 7
        assert judge.gap_violations(web.log(), 0.2) == []
    site.close()


@pytest.mark.req("S3.59")
def test_a_server_that_takes_too_long_is_a_time_out(tmp_path: Path, paper: Press) -> None:
    is_over = threading.Event()

    def slow(_: Request) -> tuple[int, dict[str, str], bytes]:
        is_over.wait(120.0)
        return 200, {}, b"too late"

    paper.routes["/"] = slow
    site = Site(tmp_path / "w", paper.url("/"), http_timeout=300)
    site._rig.query("UPDATE member SET http_timeout = 300")
    site.crawl()
    is_over.set()
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
                deadline = time.monotonic() + 180.0
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


@pytest.mark.req("S3.81", "S3.87")
def test_a_content_that_cannot_be_kept_is_an_error_of_its_url_alone(
    tmp_path: Path, paper: Press
) -> None:
    """A file lies where the folder of one URL belongs: the other one is none the worse for it."""
    good, bad = paper.url("/good"), paper.url("/bad")
    page(paper, "/good")
    page(paper, "/bad", "/found")
    site = Site(tmp_path / "w", good, bad)
    raw = tmp_path / "w" / "raw"
    store = replace(SETTINGS.store, keep=False, raw_folder=str(raw))
    in_the_way = raw / f"{1:032x}" / md5_of(bad).hex()[:2]
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_bytes(b"not a folder")
    site._rig.catalog.make_batch(NORMAL, 9, time.time(), 60.0, 5)
    run_engine(tmp_path / "w", replace(SETTINGS, store=store), once=True, install_signals=False)
    bits = 1 << ErrorBit.FILE_OPERATION | 1 << ErrorBit.RAW_NOT_STORED
    assert site.members("error_mask") == {good: 0, bad: bits}
    assert site.members("content_mask") == {good: 1, bad: 0}
    assert [paper.asked(path) for path in ("/good", "/bad")] == [1, 1]
    assert [file.name[:32] for file in raw.rglob("*.bin")] == [md5_of(good).hex()]
    assert list((raw / ".journal").iterdir()) == []
    site.close()


MISTAKES = {
    "/login": (ErrorBit.AUTHORIZATION_ERROR, (401, {"WWW-Authenticate": "Basic"}, b"no")),
    "/moved": (ErrorBit.BAD_REDIRECTION, (302, {"Location": "http://["}, b"")),
    "/coded": (ErrorBit.BAD_ENCODING, (200, {"Content-Encoding": "nonsense"}, b"<p>text")),
    "/turn": (
        ErrorBit.MAX_HTML_REDIRECTS,
        (200, {}, b'<html><meta http-equiv="refresh" content="0; url=/else">'),
    ),
}


@pytest.mark.req("S3.78", "S3.80", "S3.84", "S3.89")
def test_what_a_server_does_wrong_has_its_bit(tmp_path: Path, paper: Press) -> None:
    for path, (_, (status, headers, body)) in MISTAKES.items():
        paper.routes[path] = (status, {"Content-Type": "text/html"} | headers, body)
    urls = [paper.url(path) for path in MISTAKES]
    site = Site(tmp_path / "w", *urls)
    site.property("HTML_REDIRECTS_MAX", "0")
    assert site.crawl() == len(urls)
    masks = site.members("error_mask")
    for path, (bit, _) in MISTAKES.items():
        mask = masks[paper.url(path)]
        assert isinstance(mask, int)
        assert mask >> bit & 1, path
    assert paper.asked("/else") == 0
    site.close()


TEXTS = {
    "/thai": ("text/html; charset=windows-874", "<p>สวัสดี", "cp874"),
    "/japanese": ("text/html; charset=Shift_JIS", "<p>①髙橋", "cp932"),
    "/plain": ("text/plain; charset=windows-1251", "Привет", "cp1251"),
    "/garbled": ("text/html; charset=utf-8", "<p>" + "Привет" * 20, "cp1251"),
}


@pytest.mark.req("S3.59", "S3.64", "S3.77")
def test_texts_are_kept_in_utf8_and_what_cannot_be_read_is_an_error(
    tmp_path: Path, paper: Press
) -> None:
    for path, (kind, text, codec) in TEXTS.items():
        paper.routes[path] = (200, {"Content-Type": kind}, text.encode(codec))
    site = Site(tmp_path / "w", *map(paper.url, TEXTS))
    raw = tmp_path / "w" / "raw"
    store = replace(SETTINGS.store, keep=False, raw_folder=str(raw))
    site._rig.catalog.make_batch(NORMAL, 9, time.time(), 60.0, 5)
    run_engine(tmp_path / "w", replace(SETTINGS, store=store), once=True, install_signals=False)
    masks, charsets = site.members("error_mask"), site.members("charset")
    for path, (kind, text, _) in TEXTS.items():
        url = paper.url(path)
        is_wrong = path == "/garbled"
        assert masks[url] == is_wrong << ErrorBit.CODE_PAGE_CONVERSION
        assert str(charsets[url]).lower() == kind.partition("=")[2].lower()
        if not is_wrong:
            (file,) = raw.rglob(f"{md5_of(url).hex()}_*.bin")
            assert file.read_bytes().decode() == text
    assert site.field("error_mask") == 1 << ErrorBit.CODE_PAGE_CONVERSION
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


def test_an_engine_that_waits_for_room_on_the_disk_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A service that crawls nothing must not be silent about it."""
    store = replace(SETTINGS.store, reserve_bytes=1 << 50)
    engine = EngineProcess(tmp_path / "w", replace(SETTINGS, store=store))
    said: list[str] = []

    def has_spoken() -> bool:
        said.append(capfd.readouterr().err)
        return "\n" in "".join(said)

    try:
        engine.tend()
        wait_for(has_spoken, "a word about the disk")
    finally:
        engine.stop()
    words = "".join(said)
    assert words.startswith("gossamer: crawling has paused: disk: ")
    assert f"free on the disk of {tmp_path / 'w'}" in words


def test_a_pause_is_told_once_and_so_is_its_end() -> None:
    stops = Stops()
    stops.pause_detail = "0 MiB free"
    said: list[str] = []
    pauses = Pauses(stops, said.append)
    for state in ("running", "paused: disk", "paused: disk", "running", "running"):
        pauses.look_at(Progress(state=state))
    assert said == [
        "crawling has paused: disk: 0 MiB free",
        "there is room again: crawling goes on",
    ]


def ended(engine: EngineProcess) -> int:
    """Wait for the end of an engine; return its exit code."""
    assert engine._process is not None
    return engine._process.wait(60.0)
