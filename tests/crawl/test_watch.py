"""What a worker is parsing, seen from another process."""

import os
import subprocess
import sys
import time

from gossamer.crawl.watch import Watch

WRITER = """
import sys, time
from gossamer.crawl.watch import Watch
watch = Watch(int(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    watch.enter(number, time.monotonic())
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


def test_a_reader_never_sees_a_document_with_a_time_that_is_not_its_own():
    """A page that has just begun must never look as if it had been parsed for ages."""
    watch = Watch.make()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(watch.descriptor)],
        pass_fds=[watch.descriptor],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = 0
        oldest = 0.0
        for _ in range(300_000):
            current = watch.current()
            if current is not None:
                seen += 1
                oldest = max(oldest, time.monotonic() - current[1])
        process.kill()
    watch.close()
    assert seen > 1_000
    assert oldest < 5.0
