"""A piece that is read without the parser says what the parser says of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        "href",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        ["a.js", "../b/c.png?d=1", "a#b", "#", "", "data:x", "java", "x y", "&amp;", "a&lt",
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
    name = draw(st.sampled_from(["script", "img", "IMG", "link", "iframe"]))
    inside = "".join(draw(st.lists(attributes(), max_size=4)))
    end = draw(st.sampled_from(["", " ", "/", " /"]))
    return f"<{name}{inside}{end}></{name}>".encode()


@given(elements())
def test_it_agrees_with_the_parser(piece):
    assert pieces._read(piece) == pieces._read_by_parser(piece), piece


@pytest.mark.parametrize(
    ("piece", "asset"),
    [
        (b"<script src='../ex/a_3A/index.js'></script>", ("js", "../ex/a_3A/index.js")),
        (b'<script type="module" src="a.js?v=1"></script>', ("js", "a.js?v=1")),
        (b'<img src="/a.png" alt="a > b" width="3" /></img>', ("img", "/a.png")),
        (b"<img alt=''\n class='c' src='a'></img>", ("img", "a")),
    ],
)
def test_ordinary_scripts_and_pictures_take_no_parser(monkeypatch, piece, asset):
    parsed = pieces._read_by_parser(piece)
    assert parsed.assets == [asset]
    monkeypatch.setattr(pieces, "_read_by_parser", lambda _: None)
    assert Pieces().told_by([piece]) == parsed


@pytest.mark.parametrize("filler", [b" ", b" alt=''", b" alt='", b" alt", b" src='a'"])
def test_the_time_grows_with_the_length_only(filler):
    piece = b"<img" + filler * 100_000 + b" src='a b'></img>"
    assert pieces._ONE_SOURCE.fullmatch(piece) is None
