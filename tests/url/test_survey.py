"""All references of a page in one look: what joining them one by one and asking for each says."""

import sys
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_references import DIRECTORIES, references

from gossamer.config.url import UrlSettings
from gossamer.url import plain
from gossamer.url.canonical import Joiner
from gossamer.url.plain import KEY_BYTES, Keys, KeySet, each_key, md5_of, url_table

pytestmark = pytest.mark.skipif(not plain.is_compiled(), reason="gossamer.url._plain is missing")
MEMORY = Path("/proc/self/statm")
SETTINGS = [UrlSettings(), UrlSettings(max_bytes=256), UrlSettings(sort_query=True)]
Sets = tuple[Keys, Keys]


def sets_of(*halves: list[bytes]) -> Sets:
    made = KeySet(), KeySet()
    for held, keys in zip(made, halves, strict=True):
        for key in keys:
            held.add(key)
    return made


def no_sets() -> Sets:
    return sets_of([], [])


def joiner_at(base: str, settings: UrlSettings = SETTINGS[0]) -> Joiner:
    """Return one that knows how the authority of the base is written."""
    joiner = Joiner(settings)
    joiner.join(base, "x")
    return joiner


def looked_up(
    base: str, hrefs: list[str], reported: Sets, suspects: Sets, settings: UrlSettings
) -> tuple[bytes, list[str], list[str]]:
    urls = dict.fromkeys(filter(None, Joiner(settings).join_all(base, hrefs)))
    named = {url: md5_of(url)[:KEY_BYTES] for url in urls}
    return (
        b"".join(named.values()),
        [url for url, key in named.items() if not any(key in each for each in reported)],
        [url for url, key in named.items() if any(key in each for each in suspects)],
    )


def assert_agrees(base: str, hrefs: list[str], random: Random, settings: UrlSettings) -> bool:
    """Compare both ways, with some of the URLs known; tell whether there was a look."""
    everything, _, _ = looked_up(base, hrefs, no_sets(), no_sets(), settings)
    parts = [
        [key for key in each_key(everything) if random.random() < share]
        for share in (0.5, 0.3, 0.2, 0.1)
    ]
    reported, suspects = sets_of(*parts[:2]), sets_of(*parts[2:])
    joiner = joiner_at(base, settings)
    table = dict.fromkeys(hrefs, False)
    for _ in range(2):
        seen = joiner.survey(base, table, reported, suspects)
        if seen is not None:
            assert seen == looked_up(base, hrefs, reported, suspects, settings)
    return seen is not None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", SETTINGS, ids=["usual", "short", "sorted"])
def test_references_by_lot_are_looked_over_alike(seed, settings):
    random = Random(seed)
    looks = 0
    for directory in DIRECTORIES:
        for name in ("", "page.html", "page?q=1", "a%20b"):
            hrefs = [href for href in references(random, 60) if href.isascii()]
            looks += assert_agrees(directory + name, [*hrefs, ""], random, settings)
    assert looks >= 2 * len(DIRECTORIES) - 6


@given(
    st.sampled_from(DIRECTORIES),
    st.lists(st.text("ab.:/?&@!$*-1%é", max_size=10), max_size=12),
    st.randoms(use_true_random=False),
)
def test_any_references_are_looked_over_alike(directory, hrefs, random):
    is_ascii = all(map(str.isascii, hrefs))
    looked = assert_agrees(directory + "p", hrefs, random, SETTINGS[0])
    assert looked is is_ascii or "//a" in directory


@given(st.lists(st.text("aAhHtTpP.:/?# \t%é", max_size=9), max_size=3))
def test_plain_references_mean_the_same_on_all_pages_of_a_directory(hrefs):
    joiner = joiner_at("http://h/d/")
    urls = joiner.join_plain("http://h/d/", hrefs)
    for name in ("p", "q?r=s", "%41"):
        assert urls in (None, joiner.join_all(f"http://h/d/{name}", hrefs))


def test_plain_references_are_joined_where_the_server_is_known():
    assert joiner_at("http://h/").join_plain("http://h/d/", ["a"]) == ["http://h/d/a"]
    assert joiner_at("http://h/").join_plain("http://h/d/", ["a", "?"]) is None
    assert joiner_at("http://h/").join_plain("http://other/d/", ["a"]) is None


def test_each_url_is_named_once_where_it_was_first():
    base = "http://h/d/p"
    hrefs = dict.fromkeys(["b", "a", "../d/b", "/d/a", "./b", "http://h/d/c", "c"], False)
    _, unreported, suspected = joiner_at(base).survey(base, hrefs, no_sets(), no_sets())
    assert unreported == ["http://h/d/b", "http://h/d/a", "http://h/d/c"]
    assert suspected == []


@pytest.mark.parametrize("base", ["http://h/a b", "http://h/./a", "http://h/é", "http://h", "x"])
def test_page_whose_url_is_not_plain_gets_no_look(base):
    joiner = joiner_at("http://h/")
    assert joiner.survey(base, {"a": False}, no_sets(), no_sets()) is None
    table = url_table(9_999, 256, tidies=False)
    join = pytest.fail
    assert table.survey(base, 8, {"a": False}, no_sets(), no_sets(), join) is None


def test_authority_that_is_not_known_gets_no_look():
    joiner = joiner_at("http://h/")
    assert joiner.survey("http://other/", {"a": False}, no_sets(), no_sets()) is None
    assert joiner.survey("http://h/", {"a": False}, no_sets(), no_sets()) is not None


@pytest.mark.parametrize("answer", ["é", b"x", 3])
def test_answer_that_is_no_url_is_refused(answer):
    table = url_table(9_999, 256, tidies=False)
    with pytest.raises(ValueError, match="canonical"):
        table.survey("http://h/", 8, {"%41": False}, no_sets(), no_sets(), lambda *_: answer)


def test_what_goes_wrong_with_an_answer_is_told():
    table = url_table(9_999, 256, tidies=False)
    with pytest.raises(ZeroDivisionError):
        table.survey("http://h/", 8, {"%41": False}, no_sets(), no_sets(), lambda *_: 1 / 0)


def test_table_that_changes_while_it_is_looked_over_does_no_harm():
    table = url_table(9_999, 256, tidies=False)
    hrefs = {f"%41{number}": False for number in range(100)}

    def join(base, href):
        hrefs.update((f"{href}{number}", False) for number in range(9))
        table.join("http://h/", 8, [f"x{number}" for number in range(50)])
        return base + href

    keys, _, _ = table.survey("http://h/", 8, hrefs, no_sets(), no_sets(), join)
    assert 0 < len(keys) <= 100 * KEY_BYTES


@pytest.mark.parametrize(
    "sets", [(1, 2), (KeySet(), 2), (KeySet(),), [KeySet(), KeySet()], None, (set(), set())]
)
def test_other_sets_are_refused(sets):
    table = url_table(9_999, 256, tidies=False)
    for pair in ((sets, no_sets()), (no_sets(), sets)):
        with pytest.raises(TypeError):
            table.survey("http://h/", 8, {}, *pair, pytest.fail)


@pytest.mark.parametrize("place", range(6))
def test_other_arguments_are_refused(place):
    table = url_table(9_999, 256, tidies=False)
    given = ["http://h/", 8, {}, no_sets(), no_sets(), pytest.fail]
    assert table.survey(*given) == (b"", [], [])
    given[place : place + 1] = [b"other"] if place < 5 else []
    with pytest.raises(TypeError):
        table.survey(*given)


def test_page_of_many_links_is_looked_over_at_once():
    """Also where all of them mean few URLs."""
    base = "http://h/"
    many = {f"{'../' * (number % 60)}{number // 600}": False for number in range(300_000)}
    joiner = joiner_at(base)
    started = time.process_time()
    keys, unreported, _ = joiner.survey(base, many, no_sets(), no_sets())
    assert time.process_time() - started < 5
    assert len(keys) == KEY_BYTES * 500
    assert unreported == [f"http://h/{number}" for number in range(500)]


@pytest.mark.skipif(not MEMORY.is_file(), reason="there is no /proc to tell the memory in use")
def test_memory_is_given_back():
    hrefs = dict.fromkeys(["a", "../b", "https://o.example/", "%41", "x" * 300, "/" + "y" * 300], 0)
    joiner = joiner_at("http://h/")
    reported, suspects = no_sets(), no_sets()
    suspects[0].add(md5_of("http://h/a")[:KEY_BYTES])

    def use(times):
        for number in range(times):
            base = f"http://h/{number}"
            assert joiner.survey(base, hrefs, reported, suspects)
            assert joiner.survey(base, {"é": False}, reported, suspects) is None

    use(1_000)
    counts = sys.getrefcount(None), sys.getrefcount(reported[0])
    before = int(MEMORY.read_text().split()[1])
    use(30_000)
    later = sys.getrefcount(None), sys.getrefcount(reported[0])
    assert int(MEMORY.read_text().split()[1]) - before < 256
    assert abs(later[0] - counts[0]) < 100
    assert later[1] == counts[1]
