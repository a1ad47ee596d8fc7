"""The compiled reader neither reads nor writes where it must not: sanitizers watch it at work."""

from pathlib import Path

import pytest

import gossamer.parse
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.parse.__file__).with_name("skim.c")


@pytest.mark.parametrize("before", ["exact_copy.h", "one_by_one.h"])
def test_made_pages_do_no_harm(tmp_path, before):
    """Nor do they say anything else, on processors of either kind."""
    skim = Sanitized(SOURCE, HERE / before, tmp_path / "_skim.so")
    assert int(skim.run(HERE / "skim_sanitized.py")) > 1_000
