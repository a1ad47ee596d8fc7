"""The compiled part neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import gossamer.spider
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.spider.__file__).with_name("plain_head.c")


def test_made_heads_do_no_harm(tmp_path: Path) -> None:
    before = HERE.parent / "store" / "exact_parts.h"
    part = Sanitized(SOURCE, before, tmp_path / "_plain_head.so")
    assert int(part.run(HERE / "plain_head_sanitized.py")) > 1_000
