"""The compiled part neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import gossamer.url
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.url.__file__).with_name("plain.c")


def test_made_references_do_no_harm(tmp_path):
    plain = Sanitized(SOURCE, HERE / "exact_text.h", tmp_path / "_plain.so")
    assert int(plain.run(HERE / "plain_sanitized.py")) > 10_000
