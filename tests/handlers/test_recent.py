from hypothesis import given
from hypothesis import strategies as st

from gossamer.handlers.recent import Recent


@given(st.lists(st.binary(min_size=1, max_size=2)), st.integers(2, 20))
def test_it_never_holds_more_than_its_limit_and_always_the_latest_half(keys, limit):
    recent = Recent(limit)
    for key in keys:
        recent.add(key)
        assert key in recent
        assert len(recent) <= limit + 1
    for key in keys[len(keys) - limit // 2 + 1 :] if len(keys) >= limit // 2 else keys:
        assert key in recent


def test_what_is_forgotten_is_reported_again():
    recent = Recent()
    recent.add(b"a")
    assert recent.unseen({b"a", b"b"}) == {b"b"}
    recent.forget(b"a")
    assert recent.unseen({b"a", b"b"}) == {b"a", b"b"}
