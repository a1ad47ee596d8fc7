import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.similarity import MAX_DISTANCE, distance, fingerprint

WORDS = [
    f"{first}{second}" for first in "bcdfghklmnprst" for second in ("ala", "ero", "in", "ou", "ut")
]
COUNT = 200
PINNED = 0x90718384F9138823
PINNED_LONG = 0x92119310E0050C25


def text_of(rng: random.Random, sentences: int = 80) -> str:
    """A made-up page: a frame that all pages share, then its own sentences."""
    frame = "\n".join(f"Menu entry {number}" for number in range(20))
    own = [" ".join(rng.choices(WORDS, k=12)) for _ in range(sentences)]
    return frame + "\n" + ". ".join(own)


def edited(rng: random.Random, text: str, edits: int) -> str:
    words = text.split(" ")
    for _ in range(edits):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def near(one: int | None, other: int | None) -> bool:
    assert one is not None
    assert other is not None
    return distance(one, other) <= MAX_DISTANCE


@pytest.mark.parametrize(("edits", "least"), [(0, 1.0), (1, 0.95), (2, 0.75)])
def test_small_edits_stay_near(edits, least):
    rng = random.Random(5)
    texts = [text_of(rng) for _ in range(COUNT)]
    stays = [near(fingerprint(text), fingerprint(edited(rng, text, edits))) for text in texts]
    assert sum(stays) / COUNT >= least


@pytest.mark.parametrize(("edits", "least"), [(1, 0.95), (2, 0.9), (5, 0.75)])
def test_small_edits_of_long_pages_stay_near(edits, least):
    rng = random.Random(15)
    texts = [text_of(rng, sentences=500) for _ in range(COUNT)]
    stays = [near(fingerprint(text), fingerprint(edited(rng, text, edits))) for text in texts]
    assert sum(stays) / COUNT >= least


def test_different_long_pages_are_far():
    rng = random.Random(16)
    prints = [fingerprint(text_of(rng, sentences=500)) for _ in range(COUNT)]
    assert not any(near(one, other) for n, one in enumerate(prints) for other in prints[:n])


def test_long_page_of_clauses_that_are_all_of_one_length_has_a_fingerprint_of_its_own():
    """No clause has the length of the sample, so that all of them count."""
    one = "\n".join(f"entry{number:04}x" for number in range(300))
    other = "\n".join(f"entry{number:04}x" for number in range(300, 600))
    assert not near(fingerprint(one), fingerprint(other))


def test_different_pages_of_one_site_are_far():
    rng = random.Random(6)
    prints = [fingerprint(text_of(rng)) for _ in range(COUNT)]
    assert not any(near(one, other) for n, one in enumerate(prints) for other in prints[:n])


def test_short_pages_of_one_site_are_far():
    rng = random.Random(7)
    prints = [fingerprint(text_of(rng, sentences=12)) for _ in range(COUNT)]
    pairs = [near(one, other) for n, one in enumerate(prints) for other in prints[:n]]
    assert sum(pairs) / len(pairs) < 0.001


def test_every_bit_is_used():
    rng = random.Random(8)
    prints = [fingerprint(text_of(rng)) or 0 for _ in range(COUNT)]
    for bit in range(64):
        share = sum(value >> bit & 1 for value in prints) / COUNT
        assert 0.02 < share < 0.98


def test_case_and_spaces_do_not_count():
    text = text_of(random.Random(9))
    assert fingerprint(text) == fingerprint(
        text.upper().replace(" ", "  \t").replace("\n", "\r\n\n")
    )


def test_order_of_clauses_does_not_count():
    lines = [f"line number {number}" for number in range(100)]
    assert fingerprint("\n".join(lines)) == fingerprint("\n".join(reversed(lines)))


def test_too_little_text_has_no_fingerprint():
    assert fingerprint("") is None
    assert fingerprint("a few words\nin two lines") is None
    assert fingerprint(" \n\t" * 1_000) is None


def test_wide_punctuation_parts_clauses():
    assert fingerprint("\u5929\u6c14\u5f88\u597d\u3002" * 20) is not None


def test_fingerprint_is_the_same_for_ever():
    """Fingerprints are stored and compared with those of later crawls."""
    assert fingerprint("\n".join(f"clause {number}" for number in range(50))) == PINNED
    assert fingerprint("\n".join(f"clause {number}" for number in range(5_000))) == PINNED_LONG


def test_distance_counts_bits():
    assert distance(0, 0) == 0
    assert distance(0, (1 << 64) - 1) == 64
    assert distance(0b1010, 0b0110) == 2


@given(st.text())
def test_any_text_has_a_fingerprint_of_64_bits(text):
    value = fingerprint(text)
    assert value is None or 0 <= value < 1 << 64


def test_longest_text_fits_the_lanes():
    value = fingerprint("a\n" * 60_000)
    assert value is not None
    assert value == fingerprint("a\n" * 20)
