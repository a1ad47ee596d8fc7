"""The JSON has the shape that docs/reference/site-map.md promises."""

import io
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_samples import SITE, hostile, large, realistic, site_map_of, small
from map_samples import page as page_of

from gossamer.site.formats import json as json_format
from gossamer.site.formats import jsonl
from gossamer.site.model import ASSET_KINDS
from gossamer.wording import safe_json

ROOT = Path(__file__).parents[3]
FIELDS = [
    "url",
    "parent",
    "depth",
    "status",
    "content_type",
    "checksum",
    "alias_of",
    "aliases",
    "assets",
    "links",
    "title",
    "bytes",
    "milliseconds",
    "error",
]


def written(site_map, module=json_format) -> bytes:
    file = io.BytesIO()
    module.write(site_map, file)
    return file.getvalue()


@pytest.mark.req("S2.3", "S2.4", "S2.14")
def test_the_object_has_summary_pages_and_errors():
    result = json.loads(written(small()))
    assert list(result) == ["summary", "pages", "errors"]
    assert [list(page) for page in result["pages"]] == [FIELDS] * 5
    start = result["pages"][0]
    assert list(start["assets"]) == list(ASSET_KINDS)
    assert start["assets"]["img"] == [SITE + "/logo.svg", "https://cdn.example.net/a.png"]
    assert start["aliases"] == [SITE + "/index.html"]
    assert result["pages"][2]["alias_of"] == SITE + "/"
    assert start["parent"] is None
    assert start["error"] is None
    assert result["summary"]["pages"] == 2


text = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\x00\x1f\x7f\u2028\u202e')
)
texts = st.lists(text, max_size=3)


@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(ASSET_KINDS[:2], texts)), min_size=1),
    st.lists(st.tuples(text, texts, text, st.integers(0, 99)), max_size=20),
    st.sampled_from([1, 2, 4_096]),
    st.sampled_from([1, 1_000, 1 << 16]),
)
def test_lines_are_what_the_encoder_makes_of_each_page(assets, pages, most, long):
    """Whether its assets are those of other pages, how many are kept, and what a long buffer is."""
    made = [
        page_of(url, links=links, title=title, assets=assets[number % len(assets)])
        for url, links, title, number in pages
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_format, "_MAX_ASSETS", most)
        patch.setattr(json_format, "_LONG_BYTES", long)
        lines = b"|".join(json_format.page_lines(made, b"|"))
    each = [{name: getattr(page, name) for name in FIELDS} for page in made]
    assert lines == b"|".join(safe_json(msgspec.json.encode(fields)) for fields in each)


def test_half_a_character_is_refused_as_the_encoder_does():
    with pytest.raises(UnicodeEncodeError):
        list(json_format.page_lines([page_of("/", assets={"img": ["\ud800"]})], b"\n"))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 17])
def test_pages_are_one_a_line_however_many_are_encoded_together(count):
    """Also where they have what is written as an escape."""
    site_map = site_map_of(
        [page_of(f"/{number}", title=f"ü\u202e {number}") for number in range(count)]
    )
    alone = written(site_map, jsonl).decode().split("\n")
    assert alone.pop() == ""
    assert [json.loads(line)["title"] for line in alone] == [each.title for each in site_map.pages]
    assert all(map(str.isprintable, alone))
    start, lines = ("\n", ",\n".join(alone) + "\n") if count else ("", "")
    assert f'"pages": [{start}{lines}],\n"errors"' in written(site_map).decode()


def test_errors_are_pages_too_and_say_where_they_are_linked():
    result = json.loads(written(small()))
    assert result["errors"] == [
        {
            "url": SITE + "/gone",
            "status": 404,
            "error": "404 Not Found",
            "linked_from": [SITE + "/", SITE + "/about"],
        }
    ]
    assert [page["url"] for page in result["pages"] if page["error"]] == [SITE + "/gone"]


@pytest.mark.parametrize("make", [small, hostile, realistic, lambda: site_map_of([])])
def test_pages_come_in_the_order_of_the_map_with_all_they_have(make):
    site_map = make()
    pages = json.loads(written(site_map))["pages"]
    for page, shown in zip(site_map.pages, pages, strict=True):
        assert shown == {name: getattr(page, name) for name in FIELDS}


def test_each_page_has_a_line_of_its_own():
    lines = written(realistic()).decode().split("\n")
    assert sum(line.startswith('{"url":') and '"checksum"' in line for line in lines) == 300


def test_json_lines_are_the_pages():
    site_map = hostile()
    lines = written(site_map, jsonl).decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == json.loads(written(site_map))["pages"]


@pytest.mark.parametrize("module", [json_format, jsonl])
def test_nothing_that_was_crawled_can_steer_a_terminal(module):
    text = written(hostile(), module).decode()
    assert all(line.isprintable() for line in text.split("\n"))


def test_the_same_map_is_written_the_same():
    assert written(realistic()) == written(realistic())


def test_every_field_is_documented():
    page = (ROOT / "docs" / "reference" / "site-map.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    result = json.loads(written(small()))
    fields = {*FIELDS, *result["summary"], *result["errors"][0], *ASSET_KINDS}
    assert fields <= documented


def test_a_large_map_is_written_piece_by_piece():
    sizes = []

    class Counting(io.BytesIO):
        def write(self, data) -> int:
            sizes.append(len(data))
            return len(data)

        def writelines(self, lines) -> None:
            for line in lines:
                self.write(line)

    json_format.write(large(2000), Counting())
    assert sum(sizes) > 2_000_000
    assert max(sizes) < 10_000
