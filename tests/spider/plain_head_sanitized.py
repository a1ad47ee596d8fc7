"""Run by test_spider_plain_head_sanitized.py with sanitizers: reads heads by lot."""

import ctypes
import socket
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random

from made_heads import heads

from gossamer.spider.head import Head


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_plain_head", built)
    module = module_from_spec(spec_from_file_location("_plain_head", built, loader=loader))
    loader.exec_module(module)
    random = Random(7)
    reader = module.Reader(Head, 16_000, 100)
    ours, theirs = socket.socketpair()
    read = 0
    for data in heads(random, 5_000):
        head = reader.read(data)
        read += head is not None
        # Every place where it may be cut.
        for _ in range(5):
            reader.read(data[: random.randrange(len(data) + 1)])
        if 0 < len(data) <= 4_096:
            theirs.sendall(data)
            assert reader.peek(ours.fileno()) == (head or data)
            assert ours.recv(10_000) == data
    # What it remembers goes with it.
    del reader
    print(read)


if __name__ == "__main__":
    main(sys.argv[1])
