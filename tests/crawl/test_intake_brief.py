"""Ordinary pages take the short way to the same findings, and leave the same memories behind."""

from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import ManualClock
from gossamer.config.settings import Settings
from gossamer.crawl.intake import Intake, archive_store
from gossamer.crawl.link import Assignment, Report, Tag, decode_report, frame
from gossamer.crawl.watch import Watch
from gossamer.handlers.findings import Finder
from gossamer.handlers.recent import Recent
from gossamer.messages import Fetch, Findings, Kind, News, Pointer, Visit
from gossamer.outcomes import Outcome
from gossamer.parse import skim
from gossamer.site.observation import HANDLER
from gossamer.url import plain
from gossamer.url.plain import KEY_BYTES

pytestmark = pytest.mark.skipif(
    not (plain.is_compiled() and skim.is_compiled()), reason="there is no short way"
)
HOME = "http://h.example/"
DOCUMENTATION = {
    "pike8.0-doc": "/usr/share/doc/pike8.0-doc/html/reference",
    "openjdk-17-jre-headless": "/usr/share/doc/openjdk-17-jre-headless/api",
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
}
# In these nearly all pages are ordinary.
ORDINARY = ("pike8.0-doc", "openjdk-17-jre-headless", "postgresql-doc-15", "git-doc")
_PAGES_OF_EACH = 200
NOWHERE = Pointer("", 0, 0)

REFERENCES = (
    *("a", "b.html", "../d/b.html", "/d/e/f.html", "c/", "g1.html", "g2.html", "g3", "x?p=1") * 5,
    *("", "#f", "b.html#g", "./a", "?q=1", "&amp;", "a b", "%41", "é", "/é?é=ü", "//h.example/y"),
    *("mailto:x@y", "javascript:1", "http://o.example/", "https://h.example/", HOME + "a", HOME),
    *("../" * 9 + "a", "a/" * 9, "x" * 300, "http://h.example:22/", "HTTP:z", "data:,", "&#13;a"),
)
SOURCES = (
    *("s.css", "../t.css", "/u.css") * 4,
    "?v=1",
    "https://cdn.example/w.css",
    "é.css",
    "http:s.css",
)
TITLES = (
    *("One", "Two. ", "one!", "Page 7", "Page 8", "May 3, 2020", "June 4, 2021", "g1", "g2", " "),
    *("&eacute;t&eacute;", "Ω", "a3f2a9b1 is", "x" * 9_000, "", "Tom &amp; Jerry; or\nnot?"),
)
PATHS = (
    *("", "a", "b.html", "d/b.html", "d/e/f.html", "g1.html", "g2.html", "d/a3f2a9b1.html"),
    *("d/a4f2a9b2.html", "c/", "x?p=1", "x?p=2&q=3", "a%20b/c", "d/" * 5 + "i.html", "x" * 300),
)
HEADS = (
    *("<link rel=canonical href=a>", "<meta name=robots content=nofollow>", "<base href=/d/>"),
    *("<meta http-equiv=refresh content='0;url=b.html'>", "<link rel=next href=b.html>"),
    *("<meta charset=iso-8859-1>", "<meta name=description content='Says &quot;it&quot; — all'>"),
    *("<meta name=description content=''>", "<link rel=alternate hreflang=de href=de>"),
)
HEADERS = (
    *(("x-robots-tag", "nofollow"), ("link", '<c>; rel="canonical"'), ("refresh", "0;url=a")),
    *(("etag", '"1"'), ("etag", '"2"'), ("last-modified", "Sun, 07 Aug 2022 22:07:15 GMT")),
)
TYPES = (
    *("text/html",) * 20,
    *("text/html; charset=utf-8", "text/html;charset=iso-8859-1", "application/xhtml+xml"),
    *("text/plain", ""),
)


def page_by_lot(random: Random) -> bytes:
    """Return a page that is mostly ordinary."""
    choice, chance = random.choice, random.random
    head = f"<title>{choice(TITLES)}</title>" if chance() < 0.9 else ""
    for source in random.choices(SOURCES, k=choice((0, 0, 1, 2))):
        head += f'<link rel="stylesheet" href="{source}">'
    head += f"<script src='{choice(('s.js', 's.js', '#'))}'></script>" if chance() < 0.3 else ""
    head += choice(HEADS) if chance() < 0.2 else ""
    body = "".join(
        f'<p>{choice(("Some. ", "More 1", "Words;"))}<a href="{reference}">{choice("xyz")}</a>'
        for reference in random.choices(REFERENCES, k=random.randint(0, 6))
    )
    body += "<a rel=nofollow href=b.html>no</a>" if chance() < 0.05 else ""
    body += '<img src="i.png"><img src="../i.png">' if chance() < 0.2 else ""
    start = choice(("<!DOCTYPE html>", "<!DOCTYPE html>", "<html>", "<?xml version='1.0'?>", ""))
    return f"{start}{head}<body>{body}\n".encode()


def fetch_by_lot(random: Random, number: int) -> Fetch:
    """Return what came of a visit, mostly that of a page."""
    choice, chance = random.choice, random.random
    is_odd = chance() < 0.1
    body = b"" if is_odd and chance() < 0.1 else page_by_lot(random)
    visit = Visit(
        number, number, "192.0.2.1", HOME + choice(PATHS), depth=choice((0, 1, 2)),
        kind=int(choice((Kind.PAGE, Kind.SITEMAP, Kind.ASSET))) if is_odd else 0,
    )  # fmt: skip
    headers = (("server", "x"), ("content-type", choice(TYPES)))
    return Fetch(
        visit=visit,
        outcome=choice((Outcome.OK, Outcome.OK_PARTIAL)) if is_odd else Outcome.OK,
        detail=choice(("", "d" * 600)) if is_odd else "",
        status=choice((200, 203, 206, 301, 404)) if is_odd else 200,
        head=b"HTTP/1.1 200 OK\r\n\r\n",
        headers=headers + tuple(random.sample(HEADERS, choice((0, 0, 0, 0, 0, 1, 3)))),
        raw=body,
        body=body,
        fetched_at=float(number),
        redirect_to=HOME + "a" if is_odd and chance() < 0.2 else None,
        retry_after_seconds=1.5 if is_odd else None,
    )


def document_fetches(package: str) -> list[Fetch]:
    """Return fetches of pages that lie beside each other in a package."""
    folder = Path(DOCUMENTATION[package])
    files = [file for file in sorted(folder.rglob("*.html")) if file.is_file()]
    if not files:
        pytest.skip(f"apt install {package}")
    middle = len(files) // 2
    fetches = []
    for number, file in enumerate(files[max(0, middle - _PAGES_OF_EACH) :][:_PAGES_OF_EACH], 1):
        body = file.read_bytes()
        visit = Visit(number, number, "192.0.2.1", f"{HOME}{file.relative_to(folder)}")
        fetches.append(
            Fetch(
                visit=visit,
                outcome=Outcome.OK,
                status=200,
                head=b"HTTP/1.1 200 OK\r\n\r\n",
                headers=(("content-type", "text/html"), ("etag", f'"{number}"')),
                raw=body,
                body=body,
            )
        )
    return fetches


class Way:
    """An intake, and what it reports."""

    def __init__(self, stack: ExitStack, folder: Path, settings: Settings, *, brief: bool) -> None:
        folder.mkdir()
        catalog = str(folder / "catalog.db")
        SqliteCatalog.open(catalog, settings.catalog).close()
        assignment = Assignment("w1", str(folder), catalog, "", settings, (HOME,), b"", syncs=False)
        clock = ManualClock()
        store = archive_store(assignment, clock)
        self._intake = Intake(assignment, store, Watch.make(), clock, self._hear)
        stack.enter_context(closing(self._intake))
        assert self._intake._is_brief
        self._intake._is_brief = brief
        self.finder.limit_memories()
        self.reports: list[Report] = []

    @property
    def finder(self) -> "SmallFinder":
        finder = self._intake._finder
        assert isinstance(finder, SmallFinder)
        return finder

    def take(self, fetches: list[Fetch]) -> list[Findings]:
        self._intake.step(fetches)
        self._intake.flush()
        return self.reports[-1].findings

    def _hear(self, tag: Tag, payload: object) -> None:
        assert tag is Tag.REPORT
        report = decode_report(frame(tag, payload)[5:])
        # Where exactly in a file something is depends on names that are never the same.
        findings = [
            each if each.pointer is None else replace(each, pointer=NOWHERE)
            for each in report.findings
        ]
        self.reports.append(Report(report.done, findings))


class SmallFinder(Finder):
    """A finder that forgets soon, and counts what went the short way."""

    short = 0

    def limit_memories(self) -> None:
        self._recent = Recent(40)
        self._on_probation = Recent(10)

    def of_ordinary(self, *arguments) -> Findings | None:
        made = super().of_ordinary(*arguments)
        self.short += made is not None
        return made

    def memories(self, keys: bytes) -> tuple:
        desk = self._news_desk._said
        sets = [self._recent, self._on_probation]
        held = [(len(each), [half.absent(keys) for half in each.generations]) for each in sets]
        return held, dict(desk), desk._old, desk._bytes, desk.turn


@pytest.fixture
def ways(monkeypatch, tmp_path):
    """Make the short way and the long one, with the same settings."""
    monkeypatch.setattr("gossamer.crawl.intake.Finder", SmallFinder)
    with ExitStack() as stack:

        def make(settings: Settings) -> tuple[Way, Way]:
            number = len(list(tmp_path.iterdir()))
            return (
                Way(stack, tmp_path / f"{number}", settings, brief=True),
                Way(stack, tmp_path / f"{number + 1}", settings, brief=False),
            )

        yield make


def settings_with(*, is_map: bool, **tables: dict) -> Settings:
    """Return settings of a map, or of a crawl with an archive."""
    if is_map:
        tables["store"] = {"keep": False}
        tables["handlers"] = {"use": (HANDLER,), **tables.get("handlers", {})}
    settings = Settings()
    changed = {
        name: replace(getattr(settings, name), **entries) for name, entries in tables.items()
    }
    return replace(settings, **changed)


def assert_alike(short: Way, long: Way, fetches: list[Fetch]) -> list[Findings]:
    """Let both take the same, in groups of several sizes."""
    all_findings: list[Findings] = []
    keys = b""
    while fetches:
        group, fetches = (
            fetches[: 1 + len(all_findings) % 11],
            fetches[1 + len(all_findings) % 11 :],
        )
        findings = short.take(group)
        assert findings == long.take(group)
        assert short.reports == long.reports
        keys = (keys + b"".join(each.targets for each in findings))[-500 * KEY_BYTES :]
        assert short.finder.memories(keys) == long.finder.memories(keys)
        all_findings += findings
    assert long.finder.short == 0
    return all_findings


@pytest.mark.parametrize("is_map", [True, False], ids=["map", "crawl"])
@pytest.mark.parametrize("seed", range(4))
def test_pages_by_lot_are_found_alike(ways, is_map, seed):
    random = Random(seed)
    short, long = ways(settings_with(is_map=is_map))
    findings = assert_alike(short, long, [fetch_by_lot(random, each) for each in range(1, 600)])
    assert short.finder.short > 200
    # Otherwise all memories and verdicts would have been compared with nothing.
    assert {each.news for each in findings} == set(map(int, News))
    assert any(item.probation for each in findings for item in each.found)
    assert {item.outcome for each in findings for item in each.found} > {None}
    assert not any(each.outcome == Outcome.INTERNAL for each in findings)


@pytest.mark.parametrize("is_map", [True, False], ids=["map", "crawl"])
@pytest.mark.parametrize(
    ("tables", "share"),
    [
        ({"url": {"max_bytes": 256}}, 0.2),
        ({"url": {"sort_query": True}}, 0.2),
        ({"crawl": {"scope": "any", "max_depth": 1}}, 0.2),
        ({"crawl": {"include": ("b",), "exclude": ("d/e",)}}, 0.2),
        ({"parse": {"max_links": 3, "near_duplicates": False}}, 0.1),
        ({"parse": {"max_bytes": 1_024, "obey_robots_meta": False}}, 0.1),
        ({"handlers": {"follow_nofollow": True}}, 0.2),
        ({"handlers": {"follow_assets": True}}, 0.0),
        ({"handlers": {"follow_links": False}}, 0.0),
    ],
)
def test_they_are_found_alike_under_other_settings(ways, is_map, tables, share):
    random = Random(9)
    short, long = ways(settings_with(is_map=is_map, **tables))
    assert_alike(short, long, [fetch_by_lot(random, each) for each in range(1, 200)])
    assert short.finder.short >= 200 * share
    assert share or not short.finder.short


@pytest.mark.parametrize("is_map", [True, False], ids=["map", "crawl"])
@pytest.mark.parametrize("package", DOCUMENTATION)
def test_documentation_is_found_alike_and_mostly_by_the_short_way(ways, package, is_map):
    fetches = document_fetches(package)
    short, long = ways(settings_with(is_map=is_map))
    findings = assert_alike(short, long, fetches)
    assert len(findings) == len(fetches) > 100
    if package in ORDINARY:
        assert short.finder.short > 0.8 * len(fetches)


@pytest.mark.parametrize(
    "uses", [("other",), (HANDLER, "other"), ("other", HANDLER)], ids=["own", "after", "before"]
)
def test_handlers_of_the_users_own_are_shown_whole_pages(monkeypatch, tmp_path, uses):
    script = tmp_path / "own.py"
    script.write_text("def see(page):\n    return [{'links': len(page.links)}]\n")
    names = tuple(f"{script}:see" if name == "other" else name for name in uses)
    settings = settings_with(is_map=True, handlers={"use": names})
    heard: list[Report] = []
    assignment = Assignment("w1", str(tmp_path), "", "", settings, (HOME,), b"", syncs=False)
    intake = Intake(
        assignment, None, Watch.make(), ManualClock(), lambda _, report: heard.append(report)
    )
    body = b"<!DOCTYPE html><title>x</title><a href=a>a</a><a href=b>b</a>"
    visit = Visit(1, 1, "192.0.2.1", HOME)
    headers = (("content-type", "text/html"),)
    fetch = Fetch(visit, Outcome.OK, status=200, headers=headers, body=body, raw=body)
    intake.step([fetch])
    intake.flush()
    (findings,) = heard[0].findings
    assert '{"links":2}' in findings.records
    assert len(findings.records) == len(uses)
