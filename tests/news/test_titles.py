"""When two titles are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.news.titles import normal_title, title_key

pytestmark = pytest.mark.req("S4.31")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A house burns", "a   HOUSE burns!"),
        ("A house &amp; a barn burn", "A house & a barn burn"),
        ("<b>A house</b> burns", "A house burns"),
        (
            "Sports: the long headline of a story about a race | The Daily Loop",
            "The long headline of a story about a race - The Daily Loop",
        ),
    ],
)
def test_titles_that_are_one(one: str, other: str) -> None:
    assert title_key(one) == title_key(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A house burns", "A house burned"),
        ("Morning briefing: Monday", "Morning briefing: Tuesday"),
        ("Match 1-0", "Match 1-1"),
    ],
)
def test_titles_that_are_two(one: str, other: str) -> None:
    assert title_key(one) != title_key(other)


def test_the_name_of_the_source_is_no_headline() -> None:
    name = "The extraordinarily long-named daily newspaper of the town"
    title = f"Fire in a barn | {name}"
    assert normal_title(title, name) == f"fire in a barn {normal_title(name)}"
    assert title_key(f"Flood in a barn | {name}", name) != title_key(title, name)


@pytest.mark.parametrize("title", ["", "  ", "(no title)", "<p></p>", "...", "\u2026"])
def test_a_title_that_says_nothing_is_no_identity(title: str) -> None:
    assert title_key(title) is None


@given(st.text(max_size=3_000), st.text(max_size=50))
def test_any_text_has_a_short_normal_form_that_stays(title: str, source: str) -> None:
    normal = normal_title(title, source)
    assert len(normal) <= 1_024
    assert normal_title(normal) == normal
