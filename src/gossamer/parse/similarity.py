"""A fingerprint by which pages with nearly the same text are recognised.

Theory of operation: the text is cut into clauses, at line ends and at the marks that end sentences.
Each clause picks, by its checksum, a row that says plus to some of 64 lanes, minus to others and
nothing to most. The rows are added up, and the fingerprint (a simhash) says which lanes ended above
zero. An edit changes few clauses, so few bits; texts that do not share nearly all of their clauses
are far apart. Rows are integers with 16 bits for each lane: adding two is one addition, not 64.

Of a long text only every fourth clause counts, chosen by its length: so both versions of an edited
page choose the same ones. That tells pages apart as well, and halves the time spent on hashing.

Four lanes to a row are a balance. With all 64, as is usual, a single edited word makes one page in
ten look different; with one, many short pages of the same site look alike.
"""

from hashlib import shake_128
from typing import Final

from xxhash import xxh3_64_digest

MAX_DISTANCE: Final = 3
"""Fingerprints that differ in at most so many bits are near duplicates."""
MIN_CLAUSES: Final = 16
MAX_TEXT: Final = 65_536
"""Characters looked at."""

_LANES: Final = 64
_LANE_BITS: Final = 16
_LANE_BYTES: Final = _LANES * _LANE_BITS // 8
_LANES_OF_A_ROW: Final = 4
_ROW_COUNT: Final = 256
_MAX_CLAUSES: Final = 32_000  # a lane must be able to count them twice
_FEW_CLAUSES: Final = 128
_LENGTH_BITS_OF_SAMPLE: Final = 3
_EVERY_LANE: Final = sum(1 << (_LANE_BITS * lane) for lane in range(_LANES))
# White space inside a clause does not count.
_SPACE: Final = b" \t"
_CUT: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ.;!?", b"abcdefghijklmnopqrstuvwxyz\n\n\n\n"
)
_WIDE_CUT: Final = ("\u3002", "\uff0c", "\uff1b", "\uff01", "\uff1f")
_TOP_BITS: Final = bytes(ord("1") if value & 0x80 else ord("0") for value in range(256))


def fingerprint(text: str) -> int | None:
    """Return the 64-bit simhash of a text; None if there is too little of it to compare."""
    text = text[:MAX_TEXT]
    if not text.isascii():
        for mark in _WIDE_CUT:
            text = text.replace(mark, "\n")
    return fingerprint_of_prepared(text.encode("utf-8", "replace").translate(_CUT, _SPACE))


def fingerprint_of_prepared(text: bytes) -> int | None:
    """Return the simhash of a text in lower case, cut into clauses by line ends, without spaces."""
    clauses = text.split()
    if len(clauses) < MIN_CLAUSES:
        return None
    del clauses[_MAX_CLAUSES:]
    rows = _rows_of(clauses)
    # A lane at zero has counted the rows; raised by this, its top bit says "above zero".
    total = sum(rows) + _EVERY_LANE * (0x7FFF - len(rows))
    return int(total.to_bytes(_LANE_BYTES, "big")[::2].translate(_TOP_BITS), 2)


def _rows_of(clauses: list[bytes]) -> list[int]:
    """Return the rows of a sample of the clauses; of all where a sample would be too small."""
    table = _TABLE
    if len(clauses) > _FEW_CLAUSES:
        rows = [
            table[xxh3_64_digest(clause)[0]]
            for clause in clauses
            if not len(clause) & _LENGTH_BITS_OF_SAMPLE
        ]
        if len(rows) >= MIN_CLAUSES:
            return rows
    return [table[xxh3_64_digest(clause)[0]] for clause in clauses]


def distance(one: int, other: int) -> int:
    """Return in how many bits two fingerprints differ."""
    return (one ^ other).bit_count()


def _make_rows() -> tuple[int, ...]:
    """Return the rows: minus is 0, nothing 1, plus 2. Stored fingerprints depend on them."""
    rows: list[int] = []
    noise = shake_128(b"gossamer simhash 1").digest(_ROW_COUNT * _LANES)
    # Each round deals all lanes out to its rows, so that no lane has more to say than another.
    for start in range(0, _ROW_COUNT // 2 * _LANES_OF_A_ROW, _LANES):
        order, signs = noise[2 * start :][:_LANES], noise[2 * start + _LANES :][:_LANES]
        lanes = sorted(range(_LANES), key=order.__getitem__)
        for first in range(0, _LANES, _LANES_OF_A_ROW):
            dealt = lanes[first : first + _LANES_OF_A_ROW]
            rows.append(sum((signs[lane] % 2 * 2 - 1) << (_LANE_BITS * lane) for lane in dealt))
    # Each row has its opposite, so that what all texts have in common cancels out.
    return tuple(_EVERY_LANE + row for row in (*rows, *(-row for row in rows)))


_TABLE: Final = _make_rows()
ROWS: Final = b"".join(row.to_bytes(_LANE_BYTES, "little")[::2] for row in _TABLE)
"""The rows lane by lane, for the compiled reader: 0 is minus, 1 nothing, 2 plus."""
