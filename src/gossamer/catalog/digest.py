"""Payload digests as the archive writes them (`sha1:` and base 32), kept as 20 bytes."""

from typing import Final

_SHA1: Final = "sha1:"
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuv"
# What is no letter of theirs becomes what is no digit.
_TO_DIGITS: Final = bytes(
    ord(_DIGITS[_BASE32.index(chr(byte))]) if chr(byte) in _BASE32 else ord("!")
    for byte in range(256)
)
_SHA1_BYTES: Final = 20
# Marks what is not a SHA-1, and makes it longer or shorter than one.
_OTHER: Final = b"="


def packed_digest(digest: str) -> bytes:
    """Return the short form of a digest; a kind that is not known is kept as it is written."""
    written = digest.encode()
    if len(written) == 37 and digest.startswith(_SHA1):
        # int() reads base 32 many times faster than base64.b32decode; each page needs it.
        try:
            return int(written[5:].translate(_TO_DIGITS), 32).to_bytes(_SHA1_BYTES, "big")
        except ValueError:
            pass
    other = _OTHER + written
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
