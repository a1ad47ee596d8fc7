"""Run by test_spider_lane_sanitized.py with sanitizers: takes responses by lot, in pieces."""

import ctypes
import os
import socket
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random

from made_heads import heads

from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome

BASE = "http://a.example/"


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_lane", built)
    module = module_from_spec(spec_from_file_location("_lane", built, loader=loader))
    loader.exec_module(module)
    random = Random(11)
    lane = module.Lane(Fetch, Outcome.OK, 8, 16_000, 100, 100_000)
    idle: list[int] = []
    lane.use(BASE, b" HTTP/1.1\r\nHost: a.example\r\n\r\n", idle)
    taken = left = 0
    for number, head in enumerate(heads(random, 4_000)):
        ours, theirs = socket.socketpair()
        visit = Visit(number, number, "::1", f"{BASE}{number}")
        descriptor = ours.detach()
        assert lane.adopt(descriptor, "::1", idle, visit, b"x", 1.0, 1.0, 1.0, 0.0)
        length = random.choice((0, 7, 4_000, 40_000, 90_000))
        usual = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length
        answer = random.choice((head, usual, usual)) + b"x" * random.choice((length, length + 1, 5))
        gone: list[tuple[int, ...]] = []
        fetches: list[Fetch] = []
        while answer and not (gone or fetches):
            size = random.choice((1, 20, 5_000, 100_000))
            theirs.sendall(answer[:size])
            answer = answer[size:]
            lane.collect(2.0, fetches, gone)
        if not (gone or fetches):
            theirs.close()
            lane.collect(2.0, fetches, gone)
        if not (gone or fetches):
            gone = lane.sweep(9.0, 1.0, 118.0)
        taken += len(fetches)
        left += len(gone)
        for each in gone:
            if each[0] >= 0:
                os.close(each[0])
        if fetches and random.random() < 0.5 and lane.send(visit, 3.0, 3.0):
            lane.stamp(4.0)
            assert lane.cancel({number}) == [visit]
        theirs.close()
        lane.collect(2.0, fetches, gone)
    lane.forgive(3.0, 1.0)
    lane.close()
    del lane
    print(min(taken, left))


if __name__ == "__main__":
    main(sys.argv[1])
