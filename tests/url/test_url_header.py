"""References in header lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.url.header import reference_in_header


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("/plain", "/plain"),
        ("/caf\xc3\xa9", "/café"),
        ("/caf\xe9", "/café"),
        ("/\xe6\x97\xa5", "/日"),
        ("/日", "/日"),
        ("/\xc3\xa9\xe9", "/\xc3\xa9\xe9"),
    ],
)
def test_utf_8_is_meant_where_it_is_that(value: str, meant: str) -> None:
    assert reference_in_header(value) == meant


@given(st.text())
def test_what_was_sent_as_utf_8_comes_back(text: str) -> None:
    assert reference_in_header(text.encode("utf-8", "ignore").decode("latin-1")) == text.encode(
        "utf-8", "ignore"
    ).decode("utf-8")
