"""Markdown shows crawled text as text: no markup, no link and no template of the site's making."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from map_samples import SITE, chain, hostile, realistic, site_map_of, small

from gossamer.site.formats import markdown

LINK = re.compile(r"\[((?:[^\]\\]|\\.)*)\]\(<([^<>\\\s]*)>\)")
ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")


def written(site_map) -> str:
    file = io.BytesIO()
    markdown.write(site_map, file)
    return file.getvalue().decode()


def test_the_map_is_a_list_of_links_with_their_assets():
    text = written(small())
    assert text.startswith("# Site map of docs.example.org\n\n| Pages | Aliases |")
    assert "\n* [/](<https://docs.example.org/>) Welcome\n  * img: [/logo.svg](<" in text
    assert "\n  * [/about](<https://docs.example.org/about>) About us\n    * js: " in text
    assert f"\n  * [/old](<{SITE}/old>) redirects to [/about](<{SITE}/about>)\n" in text
    assert f"\n  * [/index.html](<{SITE}/index.html>) is the same as [/](<{SITE}/>)\n" in text
    assert f"\n| 404 | [/gone](<{SITE}/gone>) | 404 Not Found | [/](<{SITE}/>), " in text


def test_nothing_that_was_crawled_means_anything():
    for line in written(hostile()).split("\n"):
        assert line.isprintable()
        for _, target in LINK.findall(line):
            assert target.startswith(("http://", "https://"))
            assert not re.search(r"&(?!amp;)", target)
        rest = ESCAPE.sub("", LINK.sub("", line))
        if not rest.startswith("|"):
            assert not re.search(r"[`_<\[\]{}|~@$\\]|&\w|\*\w|://|www\.", rest.lstrip("> *")), line


def test_tables_keep_their_columns():
    lines = [line for line in written(hostile()).split("\n") if line.startswith("|")]
    for line in lines:
        assert ESCAPE.sub("", line).count("|") in {5, 8}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escaped_text_has_no_bare_sign(text):
    rest = ESCAPE.sub("", markdown.escaped(text))
    assert not re.search(r"[`*_<>\[\]{}|~@$&\\]", rest)
    assert "\n" not in rest


def test_lists_go_no_deeper_than_people_read():
    text = written(chain(500))
    assert max(len(line) - len(line.lstrip()) for line in text.split("\n")) <= 2 * 9
    assert "(499 deep) " in text


def test_every_page_of_a_real_site_is_there():
    site_map = realistic()
    text = written(site_map)
    assert all(f"](<{one.url.replace('&', '&amp;')}>)" in text for one in site_map.pages)
    assert "> Note: not complete (max-pages)" in text
    assert "## Linked from no page" in text


def test_an_empty_map_is_a_summary():
    assert "## " not in written(site_map_of([]))
