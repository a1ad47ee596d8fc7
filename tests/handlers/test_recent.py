from hypothesis import given
from hypothesis import strategies as st

from gossamer.handlers.recent import Recent


@given(
    st.lists(st.integers(0, 300).map(lambda number: number.to_bytes(8, "little"))),
    st.integers(2, 20),
)
def test_it_never_holds_more_than_its_limit_and_always_the_latest_half(keys, limit):
    recent = Recent(limit)
    for key in keys:
        recent.add(key)
        assert key in recent
        assert len(recent) <= limit + 1
    for key in keys[len(keys) - limit // 2 + 1 :] if len(keys) >= limit // 2 else keys:
        assert key in recent


@given(st.lists(st.integers(0, 40)), st.lists(st.integers(0, 40)), st.integers(2, 30))
def test_each_key_that_is_asked_for_was_seen_or_not(met, asked, limit):
    recent = Recent(limit)
    for number in met:
        recent.add(number.to_bytes(8, "little"))
    keys = [number.to_bytes(8, "little") for number in asked]
    seen = [place for place, key in enumerate(keys) if key in recent]
    assert recent.seen(b"".join(keys)) == seen
    assert recent.unseen(b"".join(keys)) == [
        place for place in range(len(keys)) if place not in seen
    ]


def test_what_is_forgotten_is_reported_again():
    one, other = b"a" * 8, b"b" * 8
    recent = Recent()
    recent.add(one)
    assert recent.unseen(one + other) == [1]
    recent.forget(one)
    assert recent.unseen(one + other) == [0, 1]
