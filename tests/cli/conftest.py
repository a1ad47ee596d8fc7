"""Shared by the tests of the command line."""

from pathlib import Path

import pytest
from cli_samples import make_workspace

from gossamer.cli.main import main


@pytest.fixture(scope="session")
def workspace(tmp_path_factory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("cli") / "w")


@pytest.fixture
def run(capfdbinary):
    """Run a command as `main` does; give its exit code, output and complaints."""

    def run_command(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run_command
