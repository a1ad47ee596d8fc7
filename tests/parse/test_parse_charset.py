"""Texts in the charsets of the web become UTF-8, as browsers read them."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.messages import Page
from gossamer.parse.charset import codec_of, recoded
from gossamer.parse.text import visible_text

LATIN = "é".encode("latin-1")


@pytest.mark.req("S3.64")
@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("windows-874", "cp874", "สวัสดี"),
        ("ISO-8859-8-I", "iso8859-8", "שלום"),
        ("x-mac-cyrillic", "mac-cyrillic", "Привет"),
        ("Shift_JIS", "cp932", "①髙橋"),
        ("EUC-KR", "cp949", "똠방각하"),
        ("windows-1252", "cp1252", "€"),
        ("UTF-16LE", "utf-16-le", "Straße"),
        ("UTF-8", "utf-8", "Straße"),
    ],
)
def test_a_text_is_in_utf8_afterwards(charset: str, codec: str, text: str) -> None:
    assert recoded(text.encode(codec), charset) == (text.encode(), False)


@pytest.mark.req("S3.77")
def test_what_cannot_be_read_is_told_and_a_few_bad_bytes_are_not() -> None:
    assert recoded("Привет".encode("cp1251") * 9, "UTF-8")[1]
    assert recoded(b"\xff" * 9, "EUC-JP")[1]
    assert recoded(b"anything", "replacement")[1]
    assert recoded(b"anything", "no-such-charset") == (b"anything", True)
    few = b"A page with some words and one wrong letter: " + LATIN
    assert recoded(few, "UTF-8") == (few, False)


def test_without_a_charset_it_is_no_text() -> None:
    assert recoded(b"\x89PNG\xff\xff", "") == (b"\x89PNG\xff\xff", False)


@given(body=st.binary(max_size=200), charset=st.sampled_from(["", "utf-8", "gbk", "big5", "\0"]))
def test_nothing_is_raised(body: bytes, charset: str) -> None:
    made, _ = recoded(body, charset)
    if charset in ("gbk", "big5"):
        made.decode()


def test_labels_are_those_of_the_standard() -> None:
    assert codecs.lookup(codec_of(" Latin1 "))
    assert codec_of("windows-1252")
    assert codec_of("rot13") == codec_of("") == codec_of("../x") == ""


def test_plain_text_is_read_in_its_charset() -> None:
    page = Page(content_type="text/plain", charset="windows-874")
    assert visible_text("สวัสดี".encode("cp874"), page) == "สวัสดี"
    assert visible_text(b"abc", Page(content_type="text/plain")) == "abc"


@pytest.mark.parametrize(
    ("charset", "codec", "text", "query"),
    [
        ("windows-1252", "cp1252", "\u00e9", "%E9"),
        ("windows-1251", "cp1251", "\u044f", "%FF"),
        ("Shift_JIS", "cp932", "\u8868\u65e5", "%95\\%93%FA"),
        ("gb2312", "gbk", "\u6f22", "%9Dh"),
        ("ISO-8859-8-I", "iso8859-8", "\u05d0", "%E0"),
        ("ISO-2022-JP", "iso2022_jp", "\u65e5\u672c", "%1B$BF|K\\%1B(B"),
        ("utf-8", "utf-8", "\u00e9", "%C3%A9"),
        ("utf-16le", "utf-16-le", "\u00e9", "%C3%A9"),
    ],
)
def test_queries_are_asked_in_the_charset_of_the_page(page_of, charset, codec, text, query):
    """As browsers do (URL standard, "query state"); the path is always in UTF-8."""
    markup = f"<a href='/\u00b5?q={text}&r#{text}'>x</a><img src='?{text}'>"
    if codec in ("cp932", "gbk", "iso8859-8", "cp1251", "iso2022_jp"):
        markup = markup.replace("\u00b5", "&micro;")
    page = page_of(markup.encode(codec), f"text/html; charset={charset}")
    assert page.links[0].url == f"http://site.example/%C2%B5?q={query}&r"
    assert page.assets[0].url == f"http://site.example/dir/page.html?{query}"


def test_what_a_charset_lacks_is_asked_for_by_number(page_of):
    for markup in (
        b"<a href='?q=&#26085;&eacute;'>x</a>",
        b"<base><a href='?q=&#26085;\xe9'>x</a>",
    ):
        page = page_of(markup, "text/html; charset=latin1")
        assert page.links[0].url == "http://site.example/dir/page.html?q=%26%2326085%3B%E9"


def test_a_canonical_or_refresh_query_is_in_the_charset_of_the_page_too(page_of):
    markup = b"<link rel=canonical href='?\xe9'><meta http-equiv=refresh content='0;url=?\xe8'>"
    page = page_of(markup, "text/html; charset=latin1")
    assert page.canonical == "http://site.example/dir/page.html?%E9"
    assert page.refresh == "http://site.example/dir/page.html?%E8"
