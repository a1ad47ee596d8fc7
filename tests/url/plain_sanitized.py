"""Run by test_plain_sanitized.py with sanitizers: joins references by lot, and their beginnings."""

import ctypes
import sys
from hashlib import md5
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random

from made_references import DIRECTORIES, references

ROUNDS = 300
AUTHORITY_LENGTHS = [directory.index("/", 8) for directory in DIRECTORIES]


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_plain", built)
    module = module_from_spec(spec_from_file_location("_plain", built, loader=loader))
    loader.exec_module(module)
    random = Random(11)
    tables = [
        module.Urls(slots, longest, tidies)
        for slots in (1, 64, 1024)
        for longest in (1, 40, 256, 8_192)
        for tidies in (0, 1)
    ]
    held = module.KeySet()
    joined = 0
    for _ in range(ROUNDS):
        hrefs = references(random, 40)
        hrefs += [href[:end] for href in hrefs[:4] for end in range(len(href))]
        for directory, length in zip(DIRECTORIES, AUTHORITY_LENGTHS, strict=True):
            found, _ = random.choice(tables).join(directory, length, hrefs)
            urls = [url for url in found if url is not None]
            joined += len(urls)
            survey(module, random.choice(tables), random.choice(tables), directory, hrefs)
            keys = random.choice(tables).keys(urls)
            assert keys == b"".join(md5(url.encode()).digest()[:8] for url in urls)
            keep(held, keys, random)
    for length in range(200):
        assert module.md5_of("x" * length) == md5(b"x" * length).digest()
    print(joined)


def survey(module, table, other, directory: str, hrefs: list[str]) -> None:
    """Have all references looked over, with those of another table in between."""
    length = directory.index("/", 8)

    def join(base: str, href: str) -> str | None:
        (url,), _ = other.join(directory, length, [href])
        return url

    sets = [(module.KeySet(), module.KeySet()) for _ in range(2)]
    references = {href: False for href in hrefs if href.isascii()}
    for name in ("", "p", "p?q", "p?q/r", "./"):
        seen = table.survey(directory + name, length, references, *sets, join)
        if seen is not None:
            keys, unreported, suspected = seen
            assert all(url.isascii() for url in (*unreported, *suspected))
            for start in range(0, len(keys), 16):
                sets[start // 16 % 2][start // 32 % 2].add(keys[start : start + 8])
    assert table.survey(directory, length, {"\ud800": 0, "\u00e9": 0}, *sets, join) is None or (
        "//" in directory[8:]
    )


def keep(held, keys: bytes, random: Random) -> None:
    for number in held.absent(keys):
        held.add(keys[number * 8 : number * 8 + 8])
    assert held.absent(keys) == []
    for start in range(0, len(keys), 8):
        if random.random() < 0.5:
            held.discard(keys[start : start + 8])


if __name__ == "__main__":
    main(sys.argv[1])
