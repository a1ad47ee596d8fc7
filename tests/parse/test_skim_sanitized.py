"""The compiled reader neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import gossamer.parse
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.parse.__file__).with_name("skim.c")


def test_made_pages_do_no_harm(tmp_path):
    skim = Sanitized(SOURCE, HERE / "exact_copy.h", tmp_path / "_skim.so")
    assert int(skim.run(HERE / "skim_sanitized.py")) > 1_000
