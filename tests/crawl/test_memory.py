"""How much memory a process had: its own, not that of who started it."""

import subprocess
import sys

from gossamer.crawl.memory import peak_bytes

_CHILD = "from gossamer.crawl.memory import peak_bytes; print(peak_bytes())"


def test_a_process_does_not_inherit_the_peak_of_its_parent():
    ballast = bytearray(400 << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    assert peak_bytes() > 400 << 20
    child = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, check=True)
    assert 1 << 20 < int(child.stdout) < 200 << 20
