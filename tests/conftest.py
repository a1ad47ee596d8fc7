"""Shared by all tests."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

RunGossamer = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def gossamer(tmp_path: Path) -> RunGossamer:
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
        )
        if check is not None:
            assert result.returncode == check, (result.returncode, result.stdout, result.stderr)
        return result

    return run


def read_jsonl(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def flags(**options: object) -> Sequence[str]:
    """Turn keyword arguments into long options."""
    return [
        part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))
    ]
