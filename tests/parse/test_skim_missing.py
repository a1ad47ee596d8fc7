"""Without the compiled reader (no compiler was at hand) pages say the same."""

import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
from skim_pages import made_page
from skim_rig import read_whole

from gossamer.messages import Page

PAGES = 200
SCRIPT = """
import sys
sys.modules["gossamer.parse._skim"] = None  # so that its import fails
from gossamer.parse.skim import is_compiled, listen
assert not is_compiled()
assert listen(b"x", "utf-8") is None
from gossamer.parse.statements import title_said
assert title_said("No. 1: May 2 a7", "http://h/a7.html") == b"no:"
import msgspec, test_skim_missing
sys.stdout.buffer.write(msgspec.json.encode(test_skim_missing.understood()))
"""


def understood() -> list[Page]:
    random = Random(5)
    bodies = [made_page(random) + b"one. two. three.\n" * 9 for _ in range(PAGES)]
    return [read_whole(body, "utf-8") for body in bodies]


def test_pages_say_the_same_without_the_compiled_reader():
    answer = subprocess.check_output(
        [sys.executable, "-c", SCRIPT], cwd=Path(__file__).parent, timeout=120
    )
    pages = msgspec.json.decode(answer, type=list[Page])
    assert pages == understood()
    assert sum(page.simhash is not None for page in pages) > PAGES / 2
