"""The compiled part neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import gossamer.spider
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.spider.__file__).with_name("lane.c")


def test_made_responses_do_no_harm(tmp_path: Path) -> None:
    before = HERE.parent / "store" / "exact_parts.h"
    part = Sanitized(SOURCE, before, tmp_path / "_lane.so")
    assert int(part.run(HERE / "lane_sanitized.py")) > 500
