"""The compiled reader neither reads nor writes where it must not: sanitizers watch it at work."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import gossamer.parse

HERE = Path(__file__).parent
SOURCE = Path(gossamer.parse.__file__).with_name("skim.c")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FLAGS = ("-g", "-O1", "-shared", "-fPIC", *SANITIZERS)


@pytest.fixture(scope="module")
def compiler() -> str:
    if not SOURCE.is_file():
        pytest.skip("gossamer is installed without its sources")
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("apt install gcc")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        pytest.skip("apt install python3-dev")
    return found


@pytest.fixture(scope="module")
def libraries(compiler: str) -> str:
    """The libraries of the sanitizers, which must be loaded before all others."""
    paths = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    # What it does not find, it names as it was asked.
    if not all(Path(path).is_absolute() for path in paths):
        pytest.skip("apt install libgcc-12-dev, for its sanitizers")
    return ":".join(paths)


@pytest.fixture(scope="module")
def built(compiler: str, libraries: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sanitized") / "_skim.so"
    include = sysconfig.get_path("include")
    subprocess.run(
        [compiler, *FLAGS, f"-I{include}", "-include", HERE / "exact_copy.h", SOURCE, "-o", target],
        check=True,
    )
    return target


def test_made_pages_do_no_harm(built, libraries):
    done = subprocess.run(
        [sys.executable, HERE / "skim_sanitized.py", built],
        env={
            **os.environ,
            "LD_PRELOAD": libraries,
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
    assert int(done.stdout) > 1_000
