"""The resource guard: a decision over what the kernel says, and how often it is asked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.service.guard import (
    Guard,
    Reading,
    Word,
    machine_reading,
    parse_reading,
    trouble,
)
from gossamer.service.settings import GuardSettings

SETTINGS = GuardSettings()
CALM = Reading(ticks=1_000, idle_ticks=900, io_ticks=10, free_bytes=1 << 30)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (Reading(2_000, 1_500, 100, 1 << 30), ""),
        (Reading(2_000, 1_299, 10, 1 << 30), "processors are busy 60 %"),
        (Reading(2_000, 1_300, 10, 1 << 30), ""),
        (Reading(2_000, 1_800, 311, 1 << 30), "waiting for disks"),
        (Reading(2_000, 1_800, 310, 1 << 30), ""),
        (Reading(2_000, 1_800, 10, 31_999_999), "bytes of memory"),
        (Reading(2_000, 1_800, 10, 32_000_000), ""),
        (Reading(2_000, 1_800, 10, None), ""),
    ],
)
def test_each_limit_counts_for_itself(after: Reading, words: str) -> None:
    found = trouble(CALM, after, SETTINGS)
    assert words in found
    assert bool(found) == bool(words)


def test_a_count_that_goes_back_is_not_more_than_all_of_the_time() -> None:
    everything = GuardSettings(max_cpu_percent=100, max_io_wait_percent=100)
    assert trouble(CALM, Reading(1_100, 895, 5, 1 << 30), everything) == ""
    assert trouble(CALM, Reading(1_100, 1_050, 160, 1 << 30), everything) == ""


def test_without_a_difference_only_memory_counts() -> None:
    assert trouble(Reading(), Reading(), SETTINGS) == ""
    assert trouble(CALM, CALM, SETTINGS) == ""
    assert trouble(Reading(), Reading(free_bytes=0), SETTINGS)


def test_a_busy_machine_is_asked_again_later_and_not_for_ever() -> None:
    settings = GuardSettings(retry_seconds=30, tries=2)
    looks = []

    def busy() -> Reading:
        looks.append(1)
        return Reading(free_bytes=0)

    guard = Guard(settings, busy)
    looks.clear()
    assert guard.ask(100) is Word.WAIT
    assert guard.ask(129) is Word.WAIT
    assert len(looks) == 1, "not before its time"
    assert guard.ask(130) is Word.WAIT
    assert guard.ask(160) is Word.GIVE_UP
    assert "memory" in guard.why
    assert guard.ask(190) is Word.WAIT, "the next task begins anew"


def test_a_calm_machine_is_looked_at_each_time() -> None:
    readings = [CALM, Reading(2_000, 1_900, 10, 1 << 30), Reading(3_000, 1_900, 10, 1 << 30)]
    guard = Guard(SETTINGS, lambda: readings.pop(0))
    assert guard.ask(1) is Word.GO
    assert guard.ask(2) is Word.WAIT
    assert "busy 100 %" in guard.why


def test_looks_that_follow_each_other_closely_tell_nothing_new() -> None:
    readings = [CALM, Reading(2_000, 1_900, 10, 1 << 30), Reading(2_001, 1_900, 10, 1 << 30)]
    guard = Guard(SETTINGS, lambda: readings.pop(0))
    assert guard.ask(1) is Word.GO
    assert guard.ask(1.01) is Word.GO, "one busy tick is not a busy machine"


def test_a_busy_machine_stays_busy_until_there_is_news() -> None:
    readings = [CALM, Reading(2_000, 900, 10), Reading(2_001, 901, 10), Reading(3_000, 1_900, 10)]
    guard = Guard(GuardSettings(retry_seconds=1), lambda: readings.pop(0))
    assert [guard.ask(now) for now in (1, 2, 3)] == [Word.WAIT, Word.WAIT, Word.GO]


def test_what_the_kernel_says_is_understood() -> None:
    stat = "cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 1 1 1\n"
    memory = "MemTotal:  100 kB\nMemFree: 1 kB\nMemAvailable:   2000 kB\n"
    assert parse_reading(stat, memory) == Reading(531, 450, 50, 2_048_000)


def test_this_machine_can_be_read(tmp_path: Path) -> None:
    reading = machine_reading()
    assert reading.ticks > reading.idle_ticks >= reading.io_ticks >= 0
    assert machine_reading(tmp_path) == Reading()


@given(st.text(), st.text())
def test_whatever_the_kernel_says_nothing_is_raised(stat: str, memory: str) -> None:
    parse_reading(stat, memory)
    parse_reading(f"cpu {stat}", f"MemAvailable: {memory}")
