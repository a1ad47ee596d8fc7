"""What a worker is parsing, seen from another process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.crawl.watch import Watch

WRITER = """
import sys
from gossamer.crawl.watch import Watch
watch = Watch(int(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    watch.enter(number, float(number))
    if sys.argv[2] == "leave":
        watch.leave()
"""


def test_what_is_being_parsed_is_known_outside():
    watch = Watch.make()
    other = Watch(os.dup(watch.descriptor))
    assert other.current() is None
    watch.enter(7, 12.5)
    assert other.current() == (7, 12.5)
    watch.leave()
    assert other.current() is None
    watch.close()
    other.close()


@pytest.mark.parametrize("between", ["leave", "stay"])
def test_a_reader_never_sees_a_document_with_a_time_that_is_not_its_own(between):
    """A page that has just begun must never look as if it had been parsed for ages.

    The time of each document is its number here, so that another's shows however near it is.
    """
    watch = Watch.make()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(watch.descriptor), between],
        pass_fds=[watch.descriptor],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        documents: set[int] = set()
        wrong: list[tuple[int, float]] = []
        seen = reads = 0
        # Both may share one core, and then see each other's work only when it is their turn.
        while reads < 300_000 or seen < 1_000 or len(documents) < 30:
            reads += 1
            current = watch.current()
            if current is not None:
                documents.add(current[0])
                wrong += [current] * (current[0] != current[1])
                seen += 1
        process.kill()
    watch.close()
    assert wrong == []


def test_nothing_stays_open_when_nobody_looks_any_more():
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    for _ in range(3):
        Watch.make().enter(1, 2.0)
    assert len(list(opened.iterdir())) == before
