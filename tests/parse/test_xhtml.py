"""XHTML is read by the rules of XML where they are other than those of HTML."""

import time

import pytest

from gossamer.messages import Page
from gossamer.parse.text import visible_text
from gossamer.parse.xhtml import with_end_tags

XHTML = "application/xhtml+xml"
PAGE = (
    b'<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head>'
    b'<title/><script src="s.js"/><style/></head><body><iframe src="/f"/><textarea/><a id="n"/>'
    b"<p/><br/><a title='a > b' href=\"/x\">one</a><img src='i.png'/></body></html>"
)


@pytest.mark.parametrize("content_type", [XHTML, "application/xml", "text/xml", None])
def test_nothing_is_lost_behind_an_empty_element(page_of, content_type):
    page = page_of(PAGE, content_type)
    assert page.content_type == XHTML
    assert {link.url.rpartition("/")[2] for link in page.links} == {"f", "x"}
    assert {(link.url.rpartition("/")[2], link.kind) for link in page.assets} == {
        ("s.js", "js"),
        ("f", "iframe"),
        ("i.png", "img"),
    }


def test_html_has_no_empty_elements(page_of):
    """A browser shows nothing behind them either."""
    assert page_of(PAGE, "text/html").links == ()


def test_text_of_xhtml_is_whole():
    assert visible_text(PAGE, Page(content_type=XHTML, charset="UTF-8")) == "one"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<a/>", b"<a></a>"),
        (b"<a\n b = 'c' />", b"<a\n b = 'c'></a>"),
        (b"<svg:g x='/>'/>", b"<svg:g x='/>'></svg:g>"),
        (b"<br/><img src='x'/><link\n/>", b"<br/><img src='x'/><link\n/>"),
        (b"<brand/>", b"<brand></brand>"),
        (b"<a b=c/> <a b> </a/> < a/> <a '/>", b"<a b=c/> <a b> </a/> < a/> <a '/>"),
    ],
)
def test_end_tags_are_written_out(body, expected):
    assert with_end_tags(body) == expected


@pytest.mark.parametrize("piece", [b"<a ", b"<a b='", b'<a b="', b"<a b='c' ", b"<", b"<a b = "])
def test_cost_grows_with_the_length_only(piece):
    started = time.process_time()
    with_end_tags(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 2.0
