"""The tree is for people: readable in a pipe, drawn on a terminal, steered by nobody."""

import io
import re
from dataclasses import replace

import pytest
from map_samples import (
    HOSTILE_TITLES,
    SITE,
    chain,
    hostile,
    page,
    realistic,
    site_map_of,
    small,
)
from rich.cells import cell_len

from gossamer.site.formats import csv, markdown, tree
from gossamer.site.formats.paint import DRAWN

ANSI = re.compile(r"\x1b\[\d+m")


def written(site_map, **options) -> str:
    file = io.BytesIO()
    tree.write(site_map, file, **options)
    return file.getvalue().decode()


@pytest.mark.req("S2.3", "S2.4", "S2.39")
def test_plain_text_is_indented_with_the_assets_of_each_page():
    assert written(small()) == (
        "https://docs.example.org/  Welcome\n"
        "  img    /logo.svg\n"
        "  img    https://cdn.example.net/a.png\n"
        "  css    /style.css\n"
        "  /about  About us\n"
        "    js     /app.js\n"
        "  /index.html  = /\n"
        "  /old  -> /about\n"
        "\n"
        "Errors (1)\n"
        "  404  /gone  404 Not Found\n"
        "       linked from /, /about and 5 more\n"
        "\n"
        "Summary\n"
        "  Pages    2\n"
        "  Aliases  2\n"
        "  Assets   4 (2 img, 1 css, 1 js)\n"
        "  Errors   1\n"
        "  Depth    1\n"
        "  Size     62 kB\n"
        "  Time     4.2 s, 1.2 pages/s\n"
    )


WIDE = "\u65e5\u672c\u8a9e" * 40
TITLES = [WIDE, "plain words " * 20, "e\u0301" * 200, "\U0001f469\u200d\U0001f467 " * 30, "short"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_titles_are_cut_to_the_width_of_the_terminal(width):
    """Wide characters count twice; a URL is whole, and its title has 20 columns at least."""
    pages = [page("/", parent=None, depth=0, title=WIDE)]
    pages += [page(f"/{number}", title=title) for number, title in enumerate(TITLES)]
    pages += [page("/" + "long/" * 60, title="After a long URL, and " * 2)]
    shown = list(tree.lines(site_map_of(pages), replace(DRAWN, width=width)))[: len(pages)]
    assert max(map(cell_len, shown[1:-1])) <= width
    assert shown[1].endswith("…")
    assert cell_len(shown[1]) >= min(width - 3, 150)
    assert shown[len(TITLES)].endswith("/4  short")
    assert "long/" * 60 in shown[-1]
    assert shown[-1].endswith("  After a long URL, a…")


def test_a_title_keeps_what_joins_its_letters():
    """Without them an emoji falls into its parts, and Persian into other words."""
    title = "\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e"
    pages = site_map_of([page("/", parent=None, depth=0, title=title)])
    assert title in written(pages)
    for other in (csv, markdown):
        file = io.BytesIO()
        other.write(pages, file)
        assert title in file.getvalue().decode()


def test_a_terminal_gets_lines_icons_and_colours():
    shown = written(small(), terminal=True)
    lines = ANSI.sub("", shown).split("\n")
    assert lines[:8] == [
        "🏠 https://docs.example.org/  Welcome",
        "│  📷 img    /logo.svg",
        "│  📷 img    https://cdn.example.net/a.png",
        "│  🎨 css    /style.css",
        "├─ 📄 /about  About us",
        "│     📜 js     /app.js",
        "├─ 🔗 /index.html  = /",
        "└─ 🔀 /old  → /about",
    ]
    assert ANSI.search(shown)


def test_a_terminal_without_colours_gets_the_drawing_only():
    coloured = written(realistic(), terminal=True)
    assert written(realistic(), terminal=True, colours=False) == ANSI.sub("", coloured)


def test_deep_levels_are_drawn_in_line():
    pages = [
        page("/", parent=None, depth=0),
        page("/a"),
        page("/a/b", parent=SITE + "/a", depth=2),
        page("/a/b/c", parent=SITE + "/a/b", depth=3),
        page("/a/d", parent=SITE + "/a", depth=2),
        page("/e"),
    ]
    for one in pages:
        one.title = ""
    lines = ANSI.sub("", written(site_map_of(pages), terminal=True)).split("\n")
    assert lines[:6] == [
        "🏠 https://docs.example.org/",
        "├─ 📄 /a",
        "│  ├─ 📄 /a/b",
        "│  │  └─ 📄 /a/b/c",
        "│  └─ 📄 /a/d",
        "└─ 📄 /e",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_that_was_crawled_can_steer_a_terminal(terminal):
    text = ANSI.sub("", written(hostile(), terminal=terminal))
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\x1b[31mred" in text


def test_a_title_has_no_line_of_its_own_and_ends_some_time():
    lines = written(hostile()).split("\n")
    titled = [line for line in lines if line.startswith("  /title/")]
    assert len(titled) == len(HOSTILE_TITLES)
    assert max(map(len, titled)) < 150


def test_a_chain_of_pages_does_not_run_out_of_the_screen():
    lines = written(chain(3000)).split("\n")
    assert max(map(len, lines)) < 120
    assert any("(2,999 deep) /2999" in line for line in lines)


def test_every_page_is_shown_once_in_the_tree_or_among_the_errors():
    site_map = realistic()
    entry = re.compile(rf"\s*(?:\d\d\d|-)?\s*(?:{re.escape(SITE)})?(/\S*)")
    found = [match[1] for line in written(site_map).split("\n") if (match := entry.match(line))]
    assert sorted(found) == sorted(one.url.removeprefix(SITE) for one in site_map.pages)


def test_pages_that_nothing_links_have_a_section():
    text = written(realistic())
    assert "\nLinked from no page (2)\n" in text


def test_an_incomplete_map_says_why_and_notes_are_shown():
    text = written(realistic())
    assert "  Not complete: max-pages\n" in text
    assert "  Note: robots.txt was set aside for docs.example.org\n" in text


def test_an_empty_map_is_a_summary():
    assert written(site_map_of([])).startswith("\nSummary\n  Pages    0\n")
