"""Counts by host and pattern."""

from gossamer.url.census import Census


def met(census: Census, times: int, pattern: str = "/a") -> None:
    for _ in range(times):
        census.met("h", pattern)


def test_a_pattern_has_an_entry_from_a_handful_on():
    census = Census()
    met(census, 15)
    assert census.find("h", "/a") is None
    met(census, 1)
    entry = census.find("h", "/a")
    assert entry is not None
    assert entry.saved() == ("h", "/a", 16, "")


def test_changed_tells_what_this_transaction_has_changed():
    census = Census()
    census.begin()
    met(census, 40)
    assert census.changed() == [("h", "/a", 40, "")]
    census.end()
    census.begin()
    assert census.changed() == []
    census.put("h", "/b", 3)
    assert census.changed() == [], "not worth keeping"
    census.put("h", "/b", 3, "closed")
    assert census.changed() == [("h", "/b", 3, "closed")]


def test_a_transaction_that_failed_never_happened():
    census = Census()
    census.begin()
    met(census, 10, "/young")
    met(census, 20, "/old")
    census.end()
    before = sorted(census.counts())
    census.begin()
    met(census, 10, "/young")
    met(census, 20, "/old")
    met(census, 20, "/new")
    census.put("h", "/old", 0, "closed")
    census.begin()
    assert sorted(census.counts()) == before
    assert census.changed() == []
    met(census, 5, "/young")
    assert census.find("h", "/young") is None
    met(census, 1, "/young")
    assert census.find("h", "/young") is not None


def test_entries_are_bounded_and_the_longest_unmet_is_forgotten():
    census = Census(max_entries=3)
    for pattern in ("/a", "/b", "/c"):
        census.put("h", pattern, 1)
    census.find("h", "/a")
    census.put("h", "/d", 1)
    assert sorted(pattern for _, pattern, _, _ in census.counts()) == ["/a", "/c", "/d"]
