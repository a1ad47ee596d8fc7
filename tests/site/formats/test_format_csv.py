"""A spreadsheet gets a row a page, and runs none of them."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st
from map_samples import HOSTILE_TITLES, SITE, hostile, realistic, small

from gossamer.site.formats import csv as csv_format


def rows(site_map) -> list[dict[str, str]]:
    file = io.BytesIO()
    csv_format.write(site_map, file)
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


def test_a_row_has_what_is_known_of_the_page():
    start, about, _, old, gone = rows(small())
    assert tuple(start) == csv_format.COLUMNS
    assert start["img"].split() == [SITE + "/logo.svg", "https://cdn.example.net/a.png"]
    assert (start["links"], start["aliases"]) == ("4", SITE + "/index.html")
    assert (about["parent"], about["depth"], about["js"]) == (SITE + "/", "1", SITE + "/app.js")
    assert old["alias_of"] == SITE + "/about"
    assert (gone["status"], gone["error"], gone["linked_from"]) == ("404", "404 Not Found", "7")


def test_no_cell_is_a_formula_or_leaves_its_line():
    for row in rows(hostile()):
        for cell in row.values():
            assert cell.isprintable()
            assert not cell.lstrip().startswith(("=", "+", "-", "@"))


def test_hostile_titles_stay_readable():
    titles = [row["title"] for row in rows(hostile()) if "/title/" in row["url"]]
    assert len(titles) == len(HOSTILE_TITLES)
    assert "'=cmd|' /C calc'!A0" in titles
    assert "'@SUM(A1:A9)" in titles
    assert "x" * 100_000 in titles


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_cell_prints_and_begins_no_formula(text):
    cell = csv_format.cell(text)
    assert cell.isprintable()
    assert cell.lstrip()[:1] not in {"=", "+", "-", "@", "＝", "＋", "－", "＠"}  # noqa: RUF001


def test_every_page_has_a_row_in_the_order_of_the_map():
    site_map = realistic()
    assert [row["url"] for row in rows(site_map)] == [one.url for one in site_map.pages]
