"""What a page says is the same whether the compiled reader hears it or its tree is built."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skim_pages import made_links, made_page
from skim_rig import DOCUMENTATION, URL, compiled_only, pages_of

from gossamer.messages import Page
from gossamer.parse import statements as module
from gossamer.parse.skim import listen
from gossamer.parse.statements import statements
from gossamer.url.canonical import Joiner

pytestmark = compiled_only
JOINER = Joiner()
LEFT_OUT = st.sampled_from(["", "/x", "page", "/dir/", "nothing"])


def said(body: bytes, left_out: str, charset: str = "UTF-8", url: str = URL) -> set[bytes]:
    page = Page(content_type="text/html", charset=charset)
    return statements(body, page, url, JOINER, lambda target: left_out in target)


def said_by_tree(body: bytes, left_out: str, charset: str = "UTF-8", url: str = URL) -> set[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "listen", lambda *_: None)
        return said(body, left_out, charset, url)


def is_heard(body: bytes, charset: str = "UTF-8") -> bool:
    return listen(body, charset) is not None


HEARD = {
    "text": "one <b>two. three",
    "a link": "one <a href=x>two</a> three",
    "links in turn": "<a href=x>one</a><a href=y>two</a>three",
    "one link ends another": "<a href=x>one<a href=y>two<a name=z>three</a>four",
    "a link that does not end": "one<a href=x>two<p>three",
    "a link to a part of this page": "<a href=#one>two</a>three",
    "a link with references": "<a href='&#120;'>one</a><a href='y&amp;x'>two</a>",
    "a link without a target": "<a href>one</a><a>two</a>",
    "elements in a link": "<a href=x><div><p>one</p><b>two</b><br>three</div></a>four",
    "a paragraph in a paragraph in a link": "<p><a href=x><p>one</p>two</a>three",
    "an item that ends the one around a link": "<ul><li><a href=x><li>one</li></a>two",
    "a heading in a heading": "<a href=x><h1>one<h2>two</h2>three</h1>four</a>five",
    "a drawing in a link": "<a href=x><svg><title>one</title><path/></svg>two</a>three",
    "pictures": "<a href=x><img src=1 data-src=2></a><iframe src='3&amp;4'></iframe><embed src=5>"
    "<video src=6><source src=7></video><picture><source src=8></picture><img src><p src=9>",
    "of two sources the first": "<img src=1 src=2>",
    "a picture in a picture element in a link": "<a href=x><picture><img src=1>one</picture></a>",
    "script and style": "<script>one</script><a href=x><style>two</style>three</a>four",
    "a link in a cell": "<table><tr><td><a href=x>one</a>two<td>three</table>four",
    "line ends": "one\r\ntwo\rthree&#13;four<a href=x>\r\n</a>five",
    "wide characters": "\u00e9ins\u3002zwei <a href=x>\u4e00</a>",
    "dates": "May 2026. Monday 3. Jumarchne 1",
    "more than is looked at": "one. " * 60_000,
    "the name of the page": "<p>pa<a href=x>1</a>ge1b2 page",
}
NOT_HEARD = {
    "a base": "<base href=/b/><a href=x>one</a>",
    "a link across blocks": "<a href=x><div>one</a>two</div>",
    "a link across formatting": "<b><a href=x>one</b>two</a>three",
    "a link across cells": "<table><tr><td><a href=x>one<td>two</table>",
    "a table in a link": "<a href=x><table><tr><td>one<a href=y>two</table>three</a>four",
    "an object in a link": "<a href=x><object><a href=y>one</object>two</a>three",
    "a marquee in a link": "<a href=x><marquee><a href=y>one</marquee>two</a>three",
    "a nobr in a link": "<nobr><a href=x><nobr>one</nobr></a></nobr>",
    "a text area in a link": "<p><a href=x>one</p><textarea>two</textarea>",
    "raw text in a link": "<p><a href=x>one</p><xmp>two</xmp>",
    "a selection in a link": "<a href=x><select><option>one</select></a>",
    "a form in a link": "<a href=x><form>one</form></a>",
    "the end of what was not begun": "<a href=x>one</p>two</a>",
    "more elements than are counted": "<a href=x>" + "<span>" * 33,
    "a name of unusual length": "<a href=x><custom-element-of-mine>one</a>",
    "text in a table": "<table>one<tr><td>two</table>",
}


@pytest.mark.parametrize("markup", HEARD.values(), ids=HEARD)
@pytest.mark.parametrize("left_out", ["", "/x", "page", "nothing"])
def test_ordinary_page_is_heard_and_says_the_same(markup, left_out):
    body = markup.encode()
    assert is_heard(body)
    for url in (URL, "http://site.example/dir/page1b2.html"):
        assert said(body, left_out, url=url) == said_by_tree(body, left_out, url=url)


@pytest.mark.parametrize("markup", NOT_HEARD.values(), ids=NOT_HEARD)
def test_the_tree_is_asked_where_a_link_may_be_elsewhere(markup):
    assert not is_heard(markup.encode())


@pytest.mark.parametrize(
    ("charset", "text", "heard"),
    [
        ("UTF-8", "\u00e9", True),
        ("windows-1252", "e", True),
        ("windows-1252", "\u00e9", False),
        ("UTF-16LE", "e", False),
        ("", "e", False),
        ("no such charset", "e", False),
    ],
)
def test_page_is_heard_if_its_encoding_is_certain(charset, text, heard):
    assert is_heard(text.encode(), charset) == heard
    assert said(text.encode(), "/x", charset) == said_by_tree(text.encode(), "/x", charset)


def test_links_are_told_with_their_texts():
    heard = listen(b"a<a href='x#f'>b</a>c<a href=y></a>d<a href=#f>e", "utf-8")
    assert heard.texts == [b"a", b"b", b"c", b"d", b"e"]
    assert heard.links == [None, "x", None, None, ""]


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), LEFT_OUT)
def test_made_pages_say_the_same(random, has_more, left_out):
    body = made_links(random) + (made_page(random) if has_more else b"")
    assert said(body, left_out) == said_by_tree(body, left_out)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), LEFT_OUT)
def test_any_bytes_say_the_same(body, left_out):
    assert said(body, left_out) == said_by_tree(body, left_out)


def test_pages_of_a_fixed_lot_say_the_same():
    random = Random(1)
    count = matters = 0
    for number in range(20_000):
        body = made_links(random) + (b"" if number % 2 else made_page(random))
        if is_heard(body):
            count += 1
            tree = said_by_tree(body, "/x")
            assert said(body, "/x") == tree
            matters += tree != said(body, "nothing")
    # Otherwise the tree would be compared with itself, or links would not matter.
    assert count > 4_000
    assert matters > 400


@pytest.mark.parametrize("package", DOCUMENTATION)
def test_documentation_says_the_same_and_is_heard(package):
    bodies = pages_of(package)
    for body in bodies:
        for left_out in ("/dir/", "nothing"):
            assert said(body, left_out) == said_by_tree(body, left_out)
        start = body[: len(body) // 3]
        assert said(start, "/dir/") == said_by_tree(start, "/dir/")
    assert sum(map(is_heard, bodies)) > 0.8 * len(bodies)


@pytest.mark.parametrize("meaning", [5, "\ud800"])
def test_names_of_characters_that_mean_no_text_are_an_error(meaning):
    from gossamer.parse import _skim

    with pytest.raises((TypeError, UnicodeError)):
        _skim.said(b"<a href='&copy;'><p>&copy;", {"copy;": meaning})
