"""Skimming takes time in proportion to the page: 1 MB of no shape takes more than a moment.

What went over such a page once for each of its tags would take a minute. Nor is memory kept.
"""

import resource
import time
from contextlib import suppress
from html.entities import html5
from pathlib import Path

import pytest
from skim_rig import compiled_only

from gossamer.parse.pieces import Pieces
from gossamer.parse.similarity import MAX_TEXT, ROWS

pytestmark = compiled_only
SIZE = 1_000_000
SECONDS = 0.5
REPEATED = {
    "open tags": b"<",
    "ends of nothing": b"</",
    "ends without a name": b"</>",
    "questions": b"<?",
    "declarations": b"<!x",
    "unclosed comments": b"<!--",
    "nearly ended comments": b"<!-- --",
    "dashes": b"-",
    "unclosed scripts": b"<script>",
    "comments in scripts": b"<script><!--",
    "scripts": b"<script><!-- </script>",
    "unclosed titles": b"<title>",
    "titles": b"<title>&amp;</title>",
    "styles": b"<style>url(</style>",
    "raw text": b"<xmp></xm></xmp>",
    "unclosed quotes": b"<a href='",
    "unclosed values": b"<a href=",
    "tags in tags": b"<a ",
    "slashes": b"<a/",
    "links": b"<a href=x>",
    "links with references": b"<a href='?a&b&copy=1&amp;'>",
    "refused links": b"<a href=x rel=nofollow>",
    "ampersands": b"&",
    "names of characters": b"&CounterClockwiseContourIntegra",
    "numbers of characters": b"&#x10ffff;",
    "metas": b"<meta>",
    "metas that matter": b"<meta name=robots content=none>",
    "metas that nearly name a charset": b"<meta charse>",
    "metas that name a charset": b"<meta charset=utf-8>",
    "metas that name none": b"<meta content=charset>",
    "pieces": b"<p src=x>",
    "media": b"<video>",
    "media with sources": b"<video><source src=x></video>",
    "drawings": b"<svg><use href=x /></svg>",
    "tables": b"<table><tr><td>",
    "cells": b"<td>",
    "space": b" ",
    "space in tables": b"<table> </table>",
    "selections": b"<select> </select>",
    "clauses": b"x. ",
    "wide marks": "\u3002".encode(),
    "line ends": b"\r",
}
ENCLOSED = {
    "a comment": (b"<!--", b"-", b""),
    "a number": (b"x&#", b"9", b""),
    "a name of a character": (b"x&", b"a", b""),
    "a link": (b"<a href='", b"&a", b"'>"),
    "a refused link": (b"<a rel='", b"nofollo ", b"'>"),
    "a style": (b"<style>", b"ur", b"</style>"),
    "a style attribute": (b"<p style='", b"ur&im", b"'>"),
    "a script": (b"<script>", b"<!-<scrip", b"</script>"),
    "a script with ends": (b"<script>", b"</scrip", b"</script>"),
    "a tag": (b"<p ", b"a=b ", b">"),
    "a tag of one attribute": (b"<a ", b"href=x ", b">"),
    "a name": (b"<", b"a", b">"),
    "a meta": (b"<meta content='", b"robot descriptio gossame charse", b"'>"),
    "a table": (b"<table>", b" <tr>", b"</table>"),
    "a drawing": (b"<svg>", b"<g>", b"</svg>"),
    "an element for all": (b"<video>", b"<img src=x>", b""),
}
MEMORY = Path("/proc/self/statm")
CALLS = 30_000
# Read to the end; given up with everything in use; not begun.
REPEATEDLY = [
    b"<title>a</title><a href='x&amp;y'>&lt;</a><a href=z rel=nofollow>c</a><img src=d>" * 3,
    b"<title>a</title><a href='x&amp;y'>c</a>" + b"&copy; d. " * 30 + b"<video><template>",
    b"<p>\xff",
]


def shapes():
    for name, piece in REPEATED.items():
        yield name, piece * (SIZE // len(piece))
    for name, (start, piece, end) in ENCLOSED.items():
        yield f"much in {name}", start + piece * (SIZE // len(piece)) + end


@pytest.mark.parametrize("wants_label", [True, False])
def test_every_shape_is_skimmed_in_linear_time(wants_label):
    from gossamer.parse import _skim

    for name, body in shapes():
        started = time.process_time()
        _skim.skim(body, html5, wants_label, 1 << 30, MAX_TEXT, ROWS, (b"robots",))
        assert time.process_time() - started < SECONDS, name


def test_what_every_shape_says_is_told_in_linear_time():
    from gossamer.parse import _skim

    for name, body in shapes():
        started = time.process_time()
        _skim.said(body, html5)
        _skim.said(b"<a href=x>" + body, html5)
        assert time.process_time() - started < SECONDS, name


def test_many_unknown_pieces_are_passed_over():
    pieces = [b"<p src=%d></p>" % number for number in range(200_000)]
    started = time.process_time()
    assert Pieces().told_by(pieces) is None
    assert time.process_time() - started < SECONDS


@pytest.mark.skipif(not MEMORY.is_file(), reason="there is no /proc to tell the memory in use")
@pytest.mark.parametrize("entities", [html5, {"copy;": 5}], ids=["fine", "error"])
def test_memory_is_given_back(entities):
    """A hundred bytes kept by each call would be 3 MB."""
    from gossamer.parse import _skim

    def skim_all(times):
        for body in REPEATEDLY:
            for _ in range(times):
                with suppress(TypeError):
                    _skim.skim(body, entities, True, 1 << 30, MAX_TEXT, ROWS, (b"robots",))
                with suppress(TypeError):
                    _skim.said(body, entities)

    skim_all(1_000)
    before = int(MEMORY.read_text().split()[1])
    skim_all(CALLS)
    pages = int(MEMORY.read_text().split()[1]) - before
    assert pages * resource.getpagesize() < 2_000_000
