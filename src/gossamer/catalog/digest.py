"""Payload digests as the archive writes them (`sha1:` and base 32), kept as 20 bytes."""

from typing import Final

_SHA1: Final = "sha1:"
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuv"
_TO_DIGITS: Final = str.maketrans(_BASE32, _DIGITS)
_SHA1_BYTES: Final = 20
_SHA1_LETTERS: Final = frozenset(_BASE32)
# Marks what is not a SHA-1, and makes it longer or shorter than one.
_OTHER: Final = b"="


def packed_digest(digest: str) -> bytes:
    """Return the short form of a digest; a kind that is not known is kept as it is written."""
    letters = digest[5:]
    if len(digest) == 37 and digest.startswith(_SHA1) and _SHA1_LETTERS.issuperset(letters):
        # int() reads base 32 many times faster than base64.b32decode; each page needs it.
        return int(letters.translate(_TO_DIGITS), 32).to_bytes(_SHA1_BYTES, "big")
    other = _OTHER + digest.encode()
    return other if len(other) != _SHA1_BYTES else _OTHER + other


def written_digest(packed: bytes | None) -> str:
    """Return the long form."""
    if packed is None:
        return ""
    if len(packed) != _SHA1_BYTES:
        return packed.lstrip(_OTHER).decode()
    number = int.from_bytes(packed, "big")
    letters = [_BASE32[number >> shift & 31] for shift in range(155, -1, -5)]
    return _SHA1 + "".join(letters)
