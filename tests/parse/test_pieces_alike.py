"""A piece that is read without the parser says what the parser says of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.parse import pieces
from gossamer.parse.pieces import Pieces

SPACES = st.sampled_from([" ", "\n", "\t  ", "\x0b", "/", ""])
NAMES = st.sampled_from(
    [
        "src",
        "src",
        "src",
        "SRC",
        "data-src",
        "srcset",
        "usemap",
        "style",
        "alt",
        "type",
        "class",
        "id",
        "width",
        "title",
        "rel",
        "rel",
        "href",
        "href",
        "hreflang",
        "media",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        ["stylesheet", "canonical", "next", "prev", "previous", "nofollow", "alternate",
         "nofollow noopener", "icon", "Next", "https://o.example/x", "file:///x", "mailto:a",
         "a.js", "../b/c.png?d=1", "a#b", "#", "", "data:x", "java", "x y", "&amp;", "a&lt",
         "a%20b", "url(x)", "http://o/x", "//o/x", "/", "?", "é", "a\\b", " a ", ">", "<",
         "</script>", "#m"]
    ),
    st.text("ab/.?=#:&;'", max_size=6),
)  # fmt: skip
QUOTES = st.sampled_from(['"', '"', "'", ""])


@st.composite
def attributes(draw):
    quote = draw(QUOTES)
    equals = draw(st.sampled_from(["=", "=", "=", " = ", ""]))
    return draw(SPACES) + draw(NAMES) + equals + quote + draw(VALUES) + quote


@st.composite
def elements(draw):
    """Return an element with its end, as the compiled reader copies it."""
    name = draw(st.sampled_from(["script", "img", "IMG", "link", "a", "iframe"]))
    inside = "".join(draw(st.lists(attributes(), max_size=4)))
    end = draw(st.sampled_from(["", " ", "/", " /"]))
    return f"<{name}{inside}{end}></{name}>".encode()


@given(elements())
def test_it_agrees_with_the_parser(piece):
    assert pieces._read(piece) == pieces._read_by_parser(piece), piece


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (b"<script src='../ex/a_3A/index.js'></script>", "../ex/a_3A/index.js"),
        (b'<script type="module" src="a.js?v=1"></script>', "a.js?v=1"),
        (b'<img src="/a.png" alt="a > b" width="3" /></img>', "/a.png"),
        (b"<img alt=''\n class='c' src='a'></img>", "a"),
        (b'<link rel="next" title="7. A & B" href="a.html" /></link>', "a.html"),
        (b"<link href='../a.html' rel='prev'></link>", "../a.html"),
        (b'<link rel="canonical" href="https://a.example/b" /></link>', "https://a.example/b"),
        (b'<link rel="stylesheet" type="text/css" href="a.css" media="print"/></link>', "a.css"),
        (b'<a href="http://a.example/b"\n    rel="nofollow"></a>', "http://a.example/b"),
    ],
)
def test_ordinary_elements_take_no_parser(monkeypatch, piece, said):
    parsed = pieces._read_by_parser(piece)
    assert said in str(parsed)
    monkeypatch.setattr(pieces, "_read_by_parser", lambda _: None)
    assert replace(Pieces().told_by([piece]), needed=()) == parsed


@pytest.mark.parametrize("filler", [b" ", b" alt=''", b" alt='", b" alt", b" src='a'"])
def test_the_time_grows_with_the_length_only(filler):
    piece = b"<img" + filler * 100_000 + b" src='a b'></img>"
    told = pieces._read_plainly(piece)
    # Of two attributes with the same name the first counts.
    assert (told is not None) == (filler == b" src='a'")


def test_what_pages_say_together_is_remembered_within_limits():
    pieces_memory = Pieces()
    style = b"<link rel='stylesheet' href='a.css'></link>"
    for number in range(3_000):
        script = f"<script src='{number}.js'></script>".encode()
        told = pieces_memory.told_by([style, script, style])
        assert told.needed == (("css", ("a.css",)), ("js", (f"{number}.js",)))
        assert pieces_memory.told_by([style, script, style]) is told
    long = [f"<script src='{'x' * 400}{number}.js'></script>".encode() for number in range(8)] * 2
    assert pieces_memory.told_by(long) == pieces_memory.told_by(long)
    assert pieces_memory.told_by(long) is not pieces_memory.told_by(long)
    assert len(pieces_memory._pages) <= 1_024
