"""The property CONTENT_HASH: what tells the contents of a site apart, and what equal ones mean."""

from typing import Final

import msgspec
from msgspec import Struct

from gossamer.objects.problems import ObjectError

ALGORITHMS: Final = (1, 2, 3, 4, 9)
DELETE: Final = "delete"


class HashOrder(Struct, frozen=True):
    """How the hash of a content is made."""

    tags: list[str] | str = ""
    algorithm: int = 1
    action: str = ""
    """delete: of several URLs with one hash the first stays."""

    @property
    def deletes(self) -> bool:
        """Whether URLs of equal contents are deleted but for the first."""
        return self.action.strip().lower() == DELETE


def check_content_hash(text: str) -> None:
    """Raise an ObjectError for a value that cannot be used."""
    if not text.strip():
        return
    try:
        order = msgspec.json.decode(text, type=HashOrder, strict=False)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        expected = 'an object is expected, such as {"tags": "title", "algorithm": 1}'
        raise ObjectError("Property", "CONTENT_HASH", expected) from None
    if order.algorithm not in ALGORITHMS:
        listed = ", ".join(map(str, ALGORITHMS))
        raise ObjectError("Property", "CONTENT_HASH", f"algorithm: one of {listed} is expected")
    if order.action.strip() and not order.deletes:
        raise ObjectError("Property", "CONTENT_HASH", f"action: {DELETE} is expected, or none")
