"""Graphviz renders the graph, and shows crawled text as it is."""

import io
import re
import shutil
import subprocess
from xml.etree import ElementTree as ET

import pytest
from map_samples import HOSTILE_PATHS, SITE, hostile, page, realistic, site_map_of, small

from gossamer.site.formats import dot
from gossamer.wording import shortened

XLINK = "{http://www.w3.org/1999/xlink}"
SVG = "{http://www.w3.org/2000/svg}"
needs_graphviz = pytest.mark.skipif(
    shutil.which("dot") is None, reason="there is no Graphviz here (Debian package graphviz)"
)


def written(site_map) -> bytes:
    file = io.BytesIO()
    dot.write(site_map, file)
    return file.getvalue()


def rendered(site_map) -> ET.Element:
    done = subprocess.run(
        ["dot", "-Tsvg"], input=written(site_map), capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    # Whatever else it complains about, it understood the file.
    assert b"syntax error" not in done.stderr
    return ET.fromstring(done.stdout)


def labels(svg: ET.Element) -> list[str]:
    nodes = [group for group in svg.iter(SVG + "g") if group.get("class") == "node"]
    return ["".join(text.text or "" for text in node.iter(SVG + "text")) for node in nodes]


def edges(svg: ET.Element) -> int:
    return sum(group.get("class") == "edge" for group in svg.iter(SVG + "g"))


@needs_graphviz
def test_a_small_site_is_drawn_with_tree_aliases_and_links():
    svg = rendered(small())
    assert labels(svg) == ["/", "/about", "/index.html", "/old", "/gone (404)"]
    assert edges(svg) == 4 + 2


@needs_graphviz
def test_hostile_text_is_shown_literally():
    site_map = hostile()
    shown = labels(rendered(site_map))
    assert len(shown) == len(site_map.pages)
    for path in HOSTILE_PATHS:
        assert shortened(path, 48) in shown


@needs_graphviz
def test_a_link_of_the_picture_leads_to_the_page_and_is_nothing_else():
    svg = rendered(site_map_of([page("/a'b\"c<d>?x=1&y=2", title='" onload="x')]))
    anchors = list(svg.iter(SVG + "a"))
    assert [set(anchor.keys()) for anchor in anchors] == [{XLINK + "href", XLINK + "title"}]
    assert anchors[0].get(XLINK + "href") == SITE + "/a%27b%22c%3Cd%3E?x=1&y=2"
    assert anchors[0].get(XLINK + "title") == '" onload="x'


@needs_graphviz
def test_a_site_of_300_pages_is_rendered():
    site_map = realistic()
    assert len(labels(rendered(site_map))) == 300


def test_links_beside_the_tree_are_drawn_while_they_are_few():
    pages = [page("/", parent=None, depth=0), page("/a"), page("/b", links=[SITE + "/a"])]
    assert b"  p2 -> p1 [constraint=false" in written(site_map_of(pages))


def test_many_links_beside_the_tree_are_left_out():
    pages = [page("/", parent=None, depth=0)] + [page(f"/{n}") for n in range(40)]
    for one in pages[1:]:
        one.links = [other.url for other in pages]
    text = written(site_map_of(pages)).decode()
    assert "left out" in text
    assert len(re.findall(r"->", text)) == 40


def test_an_empty_map_is_an_empty_graph():
    assert written(site_map_of([])).endswith(b"\n}\n")
