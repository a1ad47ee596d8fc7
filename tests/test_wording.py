"""Nothing that came from the web can steer a terminal or end a line."""

import json
import re
from xml.etree.ElementTree import fromstring
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import wording
from gossamer.wording import (
    bytes_in_words,
    count_in_words,
    readable,
    safe_json,
    safe_xml,
    seconds_in_words,
    shortened,
    visible,
)

any_text = st.text(st.characters())
valid_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(any_text)
def test_visible_text_prints_and_stays_on_one_line(text):
    assert visible(text).isprintable()


@given(any_text)
def test_printable_text_is_left_alone(text):
    if text.isprintable():
        assert visible(text) is text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb\rc", "a\\x0ab\\x0dc"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2028", "\\u2028"),
        ("\x9b2J", "\\x9b2J"),
        ("\U000e0041", "\\U000e0041"),
        ("[red]grün[/red] 漢字", "[red]grün[/red] 漢字"),
    ],
)
def test_what_would_steer_is_shown_as_an_escape(text, shown):
    assert visible(text) == shown


FAMILY = "\U0001f469\u200d\U0001f467"
PERSIAN = "\u0645\u06cc\u200c\u062e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (FAMILY, FAMILY),
        (PERSIAN, PERSIAN),
        ("pay\u200dpal", "pay\\u200dpal"),
        ("\u200cü\u200c\u200dü\u200c", "\\u200cü\\u200c\\u200dü\\u200c"),
        ("ü\u200d\u202eü\x1b", "ü\u200d\\u202eü\\x1b"),
    ],
)
def test_joiners_stay_where_a_script_or_an_emoji_needs_them(text, shown):
    assert readable(text) == shown


@given(any_text)
def test_readable_text_prints_but_for_joiners(text):
    assert re.sub("[\u200c\u200d]", "", readable(text)).isprintable()
    if "\u200c" not in text and "\u200d" not in text:
        assert readable(text) == visible(text)


def test_what_is_printable_is_safe():
    """By this safe_json tells what it need not look through."""
    unsafe = [char for char in map(chr, range(0x110000)) if re.match(wording._UNSAFE, char)]
    assert {"\x9b", "\u061c", "\u200e", "\u202e", "\u2066", "\ufeff"} <= set(unsafe)
    assert not any(map(str.isprintable, unsafe))


@given(valid_text)
def test_safe_json_means_the_same(text):
    safe = safe_json(json.dumps({text: text}, ensure_ascii=False).encode()).decode()
    assert json.loads(safe) == {text: text}
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]", safe)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\x7f\x85\x9b")))
def test_safe_xml_means_the_same(text):
    text = text.replace("\ufffe", "").replace("\uffff", "")
    safe = safe_xml(f"<a b={quoteattr(text)}>{escape(text)}</a>".encode()).decode()
    element = fromstring(safe)
    assert (element.text or "", element.get("b")) == (text, text)
    assert not re.search("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]", safe)


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (20_000_000, "20 MB"), (3.2e12, "3.2 TB")],
)
def test_sizes_in_words(count, words):
    assert bytes_in_words(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.21, "3.2 s"), (245, "4 min 5 s"), (7380, "2 h 3 min")]
)
def test_durations_in_words(seconds, words):
    assert seconds_in_words(seconds) == words


@given(any_text, st.integers(2, 30))
def test_shortened_text_prints_and_is_never_longer(text, most):
    short = shortened(text, most)
    assert short.isprintable()
    assert len(short) <= most
    if len(visible(text)) <= most:
        assert short == visible(text)


def test_json_is_safe_for_a_terminal_and_means_the_same():
    text = "a\x7f\x9b2J\u202e\U000e0041ü"
    encoded = safe_json(json.dumps(text, ensure_ascii=False).encode())
    assert json.loads(encoded) == text
    assert encoded.decode().isprintable()


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1_234_567, "1,234,567 pages")],
)
def test_one_is_no_plural(count, words):
    assert count_in_words(count, "page") == words
    assert count_in_words(count, "story", "stories").endswith("y" if count == 1 else "ies")
