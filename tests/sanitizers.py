"""Compiled parts built with sanitizers, which watch them at work in a Python of their own."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_FLAGS = ("-g", "-O1", "-shared", "-fPIC", *_SANITIZERS)


class Sanitized:
    """A compiled part; `before` is included before its source."""

    def __init__(self, source: Path, before: Path, target: Path) -> None:
        if not source.is_file():
            pytest.skip("gossamer is installed without its sources")
        compiler = shutil.which("gcc")
        if compiler is None:
            pytest.skip("apt install gcc")
        include = sysconfig.get_path("include")
        if not (Path(include) / "Python.h").is_file():
            pytest.skip("apt install python3-dev")
        self._libraries = _libraries(compiler)
        self._built = target
        subprocess.run(
            [compiler, *_FLAGS, f"-I{include}", "-include", before, source, "-o", target],
            check=True,
        )

    def run(self, script: Path) -> str:
        """Run a script that is told where the part is; return what it prints."""
        done = subprocess.run(
            [sys.executable, script, self._built],
            env={
                **os.environ,
                "LD_PRELOAD": self._libraries,
                # Each object by itself, so that its limits are known.
                "PYTHONMALLOC": "malloc",
                # Python keeps what it made to the end.
                "ASAN_OPTIONS": "detect_leaks=0",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _libraries(compiler: str) -> str:
    """Return the libraries of the sanitizers, which must be loaded before all others."""
    paths = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    # What it does not find, it names as it was asked.
    if not all(Path(path).is_absolute() for path in paths):
        pytest.skip("apt install libgcc-12-dev, for its sanitizers")
    return ":".join(paths)
