import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.outcomes import Outcome
from gossamer.parse.css import references_in


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        ("a{background:url(x.png)}", [("x.png", "img")]),
        ("a{background:URL( 'x y.png' )}", [("x y.png", "img")]),
        ('a{background:url("x)y")}', [("x)y", "img")]),
        ("@import 'a.css';@IMPORT\turl(b.css) screen;", [("a.css", "css"), ("b.css", "css")]),
        ("@import'a'", [("a", "css")]),
        (
            "@font-face{src:url(f.WOFF2?x#y),url(f.ttf)}",
            [("f.WOFF2?x#y", "font"), ("f.ttf", "font")],
        ),
        ("/* url(no) */ a{b:url(yes)} /* open url(no)", [("yes", "img")]),
        (r"a{b:url(\78 \.png)}", [("x.png", "img")]),
        (r"a{b:url(\110000 \0 y)}", [("\ufffd\ufffdy", "img")]),
        ("a{b:url()} c{d:url('')}", []),
        ("a{b:url(unclosed", []),
        ("a{b:url('unclosed\n')}", []),
        # What begins a comment elsewhere begins none in a string or in a url().
        ('a[accept="image/*"]{} b{c:url(yes)} /* url(no) */', [("yes", "img")]),
        (
            "a{b:url(data:image/*;base64,AA)} c{d:url(yes)}",
            [("data:image/*;base64,AA", "img"), ("yes", "img")],
        ),
        ("a{content:'url(no)'} b{c:url(yes)}", [("yes", "img")]),
        (r""".b-\[\'x\'\]{b:url(yes)} c{d:url('too')}""", [("yes", "img"), ("too", "img")]),
        ('// it\'s no comment\na{b:url("yes")}', [("yes", "img")]),
        (r"""a{b:url("x\"y")}""", [('x"y', "img")]),
        ("a{b:url(not one.png)} c{d:url(yes)}", [("yes", "img")]),
        ("a{b:url(data:,<svg a='b'><path c='url(#d)'/></svg>)}\nc{d:url(yes)}", [("yes", "img")]),
        ("@namespace url(http://n/);@namespace svg 'http://s/';a{b:url(yes)}", [("yes", "img")]),
        ("@import/**/url(a.css);@import /* x */ 'b.css'", [("a.css", "css"), ("b.css", "css")]),
        ("a{b:curl(no) my-url(no) url(yes)}", [("yes", "img")]),
    ],
)
def test_references_of_a_sheet(sheet, expected):
    assert list(references_in(sheet)) == expected


@given(st.text(alphabet="url(@import)\"' \\/*\nxa0;", max_size=200))
def test_no_sheet_raises(sheet):
    for reference, kind in references_in(sheet):
        assert reference
        assert kind in ("css", "img", "font")


@pytest.mark.parametrize(
    "piece",
    [
        *("url(", "url('", 'url("', "@import ", "@import '", "/*", "url(   ", "url(a", "\\", "'"),
        *("image-set(", "image-set('", "image-set('a'", "("),
        *("'/*", "@import/**/", "@namespace a ", "url(\\", "\\'", '"\n', "url(a'"),
    ],
)
def test_cost_grows_with_the_length_only(piece):
    sheet = piece * (1_000_000 // len(piece)) + "url( image-set("
    started = time.process_time()
    for _ in references_in(sheet):
        pass
    assert time.process_time() - started < 2.0


def test_style_sheet_document_has_assets(page_of):
    page = page_of("@import 'more.css'; a{b:url(../i.png)}", "text/css")
    assert page.content_type == "text/css"
    assert [(link.url, link.kind) for link in page.assets] == [
        ("http://site.example/dir/more.css", "css"),
        ("http://site.example/i.png", "img"),
    ]
    assert page.links == ()


def test_long_style_sheet_is_cut_and_says_so(page_of):
    page = page_of("a{b:url(x)}" + " " * 2_000 + "a{b:url(y)}", "text/css", max_bytes=1_024)
    assert len(page.assets) == 1
    assert page.outcome is Outcome.PARSE_TRUNCATED


@pytest.mark.parametrize(
    ("sheet", "found"),
    [
        ("a{b:image-set('a.png' 1x, \"b.png\" 2x)}", ["a.png", "b.png"]),
        ("a{b:-webkit-image-set(url(a.png) 1x, 'b.png' 2x)}", ["a.png", "b.png"]),
        ("a{b:Image-Set('a.avif' type('image/avif'), 'b.png')}", ["a.avif", "b.png"]),
        ("a{b:image-set(linear-gradient(red, blue) 1x, 'b.png' 2x);c:'d'}", ["b.png"]),
        ("a{b:image-set('\\61.png' 1x)}", ["a.png"]),
        ("a{b:image-set('a.png' 1x;c:d}e{content:'f'}", ["a.png"]),
        ("a{b:image-set(url('a.png') 1x)}", ["a.png"]),
        ("a{b:my-image-set('a.png' 1x)}", []),
        ("/* image-set('a.png') */ a{b:'image-set('; c:'d'}", []),
        ("a{b:image-set('' 1x, 'a", []),
    ],
)
def test_strings_of_an_image_set_are_images(sheet, found):
    assert list(references_in(sheet)) == [(reference, "img") for reference in found]
