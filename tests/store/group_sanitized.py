"""Run by test_store_group_sanitized.py with sanitizers: writes fetches by lot."""

import ctypes
import sys
from hashlib import sha1
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random

from made_fetches import fetches

from gossamer.store import group
from gossamer.store.base32 import base32


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_group", built)
    module = module_from_spec(spec_from_file_location("_group", built, loader=loader))
    loader.exec_module(module)
    group._group = module
    random = Random(12)
    ordinary = 0
    for fetch in fetches(random, 5_000):
        # At every length of what the lines of a record are made of, their room is enough or not.
        identity = b"i" * random.choice((0, 40, 45, random.randrange(5_000)))
        digest = "d" * random.choice((0, 37, random.randrange(5_000)))
        ordinary += group.ordinary_group(fetch, None, identity, digest) is not None
        sha1_sum = sha1(fetch.raw, usedforsecurity=False).digest()
        assert module.digest(sha1_sum) == "sha1:" + base32(sha1_sum).decode()
    print(ordinary)


if __name__ == "__main__":
    main(sys.argv[1])
