"""How much memory a process had: its own, not that of who started it; and the collector."""

import gc
import subprocess
import sys

from gossamer.crawl.memory import nothing_collected, peak_bytes

_CHILD = "from gossamer.crawl.memory import peak_bytes; print(peak_bytes())"


def test_a_process_does_not_inherit_the_peak_of_its_parent():
    ballast = bytearray(400 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    assert peak_bytes() > 400 << 20
    child = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, check=True)
    assert 1 << 20 < int(child.stdout) < 200 << 20


def test_nothing_that_is_made_meanwhile_is_ever_looked_through():
    was_on, frozen = gc.isenabled(), gc.get_freeze_count()
    with nothing_collected():
        assert not gc.isenabled()
        made = [[] for _ in range(1_000)]
    assert gc.isenabled() == was_on
    assert gc.get_freeze_count() >= frozen + len(made)
