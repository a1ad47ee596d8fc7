"""Defence against sites without end."""

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import least_cpu
from gossamer.config.url import UrlSettings
from gossamer.url.census import Census
from gossamer.url.traps import TrapWatch, is_tame, path_trap

SETTINGS = UrlSettings()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://h/a/a/a/a", "/a repeated"),
        ("http://h/x/a/a/a/a/y.html", "/a repeated"),
        ("http://h/a/b/a/b/a/b", "/a/b repeated"),
        ("http://h/x/a/b/c/a/b/c/a/b/c/", "/a/b/c repeated"),
        ("http://h/1/2/1/2/1/2", "/1/2 repeated"),
        ("http://h/7/7/7/7", "/7 repeated"),
        ("http://h/x/1/x/2/x/3/x/4", "/x 4 times"),
        ("http://h/a//b//c//d//e", "/ 4 times"),
        ("http://h/" + "/".join(map(str, range(41))), "more than 40 path segments"),
        ("http://h/x?a=1&a=1&a=1&a=1", "parameter a=1 4 times"),
    ],
)
def test_url_that_repeats_itself_is_a_trap(url, said):
    assert said in (path_trap(url, SETTINGS) or "")


@pytest.mark.parametrize(
    "url",
    [
        "http://h/",
        "http://h/a/a/a",
        "http://h/a/a/a/",
        "http://h/a/b/a/b/c",
        "http://h/1/2/1/3/1/4/1/5",
        "http://h/" + "/".join(map(str, range(40))) + "/",
        "http://h/api/java.base/java/util/concurrent/class-use/List.html",
        "http://h/x?u=/a/a/a/a/a/a",
        "http://h/x?tag=a&tag=b&tag=c&tag=d",
        "http://h/x?a=1&b=1&c=1&d=1&e=1",
    ],
)
def test_honest_url_is_not_a_trap(url):
    assert path_trap(url, SETTINGS) is None


def test_query_that_grows_from_page_to_page_is_a_trap():
    grown = "http://h/x?tag=a&tag=b&tag=c&tag=d"
    assert "growing query" in (path_trap(grown, SETTINGS, "http://h/x?tag=a&tag=b&tag=c") or "")
    assert path_trap(grown, SETTINGS, "http://h/x") is None
    assert path_trap(grown, SETTINGS, "http://h/other?tag=a&tag=b") is None
    assert path_trap(grown, SETTINGS, grown + "&tag=e") is None
    assert path_trap("http://h/x?a=1&b=2&c=3&d=4", SETTINGS, "http://h/x?a=1") is None


def test_settings_move_the_limits_and_exempt_hosts():
    assert path_trap("http://h/a/a", UrlSettings(max_repeated_segments=1)) is not None
    assert path_trap("http://h/a/b", UrlSettings(max_repeated_segments=1)) is None
    assert path_trap("http://h/a/a/a/a/a", UrlSettings(max_repeated_segments=5)) is None
    assert path_trap("http://h/a/b/c", UrlSettings(max_path_segments=2)) is not None
    exempt = UrlSettings(trap_exempt=("h",))
    assert path_trap("http://h/a/a/a/a", exempt) is None
    assert path_trap("http://g/a/a/a/a", exempt) is not None


@given(st.lists(st.sampled_from(["a", "b", "1", ""]), max_size=50), st.text("a=&1", max_size=20))
def test_path_trap_never_raises_and_short_paths_pass(segments, query):
    url = "http://h/" + "/".join(segments) + "?" + query
    reason = path_trap(url, SETTINGS)
    if len(segments) <= 3 and query.count("&") < 3:
        assert reason is None


def test_longest_path_costs_little():
    settings = UrlSettings(max_path_segments=10_000, max_repeated_segments=1_000)
    url = "http://h/" + "/".join(itertools.islice(itertools.cycle("abcdefghi"), 4_000))
    assert least_cpu(lambda: path_trap(url, settings)) < 0.2


def refused(watch: TrapWatch, urls: list[str]) -> list[str]:
    """The reasons, in order, of the URLs that were not admitted."""
    return [reason for url in urls if (reason := watch.admit("h", url)) is not None]


def test_calendar_is_quarantined_at_its_budget():
    watch = TrapWatch(UrlSettings(max_calendar_urls=100))
    months = [f"http://h/events/{1900 + n // 12}/{n % 12 + 1:02}" for n in range(150)]
    reasons = refused(watch, months)
    assert reasons == ["calendar-like: more than 100 URLs of the shape /events/{date}"] * 50


def test_default_budget_of_a_calendar_is_five_thousand():
    watch = TrapWatch(SETTINGS)
    days = [
        f"http://h/cal?date={y}-{m:02}-{d:02}"
        for y in range(1990, 2010)
        for m in range(1, 13)
        for d in range(1, 29)
    ]
    assert len(refused(watch, days)) == len(days) - 5_000


@pytest.mark.parametrize(
    "shape",
    [
        "http://h/article/{n}",
        "http://h/index.php?id={n}",
        "http://h/viewtopic.php?f=2&t={n}",
        "http://h/2024/05/17/{n}",
        "http://h/index.php?title=Page_{n}&action=view",
        "http://h/product/{n}?view=full&lang=en",
    ],
)
def test_large_honest_archive_is_not_quarantined(shape):
    watch = TrapWatch(SETTINGS)
    assert refused(watch, [shape.replace("{n}", str(n)) for n in range(20_000)]) == []


def test_articles_with_titles_are_not_counted_together():
    watch = TrapWatch(UrlSettings(max_calendar_urls=10, max_pattern_urls=10))
    words = ["".join(letters) for letters in itertools.product("abcdefg", repeat=4)]
    assert refused(watch, [f"http://h/2024/05/17/{word}" for word in words]) == []
    assert refused(watch, [f"http://h/{word}" for word in words]) == []


def test_endless_numbers_end_at_their_budget():
    watch = TrapWatch(UrlSettings(max_pattern_urls=1_000))
    urls = [f"http://h/maze/{n}" for n in range(1_500)]
    assert refused(watch, urls) == ["numbered: more than 1000 URLs of the shape /maze/{n}"] * 500
    assert watch.admit("other", "http://other/maze/1") is None


@pytest.mark.parametrize("text_values", [True, False])
def test_combinations_of_choices_are_quarantined(text_values):
    """Facets: few values each, combined without end, in any order and subset."""
    watch = TrapWatch(SETTINGS)
    values = ["red", "green", "blue", "black", "white"] if text_values else list("12345")
    urls = [
        "http://h/shop?"
        + "&".join(f"{name}={value}" for name, value in zip("abcdef", chosen, strict=True))
        for chosen in itertools.product(values, repeat=6)
    ]
    reasons = refused(watch, urls)
    assert len(reasons) == len(urls) - 2_000
    assert reasons[0] == "query combinations: more than 2000 on /shop?*"
    assert watch.admit("h", "http://h/shop") is None
    assert watch.admit("h", "http://h/shop?id=5") is None


def test_combinations_are_found_out_even_with_a_page_number():
    watch = TrapWatch(SETTINGS)
    urls = [
        f"http://h/shop?color={c}&size={s}&brand={b}&page={p}"
        for c, s, b, p in itertools.product(range(10), range(10), range(10), range(20))
    ]
    assert 0 < len(urls) - len(refused(watch, urls)) <= 4_001


def test_more_parameters_than_are_watched_change_nothing():
    watch = TrapWatch(UrlSettings(max_query_variants=50))
    names = "abcdefghijklmnopqrst"
    urls = [
        "http://h/shop?" + "&".join(f"{name}={n >> place & 1}" for place, name in enumerate(names))
        for n in range(200)
    ]
    assert len(refused(watch, urls)) == 150


def test_session_ids_give_a_page_a_few_variants_only():
    watch = TrapWatch(SETTINGS)
    urls = [f"http://h/about?sid={n:032x}" for n in range(20)]
    reasons = refused(watch, urls)
    assert reasons == ["session ids: more than 8 URLs of the shape /about?sid={session}"] * 12
    assert watch.admit("h", f"http://h/contact?sid={1:032x}") is None


def test_chain_that_leads_ever_deeper_ends():
    watch = TrapWatch(UrlSettings(max_pattern_depth=50))
    assert watch.admit("h", "http://h/next/50", depth=50) is None
    assert "endless chain" in (watch.admit("h", "http://h/next/51", depth=51) or "")
    assert watch.admit("h", "http://h/about", depth=51) is None


def test_exempt_hosts_are_not_counted():
    census = Census()
    settings = UrlSettings(trap_exempt=("h",), max_pattern_urls=5, max_pattern_depth=1)
    watch = TrapWatch(settings, census)
    assert refused(watch, [f"http://h/{n}" for n in range(50)]) == []
    assert watch.admit("h", "http://h/1", depth=9) is None
    assert list(census.counts()) == []


def test_counts_survive_a_restart():
    settings = UrlSettings(max_pattern_urls=100)
    before, after = Census(), Census()
    watch = TrapWatch(settings, before)
    refused(watch, [f"http://h/a/{n}" for n in range(60)])
    refused(watch, [f"http://h/b/{n}" for n in range(150)])
    after.load(before.counts())
    assert sorted(after.counts()) == sorted(before.counts())
    assert after.changed() == []
    watch = TrapWatch(settings, after)
    assert len(refused(watch, [f"http://h/a/{n}" for n in range(60, 120)])) == 20
    assert "more than 100" in (watch.admit("h", "http://h/b/999") or "")


@pytest.mark.parametrize(
    "shape", ["http://h/a/{n}", "http://h/shop?a=1&b={n}", "http://h/{n}?a=1&b=2"]
)
def test_what_a_transaction_counted_that_failed_is_not_counted(shape):
    census = Census()
    watch = TrapWatch(UrlSettings(max_pattern_urls=100, max_query_variants=100), census)

    def transaction(first, last, *, fails):
        census.begin()
        watch.begin()
        reasons = refused(watch, [shape.replace("{n}", str(n % 9)) for n in range(first, last)])
        if not fails:
            census.end()
            watch.end()
        return reasons

    assert transaction(0, 10, fails=False) == []
    for _ in range(20):
        assert transaction(10, 95, fails=True) == []
    assert len(transaction(10, 110, fails=True)) == 10
    assert transaction(10, 95, fails=False) == []
    assert len(transaction(95, 105, fails=False)) == 5


@given(st.permutations([f"http://h/{kind}/{n}" for kind in "ab" for n in range(30)]))
def test_order_of_urls_does_not_change_what_is_quarantined(urls):
    census = Census()
    assert len(refused(TrapWatch(UrlSettings(max_pattern_urls=20), census), urls)) == 20
    assert sorted(census.counts()) == [
        ("h", f"/{kind}/{{n}}", 21, f"numbered: more than 20 URLs of the shape /{kind}/{{n}}")
        for kind in "ab"
    ]


def test_memory_is_bounded_whatever_is_linked_to():
    census = Census(max_entries=200)
    watch = TrapWatch(SETTINGS, census)
    tracemalloc.start()
    try:
        for n in range(6_000):
            word = "".join("abcdefghij"[int(digit)] for digit in str(n))
            watch.admit(f"h{n % 500}", f"http://h/{word}{'x' * 3_000}/{n}")
            watch.admit("h", f"http://h/{word}?{word}=1&b=2")
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4_000_000
    assert len(list(census.counts())) <= 200


def test_shapes_in_use_outlive_a_flood_of_others():
    watch = TrapWatch(UrlSettings(max_pattern_urls=300), Census(max_entries=50))
    reasons = []
    for n in range(400):
        reasons.append(watch.admit("h", f"http://h/trap/{n}"))
        for other in range(3):
            watch.admit(f"host{n}-{other}", "http://h/x?a=1&b=2")
    assert sum(reason is not None for reason in reasons) == 100


def test_long_patterns_stay_apart():
    watch = TrapWatch(UrlSettings(max_pattern_urls=5))
    for ending in ("a", "b"):
        assert refused(watch, [f"http://h/{'x' * 400}{ending}/{n}" for n in range(5)]) == []


SEGMENTS = st.sampled_from(["a", "b", "c", "7", "", "x.html"])


@given(st.lists(SEGMENTS, max_size=8), SEGMENTS, st.integers(1, 4), st.integers(1, 8))
def test_no_file_of_a_tame_directory_is_a_trap(folders, name, most, longest):
    chosen = UrlSettings(max_repeated_segments=most, max_path_segments=longest)
    directory = "http://h/" + "".join(f"{folder}/" for folder in folders)
    if is_tame(directory, chosen):
        assert path_trap(directory + name, chosen) is None
    # Not by calling nothing tame.
    distinct = len(folders) == len(set(folders)) and most > 1
    assert not distinct or len(folders) >= longest or is_tame(directory, chosen)
