"""Without the compiled part (no compiler was at hand) references mean the same."""

import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
from made_references import DIRECTORIES, references

from gossamer.url import plain
from gossamer.url.canonical import Joiner

SCRIPT = """
import sys
sys.modules["gossamer.url._plain"] = None  # so that its import fails
from gossamer.url.plain import is_compiled
assert not is_compiled()
import msgspec, test_plain_missing
sys.stdout.buffer.write(msgspec.json.encode(test_plain_missing.answers()))
"""
Answer = tuple[list[str | None], bytes, bytes, list[int], list[bytes]]


def answers() -> list[Answer]:
    random = Random(8)
    joiner, held = Joiner(), plain.KeySet()
    told: list[Answer] = []
    for directory in DIRECTORIES:
        found = joiner.join_all(directory, references(random, 200))
        urls = [url for url in found if url is not None]
        keys = joiner.keys(urls)
        for key in plain.each_key(keys)[::3]:
            held.add(key)
        told.append(
            (
                found,
                keys,
                plain.distinct(keys),
                held.absent(keys),
                [plain.md5_of(url) for url in urls],
            )
        )
    return told


def test_references_mean_the_same_without_the_compiled_part():
    written = subprocess.check_output(
        [sys.executable, "-c", SCRIPT], cwd=Path(__file__).parent, timeout=120
    )
    told = msgspec.json.decode(written, type=list[Answer])
    assert told == answers()
    assert all(absent and len(once) < len(keys) for _, keys, once, absent, _ in told)
