"""No page of 2 MiB costs more than 2 s of CPU, and every cut is reported (T9, G7)."""

from collections.abc import Iterator

import pytest

from effort import least_cpu
from gossamer.outcomes import Outcome

SIZE = 2 << 20
SECONDS = 2.0


def repeated(piece: bytes, size: int = SIZE) -> bytes:
    return (piece * (size // len(piece) + 1))[:size]


def numbered(piece: bytes, size: int = SIZE) -> bytes:
    return b"".join(piece % number for number in range(size // len(piece)))[:size]


def halves(first: bytes, second: bytes) -> bytes:
    return repeated(first, SIZE // 2) + repeated(second, SIZE // 2)


def shapes() -> Iterator[tuple[str, bytes]]:
    yield "attributes of one tag", b"<a " + numbered(b"a%d=b ") + b">"
    yield "one attribute again and again", b"<a " + repeated(b"href=x ") + b">"
    yield "nested elements", repeated(b"<div>")
    yield "nested formatting", repeated(b"<b>")
    yield "distinct formatting", numbered(b"<b a%d>")
    yield "misnested formatting", repeated(b"<b><i></b></i>")
    yield "misnested paragraphs", repeated(b"<p><b><i><u>", 1 << 20)
    yield "reopened formatting", numbered(b"<font c=%d>", 1 << 18) + repeated(b"</p><p>x", 1 << 20)
    yield "late adoption", halves(b"<b><p>", b"</b>")
    yield "unclosed comments", repeated(b"<!--")
    yield "open tags", repeated(b"<")
    yield "links", repeated(b"<a href=x>")
    yield "nofollow links", repeated(b"<a href=x rel=nofollow>")
    yield "giant attribute", b'<a href="' + repeated(b"x") + b'">'
    yield "unclosed attribute", b'<a href="' + repeated(b"x")
    yield "giant rel", b'<a href=x rel="' + repeated(b"a ") + b'">'
    yield "giant style", b'<p style="' + repeated(b"url(") + b'">'
    yield "giant style block", b"<style>" + repeated(b"url(x)")
    yield "nested svg styles", b"<svg>" + repeated(b"<style>url(x)")
    yield "nested svg scripts", b"<svg>" + repeated(b"<script>")
    yield "nested tables", repeated(b"<table><tr><td>")
    yield "fostered text", b"<table>" + repeated(b"<p>x")
    yield "templates", repeated(b"<template><a href=x>")
    yield "shadow roots", repeated(b"<div><template shadowrootmode=open>")
    yield "nested svg", repeated(b"<svg><foreignObject>")
    yield "srcset of commas", b'<img srcset="' + repeated(b",") + b'">'
    yield "ampersands", repeated(b"&")
    yield "references", b'<a href="' + repeated(b"&notit") + b'">'
    yield "refreshes below much", halves(b"<div>", b"<meta http-equiv=refresh content=20;url=x>")
    yield "buttons below much", halves(b"<div>", b"<button formaction=x>")
    yield "giant refresh", b'<meta http-equiv=refresh content="' + repeated(b"1") + b'">'
    yield "objects", repeated(b"<object codebase=x data=y>")
    yield "frames", b"<frameset>" + repeated(b"<frame src=x longdesc=y>")
    yield "giant title", b"<title>" + repeated(b"x ")
    yield "data", b'<img src="data:image/png;base64,' + repeated(b"A") + b'">'
    yield "clauses", numbered(b"x%d. ")
    yield "zeros", repeated(b"\0")
    yield (
        "late charset",
        b"<!--" + b" " * 1_500 + b"--><meta charset=shift_jis>" + repeated(b"\x83"),
    )


SHAPES = dict(shapes())


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_shape_is_cheap(page_of, shape):
    page = page_of(SHAPES[shape], "text/html")
    assert least_cpu(lambda: page_of(SHAPES[shape], "text/html"), tries=2) < SECONDS
    assert page.outcome is Outcome.OK
    assert len(page.links) <= 3


@pytest.mark.parametrize("markup", [b"<a href=%d>", b"<img src=%d>", b"<a href=//h%d.example/>"])
def test_flood_of_links_is_cut_and_counted(page_of, markup):
    page = page_of(numbered(markup), "text/html")
    assert least_cpu(lambda: page_of(numbered(markup), "text/html"), tries=2) < SECONDS
    assert len(page.links + page.assets) == 50_000
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "over the limit of 50000" in page.detail


@pytest.mark.parametrize(
    "markup", [b'<a ping="' + repeated(b"a "), b'<img srcset="' + repeated(b"a ,")]
)
def test_flood_of_places_is_cut_and_told(page_of, markup):
    page = page_of(markup + b'">', "text/html")
    assert least_cpu(lambda: page_of(markup + b'">', "text/html"), tries=2) < SECONDS
    assert [link.url for link in page.assets] == ["http://site.example/dir/a"]
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "places with a URL were not read" in page.detail


@pytest.mark.parametrize("tag", [b"<body a%d=b>", b"<html a%d=b>", b"<bOdY a%d>"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_flood_of_root_tags_is_cut_and_told(page_of, tag, codec):
    """The attributes of each further html or body tag are merged: quadratic time and memory."""
    mark = "" if codec == "utf-8" else "\ufeff"
    markup = mark + "<a href=x>" + numbered(tag, 1 << 20).decode()
    page = page_of(markup.encode(codec), "text/html")
    assert least_cpu(lambda: page_of(markup.encode(codec), "text/html"), tries=2) < SECONDS
    assert [link.url for link in page.links] == ["http://site.example/dir/x"]
    assert page.outcome is Outcome.PARSE_TRUNCATED
    assert "tag number 257" in page.detail


def test_long_page_with_few_root_tags_is_not_cut(page_of):
    markup = "<html><body>" * 100 + " " * 50_000 + "<a href=x>"
    page = page_of(markup)
    assert page.outcome is Outcome.OK
    assert len(page.links) == 1
