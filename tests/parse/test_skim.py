"""What the compiled reader reads by itself, and on what it gives up; then the tree is built."""

import ast
import inspect
from random import Random

import pytest
from skim_rig import (
    assert_agrees,
    compiled_only,
    read_by_pieces,
    read_by_tree,
    read_with_rest,
    skimmed,
    skimmed_clauses,
)
from turbohtml import parse

from gossamer.parse import html, pieces, places
from gossamer.parse.pieces import Pieces
from gossamer.parse.similarity import MAX_TEXT, MIN_CLAUSES, ROWS, fingerprint

pytestmark = compiled_only

SKIMMED = {
    "nothing": "",
    "only text": "x. y; z",
    "links": "<a href=x>1</a> <a href='y#f'>2</a> <A HREF=\"x\">3</A> <a href=#f>4</a> <a>5</a>",
    "references in links": "<a href='?a=1&amp;b&copy=2&lt&#233;&nosuch;&notit;'>x</a>",
    "line ends in links": "<a href='a\r\nb\rc'>x</a>",
    "of two attributes the first": "<a href=x href=y rel=a rel=nofollow>z</a>",
    "odd quotes": "<a href=\"x'y\"class='>'href=z/>1</a><a =href=x>2</a><a href = x>3</a>",
    "nofollow": "<a href=x>1</a><a href=x#f rel=nofollow>2</a><a href=y rel='ugc NOFOLLOW'>3</a>",
    "images": "<img src=a srcset='b 1x, c 2x' longdesc=d usemap=#m><area href=e><iframe src=f>",
    "links in the head": "<link rel=canonical href=a><link rel=alternate hreflang=de href=b>",
    "a base": "<head><base href=/b/></head><a href=x>1</a><img src=y>",
    "robots": "<meta name=ROBOTS content=nofollow><meta name=gossamer content=noindex>",
    "of two descriptions the first": "<meta name=description content=a><p>x"
    "<video><meta name=description content=b><meta name=description content=c></video>",
    "a description of a strange kind": "<meta http-equiv=x content='a b' name=Description>"
    "<meta name=description>",
    "a description without any content": "<meta name=description><meta name=description content=a>",
    "a title": "<title>a &amp; b\r\n &lt;c&gt; <b></title><title>d</title>",
    "a title that does not end": "<title>a</title",
    "an end tag that does not end": "<title>a</title  b",
    "a style that refers": "<style>a{b:url(c.png)} @import 'd.css';</style>",
    "a style with a source": "<style src=x></style><style background=y></style>",
    "a style attribute that refers": "<p style='a:url(b)'>1<p style=\"@import 'c'\">2",
    "a style attribute that hides it": "<p style='a:u\\72l(b)'>1<p style='a:&#117;rl(c)'>2"
    "<p style='a:u&bsol;72l(d)'>3",
    "an embed": "<embed src=a><embed src=b codebase=/c/><embed action=d type=text/html>",
    "scripts": "<script src=a>x<b></script><script><!-- x --></script>y",
    "media": "<video src=a poster=b>x<source src=c><track src=d><img src=e></video>"
    "<audio><source src=f></audio><picture><source srcset=g><img src=h></picture>",
    "a source alone": "<p><source src=x>",
    "objects": "<object data=a codebase=/b/ type=text/html><embed src=c></object>",
    "a root that carries": "<html manifest=a><head profile=b></head><body background=c><p>x",
    "raw text": "<xmp>a<b>&amp;</xmp><noframes><p>x</noframes><iframe src=a><p>y</iframe>",
    "a text area": "<textarea>\n\na &amp; <b></textarea>",
    "preformatted, with a reference": "<pre>&lt;a</pre><textarea>&amp;b</textarea>",
    "words that mean something elsewhere": "<title>charset=latin1</title><meta charset=utf-8>"
    "<meta name=keywords content='refresh charset'><meta http-equiv=x content=refresh>",
    "preformatted": "<pre>\n\na</pre><pre>\r\nb</pre><listing>\rc</listing>",
    "comments": "a<!-- -- > --->b<!-->c<!--->d<!-- --!>e<!x>f<?y>g</ z>h</>i<![CDATA[x>j]]>"
    "<a href=k>",
    "a comment that does not end": "a<!-- b",
    "a lone bracket": "1 < 2 <3 a<",
    "references in text": "x&lt&copy;&copyx&#65;&#x42;&#0;&#x80;&#xD800;&#x110000;&nosuch; &&#",
    "long names of characters": "x&CounterClockwiseContourIntegral; &NotEqualTilde;",
    "line ends": "a\r\nb\rc\n\r\nd",
    "wide punctuation": "\u4e00\u3002\u4e8c\uff0c\u4e09\uff1b\u56db\uff01\u4e94\uff1f\u516d\uff0e",
    "other control characters": "a\x01b\fc\vd\x7f",
    "tables": "<table border><caption>a</caption><colgroup><col><tbody>\n<tr><td>b<th>c</th>"
    "<tr><td><table><tr><td>d</td></tr></table>e</tr><tr><th>f</tr></table>g",
    "parts of a table that end open cells": "<table><thead><tr><th>a<th>b\n</thead>\n<tr><td>c"
    "</tbody><tfoot><tr><td>d</tfoot></table>e",
    "a form across a table": "<table><form action=x><tr><td><input></td></tr></form></table>",
    "a selection": "<select><option>a<optgroup><option>b</option></select>c",
    "a drawing": "<svg><title>a</title><g><path d=x /><text>b</text></g><use href=#c /></svg>d",
    "a drawing that ends itself": "<svg/>x",
    "links in a drawing": "<a href=x><svg><text>a<a xlink:href='y#f'>b<tspan>c</a></tspan>"
    "<a xlink:href=z />d<use href=v /></svg>e</a><video src=w><svg><a xlink:href=u>f</svg></video>",
    "left open": "<p><b>a<div>b<i>c",
    "misnested": "<b>1<p>2</b>3</p><a href=x>4<div>5</a>6</div>",
    "end tags that end nothing": "x</p></b></br></a></td></html></video>",
    "a form": "<form action=x><input src=y><button>z</button></form>",
    "more text than is looked at": "x. <p>y</p>" * (MAX_TEXT // 4),
    "the last character looked at": "x" * (MAX_TEXT - 2) + "&NotEqualTilde;",
}
GIVEN_UP = {
    "NUL": "a\0b",
    "a byte order mark": "\ufeffx",
    "white space by reference at the beginning": "&#32;x",
    "white space by reference after the head": "<head></head>&#10;<title>x</title>",
    "text in a table": "<table>x<tr><td>y</table>",
    "an element in a table": "<table><p>x<tr><td>y</table>",
    "a field in a table": "<p><b></p>x<table><tr><td>1<tr><input>\n<td>2</table>",
    "a table in a table": "<table><table>",
    "the end of another cell": "<table><tr><td></th>x</table>",
    "the end of a body in a cell": "<table><tr><td></tbody>x</table>",
    "too many tables": "<table><tr><td>" * 65,
    "a cell that carries": "<table><td background=x>",
    "an element in a selection": "<select><p>x</select>",
    "a template": "<template><a href=x></template>",
    "frames": "<frameset><frame src=x></frameset>",
    "MathML": "<math><a href=x></math>",
    "plain text": "<plaintext><a href=x>",
    "what was called image": "<image src=x>",
    "HTML in a drawing": "<svg><p>x</svg>",
    "a comment in a drawing": "<svg><!-- > --></svg>",
    "a link in a drawing": "<svg><a href=x></svg>",
    "markup in the title of a drawing": "<svg><title><b>x</b></title></svg>",
    "a drawing that does not end": "<svg><g>",
    "a part of a drawing outside": "<text><svg></text><title>x</title></svg>",
    "a second html": "<html><html manifest=x>",
    "a second head": "<head></head><p>x<head profile=y>",
    "a second body": "<body><body background=x>",
    "the end of another part of a table": "<table><thead><tr><td></tbody>x</thead></table>",
    "the end of a link around a drawing": "<a href=x><svg></a></svg>",
    "a link in a drawing that may be refused": "<svg><a xlink:href=x rel=nofollow></svg>",
    "a body that comes late": "<p><img src=a><body background=b>",
    "a title after the head": "<head><title>a</title></head>\n<title>b</title>",
    "an end before any beginning": "</p>x",
    "a script in a script": "<script><!-- <script> </script> --></script>",
    "preformatted by reference": "<pre>&#10;x</pre>",
    "preformatted by name": "<pre>&NewLine;x</pre>",
    "a text area by reference": "<textarea>&#10;x</textarea>",
    "a refresh": "<noscript><meta http-equiv=refresh content='0;url=x'></noscript>",
    "a refresh by reference": "<meta http-equiv='ref&#114;esh' content='0;url=x'>",
    "a name by reference": "<meta name='d&#101;scription' content=a><meta name=description>",
    "a rel by reference": "<a href=x rel='no&#102;ollow'>",
    "a rel that is nearly nofollow": "<a href=x rel='nofollow\v'>",
    "a refused link that is followed later": "<a href=x rel=nofollow><a href=y><a href=x>",
    "a link that carries more": "<a href=x style='a:url(b)'>y</a>",
    "a list of places": "<area href=x ping='a b c'>",
    "a button": "<form method=post><button formaction=x>y</button></form>",
    "a form that carries": "<form style='a:url(b)'><form style='a:url(c)'>",
    "formatting that is opened again": "<div><i src=x></div><p>1<p>2",
    "one noscript in another": "<noscript><noscript src=x>",
    "a source in something else": "<video><p><source src=x>",
    "a source after an end": "<video><div></video></div><source src=x>",
    "a name of unusual length": "<custom-element-of-mine src=x>",
}


@pytest.mark.parametrize("markup", SKIMMED.values(), ids=SKIMMED)
def test_ordinary_page_is_skimmed_and_means_the_same(markup):
    assert skimmed(markup.encode()) is not None
    assert_agrees(markup.encode())


def test_texts_are_compared_clause_by_clause():
    """Of short texts the fingerprint says nothing."""
    assert skimmed_clauses(b"<p>a. B<b>c</p>; d")[:3] == [b"a", b"bc", b"d"]
    seen = [name for name, markup in SKIMMED.items() if skimmed_clauses(markup.encode())]
    assert len(seen) > 0.8 * len(SKIMMED)


@pytest.mark.parametrize("start", range(1, 4_200, 300))
def test_clauses_of_all_lengths_are_hashed_as_by_the_library(start):
    """Those that are longer than the compiled reader has room for, too."""
    random = Random(start)
    for length in range(start, start + 300):
        # All are different, and spaces do not count.
        texts = ("".join(random.choices("abcXYZ,-", k=length)) for _ in range(MIN_CLAUSES))
        text = "\n".join(text[:1] + " " + text[1:] for text in texts)
        assert skimmed(f"<p>{text}".encode()).simhash == fingerprint(text)


@pytest.mark.parametrize("markup", GIVEN_UP.values(), ids=GIVEN_UP)
def test_reader_gives_up_where_the_tree_matters(markup):
    assert skimmed(markup.encode()) is None
    assert skimmed(f"<!DOCTYPE html>{markup}".encode()) is None or markup.startswith("\ufeff")


@pytest.mark.parametrize(
    "body",
    [b"\xff", b"\xc3", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"],
)
@pytest.mark.parametrize("before", range(9))
def test_reader_gives_up_on_what_is_not_utf_8(body, before):
    assert skimmed(b"x" * before + body) is None
    assert skimmed(b"x" * before + body + b"yyyyyyyy") is None


def test_reader_takes_all_characters():
    text = "\u00e9\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    page = skimmed(f"<title>{text}</title><a href='{text}'>".encode())
    assert page.title == text
    assert list(page.references) == [text]


@pytest.mark.parametrize(
    ("charset", "body", "encoding"),
    [
        ("utf-8", "\u00e9", "UTF-8"),
        ("UTF8", "\u00e9", "UTF-8"),
        ("", "x", "windows-1252"),
        ("no such charset", "x", "windows-1252"),
        ("iso-8859-2", "x", "ISO-8859-2"),
        ("", "<meta charset=utf-8>\u00e9", "UTF-8"),
        ("", "<meta charset='Latin1'>x", "windows-1252"),
        ("", "<META http-equiv=Content-Type content='text/html; charset=UTF-8'>\u00e9", "UTF-8"),
        ("", "<meta charset=utf-8><meta charset=latin1>\u00e9", "UTF-8"),
        ("iso-8859-2", "<meta charset=utf-8>x", "ISO-8859-2"),
        ("", "<?xml version='1.0' encoding='utf-8'?><p>x", "windows-1252"),
        ("", f"<!--{'x' * 998}--><meta charset=utf-8>\u00e9", None),
        ("", f"<!--{'x' * 997}--><meta charset=utf-8>\u00e9", "UTF-8"),
        ("", f"<!--{'x' * 1024}--><meta charset=utf-8>\u00e9", None),
        ("", "\u00e9", None),
        ("", "<meta charset=latin1>\u00e9", None),
        ("iso-8859-2", "\u00e9", None),
        ("utf-16", "x", None),
        ("", "<meta charset=utf-16>x", None),
        ("", "<meta charset=x-user-defined>x", None),
        ("", "<meta charset=iso-2022-jp>x", None),
        ("", "<meta charset=nonsense>x", None),
        ("", "<meta charset=''>x", None),
        ("", "<meta charset='utf&#45;8'>x", None),
        ("", "<!-- charset --><meta charset=utf-8>x", None),
        ("", "<script>charset</script><meta charset=utf-8>x", None),
        ("", "<title><meta charset</title><meta charset=utf-8>x", None),
        ("", "<title charset=latin1>charset=latin1</title><meta charset=utf-8>\u00e9", "UTF-8"),
        ("", "<script>charset</script>x", None),
        ("", "<meta charset=utf-8 charset=latin1>x", None),
        ("", "<meta charset=utf-8 content='charset=latin1'>x", None),
        ("", "<meta content='text/html; charset=utf-8'>x", None),
        ("", "<meta http-equiv=content-type content=\"charset='utf-8'\">x", None),
    ],
)
def test_encoding_is_certain_or_left_to_the_tree(charset, body, encoding):
    page = skimmed(body.encode(), charset)
    assert (page and page.charset) == encoding
    assert_agrees(body.encode(), charset)


def test_refresh_of_the_header_is_read_with_the_rest():
    assert_agrees(b"<base href=/b/><a href=x>y</a>", refresh_header="0;url=z")
    assert_agrees(b"<img src=x>", refresh_header="100;url=z")


@pytest.mark.parametrize("markup", [b"<i src=%d>", b"<p src=%d>", b"<form action=%d></form>"])
@pytest.mark.parametrize("reader", [read_with_rest, read_by_pieces])
def test_places_over_the_limit_are_told(reader, markup):
    """Five places are more than four for each link."""
    body = b"".join(markup % number for number in range(5)) + b"<p>1<p>2"
    page = reader(body, max_links=1)
    assert page == read_by_tree(body, max_links=1)
    assert "of 5 places with a URL were not read" in page.detail


@pytest.mark.parametrize("href", ["' '", "''", "'&#32;'", "'\n '"])
def test_a_refused_link_with_a_blank_reference_is_left_to_the_tree(href):
    assert_agrees(f"<a href={href} rel=nofollow>x</a><a href=y>z</a>".encode())


def test_rows_must_be_as_many_as_there_are():
    from gossamer.parse import _skim

    with pytest.raises(ValueError, match="256 rows of 64"):
        _skim.skim(b"x", {}, False, 1, 1, ROWS[1:], ())


@pytest.mark.parametrize("place", range(8))
def test_other_arguments_are_refused(place):
    from gossamer.parse import _skim

    given = [b"x", {}, False, 1, 1, ROWS, ()]
    assert _skim.skim(*given) is not None
    # Whatever it is, it is true or not.
    if place != 2:
        given[place : place + 1] = ["other"]
        with pytest.raises(TypeError):
            _skim.skim(*given)


@pytest.mark.parametrize("given", [(), ("a",), ("a", b"b"), (1, "b"), ("a", "b", "c")])
def test_a_title_is_told_by_two_strings(given):
    from gossamer.parse import _skim

    with pytest.raises(TypeError):
        _skim.title_said(*given)


@pytest.mark.parametrize(("name", "error"), [(b"", ValueError), ("bot", TypeError)])
def test_names_of_robots_must_be_words(name, error):
    from gossamer.parse import _skim

    with pytest.raises(error):
        _skim.skim(b"<meta name=x>", {}, False, 9, 9, ROWS, (b"robots", name))


@pytest.mark.parametrize("meaning", [5, "\ud800"])
def test_names_of_characters_that_mean_no_text_are_an_error(meaning):
    from gossamer.parse import _skim

    with pytest.raises((TypeError, UnicodeError)):
        _skim.skim(b"<p>&copy;", {"copy;": meaning}, False, 9, 9, ROWS, ())


def test_every_attribute_that_is_read_is_noticed():
    from gossamer.parse import _skim

    named = {attribute for _, attribute in (*places.LINK_PLACES, *places.ASSET_PLACES)}
    named |= set(places._ASSET_ATTRIBUTES)
    for module in (html, pieces, places):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "text_of":
                named |= {each.value for each in node.args if isinstance(each, ast.Constant)}
    # They say what a reference is for; or they are those of a meta.
    named -= {"as", "formmethod", "hreflang", "method", "rel", "type", "content", "name"}
    # It is noticed if it may hold a reference, which other tests look at.
    named -= {"style"}
    assert len(named) > 12
    assert named <= set(_skim.CARRIERS)


def test_every_attribute_that_the_parser_lists_is_noticed():
    from gossamer.parse import _skim

    attributes = (
        "action archive background cite classid codebase data dynsrc formaction href icon "
        "imagesrcset itemid itemtype longdesc lowsrc manifest ping poster profile src srcset "
        "usemap xlink:href xml:base"
    )
    given = " ".join(f"{name}=x" for name in attributes.split())
    tree = parse("".join(f"<{tag} {given}>" for tag in ("p", "area", "object", "applet", "img")))
    listed = {attribute for _, attribute, _ in tree.links()}
    assert len(listed) > 10
    assert listed <= set(_skim.CARRIERS)


class TestPieces:
    def test_a_piece_says_the_same_again(self):
        told_by = Pieces().told_by
        one = [b"<img src=a#f usemap=m></img>", b"<link rel=alternate hreflang=de href=b></link>"]
        first = told_by(one)
        assert first.assets == [("img", "a")]
        assert first.links == [("usemap", "m", False), ("alternate", "b", False)]
        assert first.languages == [("de", "b")]
        assert told_by(one) == first
        assert told_by(one[1:]).assets == []

    @pytest.mark.parametrize(
        "piece",
        [b"<base href=x>", b"<object data=x></object>", b"<embed src=x codebase=y></embed>",
         b"<applet code=x></applet>", b"<command icon=x></command>", b"<style>@import 'x'</style>",
         b"<html manifest=x>", b"<head profile=x>", b"<meta http-equiv=refresh content='0;x'>"],
    )  # fmt: skip
    def test_some_need_the_page_as_a_whole(self, piece):
        told_by = Pieces().told_by
        assert told_by([piece]) is None
        assert told_by([piece]) is None

    def test_many_unknown_ones_are_learned_little_by_little(self):
        told_by = Pieces().told_by
        many = [b"<img src=%d></img>" % number for number in range(30)]
        rounds = next(turn for turn in range(30) if told_by(many) is not None)
        assert 5 < rounds < 30
        assert told_by(many).assets == [("img", str(number)) for number in range(30)]

    def test_more_than_a_page_has_are_not_looked_at(self):
        assert Pieces().told_by([b"<img src=x></img>"] * 257) is None

    def test_memory_is_bounded(self):
        memory = Pieces()
        for number in range(5_000):
            memory.told_by([b"<img src=%d></img>" % number])
        assert 0 < len(memory._told) <= 4_096

    def test_long_ones_are_not_remembered(self):
        memory = Pieces()
        assert memory.told_by([b"<img src=%s></img>" % (b"x" * 600)]) is not None
        assert not memory._told
