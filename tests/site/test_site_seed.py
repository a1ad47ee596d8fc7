"""The parts that the requirements name: page, parent, children, html, queue, batch, fetcher."""

import ast
import hashlib
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from site_rig import Asked, Site, page, paths, run_site, site_map
from warcio.archiveiterator import ArchiveIterator

from gossamer.site.model import Page, SiteMap
from gossamer.site.tree import Tree

ROOT = Path(__file__).parents[2]

SITE = {
    "/": page("/a?x=1", "/b", title="Start"),
    "/a?x=1": page("/a?x=2", "/", title="A"),
    "/a?x=2": page("/deep/er?q=%C3%BC", "/b", title="A2"),
    "/b": page("/a?x=1", "/deep/er?q=%C3%BC", title="B"),
    "/deep/er?q=%C3%BC": page(title="D"),
}
PARENTS = {
    "/": None,
    "/a?x=1": "/",
    "/b": "/",
    "/a?x=2": "/a?x=1",
    "/deep/er?q=%C3%BC": "/b",
}


def lines_with_parents(text: str, root: str) -> Iterator[tuple[str, str | None]]:
    """Yield each page of a plain tree by what its line says, with what its parent's line says."""
    above: list[str] = []
    for line in text.partition("\n\n")[0].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        shown = line.split()[0].removeprefix(root[:-1])
        del above[depth:]
        yield shown, above[-1] if above else None
        above.append(shown)


@pytest.mark.req("S2.10", "S2.13")
def test_a_page_and_its_parent_are_shown_by_path_and_query():
    """Only the start page, which stands for the site, has its host; no page is shown twice."""
    with Site(SITE) as site:
        tree = run_site(site.url()).stdout
    shown = list(lines_with_parents(tree, site.url()))
    assert dict(shown) == PARENTS
    assert len(shown) == len(PARENTS)
    assert tree.count(f":{site.port}") == 1 + tree.partition("Summary")[2].count(f":{site.port}")


@pytest.mark.req("S2.11", "S2.15", "S2.17", "S2.39")
def test_every_page_refers_to_its_parent_which_has_it_among_its_children():
    with Site(SITE) as site:
        found = site_map(site.url())
    pages = msgspec.convert(found["pages"], list[Page])
    tree = Tree(SiteMap(site.url(), "", pages, 0.0, complete=True))
    assert tree.root is pages[0]
    children = {
        name: {child.url: child for child in tree.children(tree.by_url[site.url(name)])}
        for name in SITE
    }
    for name, parent in PARENTS.items():
        one = tree.by_url[site.url(name)]
        assert one.parent == (None if parent is None else site.url(parent))
        if one.parent is not None:
            assert children[parent][one.url] is one
            assert tree.by_url[one.parent].depth == one.depth - 1
    assert sum(map(len, children.values())) == len(pages) - 1


@pytest.mark.req("S2.16")
def test_the_html_of_a_page_is_kept_only_when_asked_for(tmp_path):
    """And then it is what the server sent; otherwise it is gone once the page is parsed (B15)."""
    kept = tmp_path / "kept"
    with Site(SITE) as site:
        found = site_map(site.url(), "--keep", str(kept))
        loose = site_map(site.url())
    html: dict[str, bytes] = {}
    for file in (kept / "archive").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    html[url] = record.content_stream().read()
    assert {url: html[url] for url in found["by_url"]} == {
        site.url(path): text.encode() for path, text in SITE.items()
    }
    for each in found["pages"]:
        assert each["checksum"] == hashlib.sha256(html[each["url"]]).hexdigest()
    assert all("html" not in each for each in loose["pages"])
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.req("S2.20", "S2.41")
def test_pages_wait_in_a_queue_and_not_on_a_stack():
    """First found, first fetched (B2): no page of a level goes out before all of the one above."""

    def answer(path: str):
        name = path[1:]
        if path == "/robots.txt" or len(name) > 2:
            return None
        below = [f"/{name}{letter}" for letter in "abcde"] if len(name) < 2 else []
        return page(*below, title=f"The page {name or 'at the top'}")

    with Site(answer) as site:
        found = site_map(site.url(), "--concurrency", "1")
    asked = [each.path for each in site.asked if each.path not in ("/robots.txt", "/sitemap.xml")]
    levels = [["/"], [f"/{one}" for one in "abcde"]]
    levels.append([f"/{one}{two}" for one in "abcde" for two in "abcde"])
    assert asked == [path for level in levels for path in level]
    assert paths(found) == asked


@pytest.mark.req("S2.6", "S2.8", "S2.25", "S2.26")
def test_a_page_that_takes_long_holds_up_no_other():
    """No barrier (B3): the next page is taken when a place is free, and its content comes in.

    Of two requests that may be open one is not answered before all others have been, one after
    another: 40 pages in a row, each of which only the one before names.
    """
    last_was_asked = threading.Event()
    in_time: list[bool] = []

    def answer(asked: Asked) -> str:
        if asked.path == "/slow":
            in_time.append(last_was_asked.wait(30))
            return page(title="slow")
        number = int(asked.path[1:] or 0)
        if number == 40:
            last_was_asked.set()
            return page(title="last")
        more = ["/slow"] if number == 0 else []
        return page(*more, f"/{number + 1}", title="row " + "x" * number)

    names = {"/": answer, "/slow": answer} | {f"/{number}": answer for number in range(1, 41)}
    with Site(names) as site:
        found = site_map(site.url(), "--concurrency", "2")
    assert in_time == [True]
    titles = {each["title"] for each in found["pages"]}
    assert titles == {"slow", "last", "row", *("row " + "x" * number for number in range(1, 40))}
    assert all(each["bytes"] and each["checksum"] for each in found["pages"])


@pytest.mark.req("S2.6", "S2.34")
@pytest.mark.parametrize("concurrency", [1, 3])
def test_connections_are_used_again(concurrency):
    """As many as may be open at once, for 150 pages; robots.txt has one of its own."""

    def answer(path: str):
        number = int(path[1:]) if path[1:].isdecimal() else 0
        if path == "/robots.txt" or number > 150:
            return None
        return page(f"/{2 * number + 1}", f"/{2 * number + 2}", title="t" * number)

    with Site(answer) as site:
        found = site_map(site.url(), "--concurrency", str(concurrency))
    assert found["summary"]["pages"] == 151
    assert len({each.peer for each in site.asked}) <= concurrency + 1


@pytest.mark.req("S2.45")
def test_what_the_seed_named_has_its_counterpart_in_one_room_each():
    """Promises and requests: an HTTP library that waits for many at once. PolyBot: names and the
    choice of what to fetch are apart from how it is fetched.
    """
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {"pycurl", "pycares"} <= {line.partition(">")[0] for line in declared}
    users: dict[str, set[str]] = {}
    for path in (ROOT / "src" / "gossamer").rglob("*.py"):
        room = path.relative_to(ROOT / "src" / "gossamer").parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                users.setdefault(name.split(".")[0], set()).add(room)
    assert users["pycares"] == {"urlserver"}
    assert {"spider"} <= users["pycurl"]
    assert users["pycurl"].isdisjoint({"site", "crawl", "catalog", "urlserver", "parse", "store"})
    decision = (ROOT / "docs" / "decisions" / "site.md").read_text(encoding="utf-8")
    assert all(word in decision for word in ("pycurl", "pycares", "PolyBot"))
