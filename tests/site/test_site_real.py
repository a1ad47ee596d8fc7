"""`gossamer site` on real documentation: the map equals what independent readers of it say.

Which pages there are is worked out from the files (`reference.py`); which assets a page has is also
asked of Chromium. Of each site some sixty pages go through the browser: the largest, those with the
rarest elements, and others by lot. GOSSAMER_ALL_PAGES=1 lets it read them all, which takes minutes.
"""

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import browser_assets
import chromium
import pytest
from reference import Reference
from site_rig import Files, Site, site_map

DOCUMENTATION = {
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
    "libtiff-doc": "/usr/share/doc/libtiff-doc/manual",
}
LARGEST, ODDEST, BY_LOT = 10, 20, 30


class Crawled(NamedTuple):
    """A site that is still served, and the map of it."""

    site: Site
    files: Files
    found: dict
    asked: dict[str, int]
    """How often the crawl asked for each path."""


@pytest.fixture(scope="module", params=DOCUMENTATION)
def crawled(request: pytest.FixtureRequest) -> Iterator[Crawled]:
    folder = Path(DOCUMENTATION[request.param])
    if not (folder / "index.html").is_file():
        pytest.skip(f"apt install {request.param}")
    files = Files(folder, {"Content-Security-Policy": browser_assets.POLICY})
    with Site(files) as site:
        found = site_map(site.url(), "--workers", "1")
        yield Crawled(site, files, found, dict(site.counts()))


def assets_of(page: dict) -> set[tuple[str, str]]:
    return {(kind, each) for kind, urls in page["assets"].items() for each in urls}


@pytest.mark.req("S2.1", "S2.4", "S2.5", "S2.27", "S2.28", "S2.42")
def test_the_map_of_real_documentation_is_complete(crawled):
    """Every page that can be reached, none that cannot, and on each its assets: 100 %."""
    found = crawled.found
    reference = Reference(crawled.site.url(), crawled.files.file_of)
    pages = {each["url"]: each for each in found["pages"] if each["error"] is None}
    assert found["summary"]["complete"]
    assert set(pages) ^ set(reference.pages) == set()
    assert {each["url"] for each in found["errors"]} == reference.missing
    # Each was asked for once, and nothing else was, but robots.txt and a sitemap.
    assert set(crawled.asked.values()) == {1}
    paths = {url.removeprefix(crawled.site.url()[:-1]) for url in (*pages, *reference.missing)}
    assert set(crawled.asked) - paths == {"/robots.txt", "/sitemap.xml"}
    for url, expected in reference.pages.items():
        assert assets_of(pages[url]) == expected, url


@pytest.mark.req("S2.4", "S2.14", "S2.27")
def test_the_assets_of_a_page_are_those_of_a_browsers_dom(
    crawled: Crawled, tab: chromium.Tab
) -> None:
    documents = {
        each["url"]: each
        for each in crawled.found["pages"]
        if each["error"] is None and each["content_type"].startswith("text/html")
    }
    chosen = list(documents) if os.environ.get("GOSSAMER_ALL_PAGES") else sample(crawled, documents)
    assert len(chosen) >= min(len(documents), LARGEST + ODDEST + BY_LOT)
    different = {}
    for url in chosen:
        ours, theirs = assets_of(documents[url]), browser_assets.assets_in(tab, url)
        if ours != theirs:
            different[url] = {"only we": ours - theirs, "only the browser": theirs - ours}
    assert different == {}


def sample(crawled: Crawled, documents: dict[str, dict]) -> list[str]:
    """Return the largest pages, one with each of the rarest elements, and others by lot."""
    by_size = sorted(documents, key=lambda url: -documents[url]["bytes"])
    chosen = dict.fromkeys(by_size[:LARGEST])
    holders: dict[str, list[str]] = {}
    for url in documents:
        path = url.removeprefix(crawled.site.url()[:-1])
        file = crawled.files.file_of(path)
        assert file is not None
        for element in set(re.findall(rb"<([a-zA-Z][^\s/>]*)", file.read_bytes())):
            holders.setdefault(element.decode("ascii", "replace").lower(), []).append(url)
    rarest = sorted(holders.values(), key=len)[:ODDEST]
    chosen.update(dict.fromkeys(urls[0] for urls in rarest))
    others = [url for url in documents if url not in chosen]
    lot = random.Random(4)  # The same pages each time.
    wanted = LARGEST + ODDEST + BY_LOT - len(chosen)
    return [*chosen, *lot.sample(others, min(wanted, len(others)))]
