import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.clock import ManualClock, SystemClock
from gossamer.crawl.workspace import Workspace, hold_as_worker
from gossamer.errors import WorkspaceError


def test_a_second_process_is_refused_and_told_who_is_in_it(tmp_path: Path):
    first, second = Workspace(tmp_path / "w"), Workspace(tmp_path / "w")
    first.lock(SystemClock())
    with pytest.raises(WorkspaceError, match=f"in use by process {os.getpid()}"):
        second.lock(SystemClock())
    first.unlock()
    second.lock(SystemClock())
    second.unlock()


def test_the_lock_dies_with_its_process(tmp_path: Path):
    code = (
        "import sys, time; from pathlib import Path; from gossamer.clock import SystemClock;"
        "from gossamer.crawl.workspace import Workspace;"
        "Workspace(Path(sys.argv[1])).lock(SystemClock());"
        "print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "w")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        workspace = Workspace(tmp_path / "w")
        with pytest.raises(WorkspaceError):
            workspace.lock(SystemClock())
        process.kill()
        process.wait()
    workspace.lock(SystemClock())
    workspace.unlock()


def test_a_new_crawl_waits_for_the_workers_of_the_old_one(tmp_path: Path):
    """Never two fleets: a worker that outlives its coordinator keeps the next one waiting."""
    workspace = Workspace(tmp_path / "w")
    workspace.lock(SystemClock())
    workspace.unlock()
    worker = hold_as_worker(workspace.workers_lock)
    clock = ManualClock()
    with pytest.raises(WorkspaceError, match="workers of an earlier crawl"):
        workspace.lock(clock)
    os.close(worker)
    workspace.lock(clock)
    workspace.unlock()


def test_nobody_else_may_look_into_a_workspace(tmp_path: Path):
    workspace = Workspace(tmp_path / "w")
    workspace.lock(SystemClock())
    assert (tmp_path / "w").stat().st_mode & 0o077 == 0
    assert (tmp_path / "w" / "lock").stat().st_mode & 0o077 == 0
    workspace.unlock()


def test_a_file_in_the_way_is_one_clear_message(tmp_path: Path):
    (tmp_path / "w").write_text("not a folder")
    with pytest.raises(WorkspaceError, match="choose a folder"):
        Workspace(tmp_path / "w").lock(SystemClock())


def test_a_folder_without_a_catalog_is_no_workspace(tmp_path: Path):
    with pytest.raises(WorkspaceError, match="gossamer crawl URL"):
        Workspace(tmp_path).require()
