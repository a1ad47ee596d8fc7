"""A bounded memory of what was reported lately, so that it is not reported again and again."""

from collections.abc import Collection


class Recent:
    """Remembers at least the last `limit / 2` keys and at most `limit`.

    Two generations of a set: when the young one is full it becomes the old one, and the old one is
    forgotten. Forgetting is harmless: a URL reported twice is recognised by the catalog.
    """

    def __init__(self, limit: int = 400_000) -> None:
        self._half = max(1, limit // 2)
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        return key in self._young or key in self._old

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, key: bytes) -> None:
        """Remember a key."""
        if len(self._young) >= self._half:
            self._old = self._young
            self._young = set()
        self._young.add(key)

    def unseen(self, keys: set[bytes]) -> set[bytes]:
        """Return those of the keys that are not remembered."""
        keys = keys - self._young
        return keys - self._old if self._old and keys else keys

    def seen(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of the keys that are remembered."""
        if not self._young and not self._old:
            return set()
        return self._young.intersection(keys) | self._old.intersection(keys)

    def forget(self, key: bytes) -> None:
        """Forget one key, so that it will be reported again."""
        self._young.discard(key)
        self._old.discard(key)
