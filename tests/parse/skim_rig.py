"""The ways to read a page, each by itself: its tree, and both that begin by skimming it."""

from pathlib import Path

import pytest

import gossamer.parse.pieces
import gossamer.parse.skim
from gossamer.config.parse import ParseSettings
from gossamer.messages import Page
from gossamer.parse import html, similarity
from gossamer.parse.directives import ROBOTS_NAMES
from gossamer.parse.outline import Outline
from gossamer.parse.pieces import Pieces
from gossamer.parse.skim import Skimmed, is_compiled, skim
from gossamer.parse.sniff import HTML
from gossamer.url.canonical import Joiner

URL = "http://site.example/dir/page.html"
compiled_only = pytest.mark.skipif(not is_compiled(), reason="the page reader is not compiled")
# Packages with pages that people wrote, or their programs.
DOCUMENTATION = {
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
    "libtiff-doc": "/usr/share/doc/libtiff-doc/manual",
}
_PAGES_OF_EACH = 60
# So many clauses, and one so long, that the compiled reader hands out the text.
_TAIL = b"<p>" + b"\nx" * similarity.MIN_CLAUSES + b"\n" + b"y" * 4_100


def pages_of(package: str) -> list[bytes]:
    """Return some pages of a package, from all over it."""
    files = sorted(Path(DOCUMENTATION[package]).rglob("*.html"))
    if not files:
        pytest.skip(f"apt install {package}")
    chosen = files[:: len(files) // _PAGES_OF_EACH + 1]
    return [file.read_bytes() for file in chosen if file.is_file()]


def skimmed(body: bytes, charset: str = "utf-8") -> Skimmed | None:
    return skim(body, charset, with_fingerprint=True)


def read_by_tree(body: bytes, charset: str = "utf-8", **options) -> Page:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "skim", lambda *_, **__: None)
        return read_whole(body, charset, **options)


def read_with_rest(body: bytes, charset: str = "utf-8", **options) -> Page:
    """Skim, and read what is left as a tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "told_by", lambda *_: None)
        return read_whole(body, charset, **options)


def read_by_pieces(body: bytes, charset: str = "utf-8", **options) -> Page:
    """Skim, and read what is left piece by piece."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gossamer.parse.pieces, "_MOST_UNKNOWN", 1_000)
        patch.setattr(html, "told_by", lambda unread, names: Pieces(names).told_by(unread))
        return read_whole(body, charset, **options)


def read_whole(
    body: bytes, charset: str, *, refresh_header: str = "", names=ROBOTS_NAMES, **settings
) -> Page:
    """Read by whichever way comes first."""
    given, joiner = ParseSettings(**settings), Joiner()
    page = html.outline_html(body, charset, URL, given, joiner, HTML, refresh_header, names)
    return html.whole_page(page, URL, given, joiner) if isinstance(page, Outline) else page


def assert_agrees(body: bytes, charset: str = "utf-8", **options) -> None:
    """Compare all ways to read a page; its text too, of which a fingerprint tells little."""
    tree = read_by_tree(body, charset, **options)
    assert read_with_rest(body, charset, **options) == tree
    assert read_by_pieces(body, charset, **options) == tree
    clauses = skimmed_clauses(body)
    if clauses is not None:
        assert clauses == _tree_clauses(body)


def skimmed_clauses(body: bytes) -> list[bytes] | None:
    """Return what the fingerprint of a page is made from; None if that cannot be seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gossamer.parse.skim, "fingerprint_of_prepared", bytes.split)
        page = skimmed(body + _TAIL)
    clauses = None if page is None else page.simhash
    return clauses if isinstance(clauses, list) else None


def _tree_clauses(body: bytes) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "fingerprint_of_prepared", bytes.split)
        return read_by_tree(body + _TAIL).simhash
