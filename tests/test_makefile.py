"""What somebody types first: `make site URL=…`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")


@pytest.mark.skipif(MAKE is None, reason="needs make")
@pytest.mark.parametrize("url", ["ftp://a.example/$metadata", "ftp://a.example/?a=$(shell b)'\"#c"])
@pytest.mark.parametrize("as_argument", [True, False])
def test_a_url_reaches_the_crawl_as_it_was_typed(url, as_argument):
    """Of a scheme that is refused, and quoted in the refusal."""
    assert MAKE is not None
    installed = f"BIN={Path(sys.executable).parent}"
    words = [MAKE, "--silent", "--old-file=.venv/.runtime-installed", "site", installed]
    # The tests themselves may have been started by make.
    outside = {name: text for name, text in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        [*words, f"URL={url}"] if as_argument else words,
        cwd=ROOT,
        env=outside | ({} if as_argument else {"URL": url}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"gossamer: cannot use start URL {url!r}")
