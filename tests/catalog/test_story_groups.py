"""Groups of stories that say nearly the same: they depend on the texts alone."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from news_desk import Desk, article, bands, model_bands

from gossamer.catalog import extractions, story_groups
from gossamer.catalog.extractions import Extraction

STORIES = 6


class Move(NamedTuple):
    """A story is extracted, for the first time or again."""

    story: int
    fingerprint: int | None


# Links of a chain, in which one story holds others together; or whatever is around a centre.
CENTRES = (0x0123456789ABCDEF, 0xFEDCBA9876543210)
links = st.sampled_from([CENTRES[0] ^ link for link in (0, 0x7, 0x3F, 0x1FF, 1 << 63)])
around = st.builds(
    lambda centre, bits: centre ^ sum(1 << bit for bit in bits),
    st.sampled_from(CENTRES),
    st.sets(st.sampled_from((0, 1, 2, 15, 16, 31, 32, 47, 48, 63)), max_size=8),
)


# The largest one, at which chains are longest, half of the time.
distances = st.sampled_from([0, 1, 2, 3, 3, 3])


@st.composite
def moves(draw) -> list[Move]:
    """Every story is extracted once, in any order, and then some again."""
    fingerprints = draw(st.sampled_from([links, around]))
    first = draw(st.permutations(range(STORIES)))
    again = draw(st.lists(st.integers(0, STORIES - 1), max_size=10))
    return [
        *(Move(story, draw(fingerprints)) for story in first),
        *(Move(story, draw(st.one_of(fingerprints, st.none()))) for story in again),
    ]


def model_groups(fingerprints: dict[int, int | None], distance: int) -> dict[int, int | None]:
    """All pairs compared, and what hangs together found by spreading the lowest number."""
    name = {story: story for story, value in fingerprints.items() if value is not None}
    near = [
        (one, other)
        for one in name
        for other in name
        if one != other and (fingerprints[one] ^ fingerprints[other]).bit_count() <= distance
    ]
    for _ in name:
        for one, other in near:
            name[one] = min(name[one], name[other])
    shared = {value for value in name.values() if list(name.values()).count(value) > 1}
    return {
        story: name[story] if story in name and name[story] in shared else None
        for story in fingerprints
    }


@pytest.fixture
def desk():
    desk = Desk()
    yield desk
    desk.catalog.close()


class Newsdesk(Desk):
    """Stories of four sources, extracted as a property likes."""

    def __init__(self) -> None:
        super().__init__()
        self.stories = [self.story(f"source {number % 4}") for number in range(STORIES)]
        self.downloads = [self.download(story_id) for story_id in self.stories]

    def move(self, move: Move, distance: int) -> None:
        story_id, download_id = self.stories[move.story], self.downloads[move.story]
        extractions.requeue(self.database, story_id=story_id)
        result = Extraction(download_id, story_id, article(fingerprint=move.fingerprint))
        assert self.finish(result, near_distance=distance) == (1, 0)


class TestGroups:
    @given(moves(), distances)
    def test_groups_depend_on_the_texts_alone(self, sequence, distance):
        # Not on the order of extraction, nor on what was found in between, nor on repetitions.
        desk = Newsdesk()
        current: dict[int, int | None] = dict.fromkeys(desk.stories)
        for move in sequence:
            desk.move(move, distance)
            current[desk.stories[move.story]] = move.fingerprint
            assert desk.groups() == model_groups(current, distance)
            assert bands(desk) == model_bands(current)
        desk.catalog.close()

    @given(moves(), st.permutations(range(STORIES)), distances, distances)
    def test_after_all_was_done_again_another_distance_holds(self, sequence, order, old, new):
        desk = Newsdesk()
        current: dict[int, int | None] = dict.fromkeys(range(STORIES))
        for move in sequence:
            desk.move(move, old)
            current[move.story] = move.fingerprint
        for number in order:
            desk.move(Move(number, current[number]), new)
        by_story = {desk.stories[number]: value for number, value in current.items()}
        assert desk.groups() == model_groups(by_story, new)
        desk.catalog.close()

    def test_a_story_is_alone_until_a_second_one_comes(self, desk):
        first, second, third = (desk.story(name) for name in "ABC")
        prints = {first: 0b111, second: 0b000, third: (1 << 64) - 1}
        for story_id, value in prints.items():
            expected = dict.fromkeys(prints)
            assert desk.finish(
                Extraction(desk.download(story_id), story_id, article(fingerprint=value))
            ) == (1, 0)
            if story_id != first:
                expected |= {first: first, second: first}
            assert desk.groups() == expected

    def test_one_in_the_middle_unites_two_groups_and_parts_them_again(self, desk):
        left, left_too, right, right_too, middle = (desk.story() for _ in range(5))
        prints = {left: 0, left_too: 0, right: 0b111111, right_too: 0b111111, middle: 0b000111}
        ids = {story_id: desk.download(story_id) for story_id in prints}
        for story_id, value in prints.items():
            desk.finish(Extraction(ids[story_id], story_id, article(fingerprint=value)))
        assert set(desk.groups().values()) == {left}
        extractions.requeue(desk.database, story_id=middle)
        desk.finish(Extraction(ids[middle], middle, article(text="nothing", fingerprint=None)))
        assert desk.groups() == {
            left: left, left_too: left, right: right, right_too: right, middle: None,
        }  # fmt: skip

    def test_of_a_full_band_only_the_latest_stories_are_compared(self, desk, monkeypatch):
        monkeypatch.setattr(story_groups, "MAX_BAND", 2)
        # All agree in the lowest band, and in no other.
        prints = [number * 0x0F0F_0F0F_0F0F_0000 for number in range(1, 4)]
        old, *fillers = (desk.story() for _ in prints)
        late = desk.story()
        for story_id, value in zip((old, *fillers, late), (*prints, prints[0]), strict=True):
            desk.finish(Extraction(desk.download(story_id), story_id, article(fingerprint=value)))
        # The other three bands hold the first one alone: it is found.
        assert desk.groups()[late] == old
        lonely = desk.story()
        value = prints[1] ^ (1 << 16 | 1 << 32 | 1 << 48)
        desk.finish(Extraction(desk.download(lonely), lonely, article(fingerprint=value)))
        # It is near to the second one, but shares only the full band with it.
        assert (value ^ prints[1]).bit_count() == 3
        assert desk.groups()[lonely] is None

    def test_a_very_large_group_stays_together_when_a_story_leaves_it(self, desk, monkeypatch):
        monkeypatch.setattr(story_groups, "MAX_TAKEN_APART", 2)
        stories = [desk.story() for _ in range(4)]
        ids = {story_id: desk.download(story_id) for story_id in stories}
        for story_id in stories:
            desk.finish(Extraction(ids[story_id], story_id, article(fingerprint=5)))
        extractions.requeue(desk.database, story_id=stories[0])
        desk.finish(Extraction(ids[stories[0]], stories[0], article(fingerprint=None)))
        first, *rest = stories
        assert desk.groups() == {first: None} | dict.fromkeys(rest, rest[0])
