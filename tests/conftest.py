"""Shared by all tests."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine makes no property false.
settings.register_profile("gossamer", deadline=None)
settings.load_profile("gossamer")


@pytest.fixture
def gossamer(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the real command and return what became of it."""

    def run(
        *arguments: str | Path, timeout: float = 120.0, check: int | None = 0
    ) -> "subprocess.CompletedProcess[str]":
        result = subprocess.run(
            [sys.executable, "-m", "gossamer.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=tmp_path,
            check=False,
        )
        if check is not None:
            assert result.returncode == check, (result.returncode, result.stdout, result.stderr)
        return result

    return run
