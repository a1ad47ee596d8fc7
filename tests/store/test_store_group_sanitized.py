"""The compiled part neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import gossamer.store
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.store.__file__).with_name("group.c")


def test_made_fetches_do_no_harm(tmp_path):
    group = Sanitized(SOURCE, HERE / "exact_parts.h", tmp_path / "_group.so")
    assert int(group.run(HERE / "group_sanitized.py")) > 1_000
