"""What changed since an earlier map."""

import io

import msgspec
import pytest
from audit_maps import at, copies, gone, page, redirect, site
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import InputError
from gossamer.site import compare_writing
from gossamer.site.compare import Comparison, compare
from gossamer.site.formats import json
from gossamer.site.formats.paint import COLOURED
from gossamer.site.model import SiteMap


def written(site_map: SiteMap) -> bytes:
    file = io.BytesIO()
    json.write(site_map, file)
    return file.getvalue()


def between(old: SiteMap, new: SiteMap) -> Comparison:
    return compare(written(old), new)


def text_of(comparison: Comparison, **look) -> list[str]:
    file = io.StringIO()
    compare_writing.write_text(comparison, file, **look)
    return file.getvalue().splitlines()


def test_nothing_changed_between_a_map_and_itself():
    pages = [
        *copies("/x", "/y"),
        gone("/z"),
        redirect("/r", "/x"),
        redirect("/s", "https://b.test/"),
    ]
    site_map = site(*pages, page("/p", assets={"img": [at("/i.png")]}))
    comparison = between(site_map, site_map)
    assert text_of(comparison) == [
        "Compared with the earlier map of https://a.test/",
        "  Nothing changed.",
    ]
    for value in msgspec.structs.asdict(comparison).values():
        if isinstance(value, dict):
            assert not any(value.values())
        else:
            assert value in ("https://a.test/", [])


def test_pages_are_added_and_removed():
    comparison = between(site(page("/old"), page("/x")), site(page("/x"), gone("/new")))
    assert [(entry.url, entry.status) for entry in comparison.added] == [(at("/new"), 404)]
    assert [entry.url for entry in comparison.removed] == [at("/old")]


def test_a_page_that_redirects_now_has_moved():
    comparison = between(site(page("/x")), site(redirect("/x", "/y"), page("/y")))
    [move] = comparison.moved
    assert (move.url, move.to, move.by) == (at("/x"), at("/y"), "redirect")
    assert comparison.changed_status == []
    assert [entry.url for entry in comparison.added] == [at("/y")]


@pytest.mark.parametrize("target", ["/y", "https://b.test/"])
def test_a_page_that_redirected_before_has_not_moved(target):
    alias = at(target) if target == "/y" else None
    site_map = site(redirect("/x", target, alias_of=alias), page("/y"))
    assert between(site_map, site_map).moved == []


def test_a_redirect_that_leads_elsewhere_now_has_moved():
    old = site(redirect("/x", "/y", alias_of=at("/y")), page("/y"), page("/z"))
    new = site(redirect("/x", "/z", alias_of=at("/z")), page("/y"), page("/z"))
    assert [move.to for move in between(old, new).moved] == [at("/z")]


def test_a_page_under_a_new_url_with_the_same_content_has_moved():
    comparison = between(site(page("/x", checksum="c")), site(page("/y", checksum="c")))
    [move] = comparison.moved
    assert (move.url, move.to, move.by) == (at("/x"), at("/y"), "content")
    assert comparison.added == []
    assert comparison.removed == []


def test_each_new_url_is_the_place_of_one_old_page():
    old = site(page("/1", checksum="c"), page("/2", checksum="c"))
    comparison = between(old, site(page("/y", checksum="c")))
    assert [move.url for move in comparison.moved] == [at("/1")]
    assert [entry.url for entry in comparison.removed] == [at("/2")]


def test_empty_pages_do_not_move():
    old = site(page("/x", checksum="e3b0", bytes=0))
    assert between(old, site(page("/y", checksum="e3b0", bytes=0))).moved == []


def test_a_page_that_is_gone_has_changed_its_status_and_nothing_else():
    comparison = between(site(page("/x", title="X")), site(gone("/x", title="404", checksum="n")))
    [change] = comparison.changed_status
    assert (change.url, change.before, change.after) == (at("/x"), 200, 404)
    assert change.error == "404 Not Found"
    assert comparison.changed_content == []
    assert comparison.changed_title == []


def test_an_error_without_a_status_is_a_change_of_status():
    old = site(page("/x", 200))
    new = site(page("/x", 200, "the body broke off", outcome="body.short"))
    assert [change.url for change in between(old, new).changed_status] == [at("/x")]


def test_content_and_title_change():
    comparison = between(
        site(page("/x", checksum="a", title="Old"), page("/y", checksum="a1", title="T")),
        site(page("/x", checksum="b", title="New"), page("/y", checksum="b1", title="T")),
    )
    assert comparison.changed_content == [at("/x"), at("/y")]
    [change] = comparison.changed_title
    assert (change.url, change.before, change.after) == (at("/x"), "Old", "New")


def test_the_change_of_a_page_is_told_once_and_not_for_its_aliases():
    old, new = copies("/x", "/x?a"), copies("/x", "/x?a")
    for each in new:
        each.checksum = "changed"
    assert between(site(*old), site(*new)).changed_content == [at("/x")]


def test_assets_of_the_whole_site_are_compared():
    picture, script = at("/i.png"), at("/s.js")
    old = site(page("/x", assets={"img": [picture]}), page("/y"))
    new = site(page("/x"), page("/y", assets={"img": [picture], "js": [script]}))
    comparison = between(old, new)
    assert {kind: urls for kind, urls in comparison.assets_added.items() if urls} == {
        "js": [script]
    }
    assert not any(comparison.assets_removed.values())
    assert between(new, old).assets_removed["js"] == [script]


def test_what_makes_it_uncertain_is_noted():
    old = site(complete=False)
    old.site = "b.test"
    notes = between(old, site(complete=False)).notes
    assert [note.partition(":")[0] for note in notes] == [
        "The earlier map is of another site",
        "The earlier map is not complete",
        "The new map is not complete",
    ]


def test_text_tells_all_kinds_of_changes():
    old = site(
        page("/", assets={"css": [at("/old.css")]}),
        page("/gone", checksum="g"),
        page("/moved", checksum="m"),
        page("/status"),
        page("/x", checksum="a", title="Old"),
        page("/r"),
    )
    new = site(
        page("/", assets={"css": [at("/new.css")]}),
        page("/there", checksum="m"),
        gone("/status"),
        page("/x", checksum="b", title="New"),
        redirect("/r", "/x"),
        gone("/new"),
        complete=False,
    )
    assert text_of(between(old, new)) == [
        "Compared with the earlier map of https://a.test/",
        "  Note: The new map is not complete: what is removed may still be there.",
        "",
        "Added (1)",
        "    https://a.test/new  (404 Not Found)",
        "",
        "Removed (1)",
        "    https://a.test/gone",
        "",
        "Moved (2)",
        "    https://a.test/r -> https://a.test/x",
        "    https://a.test/moved -> https://a.test/there (same content)",
        "",
        "Changed status (1)",
        "    https://a.test/status: 200 -> 404  (404 Not Found)",
        "",
        "Changed content (1)",
        "    https://a.test/x",
        "",
        "Changed title (1)",
        "    https://a.test/x: “Old” -> “New”",
        "",
        "Assets added (1)",
        "    css https://a.test/new.css",
        "",
        "Assets removed (1)",
        "    css https://a.test/old.css",
    ]


def test_text_shows_the_first_twenty_lines_of_a_section():
    lines = text_of(between(site(), site(*(page(f"/{number}") for number in range(1024)))))
    assert lines[-1] == "    ... and 1,004 more"
    assert len(lines) == 1 + 2 + 20 + 1


def test_text_says_when_there_was_no_answer():
    old = site(page("/x"))
    new = site(page("/x", 0, "timed out", outcome="net.timeout.connect"))
    assert "    https://a.test/x: 200 -> no answer  (timed out)" in text_of(between(old, new))


def test_json_holds_everything():
    comparison = between(site(page("/x"), page("/y")), site(gone("/x"), page("/z", title="\x1b")))
    file = io.BytesIO()
    compare_writing.write_json(comparison, file)
    assert msgspec.json.decode(file.getvalue(), type=Comparison) == comparison
    assert "\x1b" not in file.getvalue().decode()


@given(st.text(max_size=20))
def test_no_crawled_text_can_steer_a_terminal(text):
    old = site(page("/x", title=text, checksum="a"), page("/y" + text, title=text))
    new = site(
        page("/x", title=text + "!", checksum="b"),
        page("/z" + text, 500, text, assets={"img": [text]}),
    )
    assert all(line.isprintable() for line in text_of(between(old, new)))
    coloured = "".join(text_of(between(old, new), look=COLOURED))
    assert coloured.count("\x1b") % 2 == 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"<html>", "it is not JSON"),
        (b'{"summary": {', "it is not JSON"),
        (b'{"pages": []}', "it is JSON of another shape"),
        (b"[]", "it is JSON of another shape"),
        (b"null", "it is JSON of another shape"),
        (b'{"x": ' + b"[" * 100_000, "it is not JSON"),
        (b'{"url": "https://a.test/"}\n{"url": "https://a.test/x"}\n', "it is"),
        ("{}".encode("utf-16"), "it is not JSON"),
    ],
)
def test_a_file_that_is_no_earlier_map_is_refused_with_one_clear_message(content, reason):
    with pytest.raises(InputError) as refusal:
        compare(content, site(), "old.json")
    message = str(refusal.value)
    assert message.startswith(f"cannot compare with old.json: {reason}")
    assert message.endswith("give a file that `gossamer site --format json` wrote")
    assert "\n" not in message
    assert len(message) < 300


@given(st.binary() | st.text().map(str.encode), st.integers(0), st.binary(max_size=3))
def test_any_bytes_are_a_map_or_refused(content, place, noise):
    whole = written(site(page("/x"), gone("/y")))
    place %= len(whole)
    for damaged in (content, whole[:place] + noise + whole[place + 1 :]):
        try:
            compare(damaged, site())
        except InputError as refusal:
            assert str(refusal).startswith("cannot compare")  # noqa: PT017 - it may also be read


def test_a_byte_order_mark_is_passed_over():
    assert compare(b"\xef\xbb\xbf" + written(site()), site()).added == []


def test_fields_that_a_later_version_adds_are_passed_over():
    value = msgspec.json.decode(written(site(page("/x"))))
    value["pages"][0]["new_field"] = value["new_part"] = [1]
    assert compare(msgspec.json.encode(value), site(page("/x"))).changed_content == []
