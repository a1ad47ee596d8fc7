"""What the compiled reader says of a page is what its tree says, whatever the page is."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skim_pages import damaged, made_page
from skim_rig import DOCUMENTATION, assert_agrees, compiled_only, pages_of, skimmed

from gossamer.parse.directives import names_of

pytestmark = compiled_only
CHARSETS = st.sampled_from(["utf-8", "utf-8", "", "iso-8859-1", "no such charset"])
PAGES = st.randoms(use_true_random=False).map(made_page)


@settings(max_examples=600, deadline=None)
@given(PAGES, CHARSETS)
def test_made_pages_are_read_alike(body, charset):
    assert_agrees(body, charset)


@settings(max_examples=200, deadline=None)
@given(PAGES, st.sampled_from([1, 2, 5, 20]), st.booleans(), st.sampled_from(["", "0;url=r"]))
def test_made_pages_are_read_alike_under_other_settings(body, max_links, obeys, refresh):
    assert_agrees(
        body, max_links=max_links, obey_robots_meta=obeys, refresh_header=refresh,
        near_duplicates=False,
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), CHARSETS)
def test_any_bytes_are_read_alike(body, charset):
    assert_agrees(body, charset)


def test_pages_of_a_fixed_lot_are_read_alike():
    """They are more various than those that can be made simpler when they fail."""
    random = Random(1)
    count = 0
    for _ in range(25_000):
        body = made_page(random)
        if skimmed(body) is not None:
            count += 1
            assert_agrees(body)
    # Otherwise all tests here would compare the tree with itself.
    assert count > 6_000


@pytest.mark.parametrize("agent", ["keywords", "Description", "-", "refresh"])
def test_pages_that_speak_to_another_robot_are_read_alike(agent):
    random = Random(4)
    count = 0
    for _ in range(2_000):
        body = made_page(random)
        if b"<meta" in body.lower() and skimmed(body) is not None:
            count += 1
            assert_agrees(body, names=names_of(agent))
    assert count > 100


def test_damaged_pages_are_read_alike():
    random = Random(2)
    count = 0
    for _ in range(4_000):
        body = damaged(random, made_page(random))
        if skimmed(body) is not None:
            count += 1
            assert_agrees(body)
    assert count > 500


@pytest.mark.parametrize("package", DOCUMENTATION)
def test_damaged_pages_of_people_are_read_alike(package):
    """Of each a part, for most damages leave the rest of a page to its tree."""
    random = Random(3)
    count = 0
    for page in pages_of(package):
        for _ in range(20):
            start = random.randint(0, len(page))
            body = damaged(random, page[start : start + 2_000])
            count += skimmed(body) is not None
            assert_agrees(body, random.choice(("utf-8", "", "iso-8859-1", "shift_jis")))
    assert count > 100
