"""A bounded memory of what was reported lately, so that it is not reported again and again."""

from gossamer.url.plain import KEY_BYTES, Keys, KeySet


class Recent:
    """Remembers at least the last `limit / 2` keys and at most `limit`.

    Two generations of a set: when the young one is full it becomes the old one, and the old one is
    forgotten. Forgetting is harmless: a URL reported twice is recognised by the catalog.
    """

    def __init__(self, limit: int = 400_000) -> None:
        self._half = max(1, limit // 2)
        self._young = KeySet()
        self._old = KeySet()
        self.generations: tuple[Keys, Keys] = self._young, self._old
        """A key is remembered if it is in one of them."""

    def __contains__(self, key: bytes) -> bool:
        return key in self._young or key in self._old

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, key: bytes) -> None:
        """Remember a key."""
        if len(self._young) >= self._half:
            self._old = self._young
            self._young = KeySet()
            self.generations = self._young, self._old
        self._young.add(key)

    def unseen(self, keys: bytes) -> list[int]:
        """Return the numbers of those of the keys, one after the other, that are not remembered."""
        numbers = self._young.absent(keys)
        if not numbers or not self._old:
            return numbers
        unknown = frozenset(self._old.absent(keys))
        return [number for number in numbers if number in unknown]

    def seen(self, keys: bytes) -> list[int]:
        """Return the numbers of those of the keys that are remembered."""
        if not self:
            return []
        unseen = self.unseen(keys)
        count = len(keys) // KEY_BYTES
        if len(unseen) == count:
            return []
        return sorted(set(range(count)).difference(unseen))

    def forget(self, key: bytes) -> None:
        """Forget one key, so that it will be reported again."""
        self._young.discard(key)
        self._old.discard(key)
