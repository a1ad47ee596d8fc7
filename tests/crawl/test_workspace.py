import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.clock import ManualClock, SystemClock
from gossamer.config.settings import Settings
from gossamer.crawl.workspace import Role, Workspace, hold_as_worker
from gossamer.errors import StoreError, WorkspaceError


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


DAEMONS = ("url-server", "store-server")


def locked(folder: Path, role: Role) -> Workspace:
    workspace = Workspace(folder)
    workspace.lock(SystemClock(), role)
    return workspace


@pytest.mark.parametrize(
    ("holder", "other", "fits"),
    [
        ("crawl", "crawl", False),
        ("crawl", "url-server", False),
        ("crawl", "store-server", False),
        ("crawl", "add", False),
        ("url-server", "crawl", False),
        ("url-server", "url-server", False),
        ("url-server", "store-server", True),
        ("url-server", "add", True),
        ("store-server", "crawl", False),
        ("store-server", "url-server", True),
        ("store-server", "store-server", False),
        ("store-server", "add", True),
        ("add", "crawl", False),
        ("add", "url-server", True),
        ("add", "store-server", True),
        ("add", "add", True),
    ],
)
def test_who_may_work_beside_whom(tmp_path: Path, holder: Role, other: Role, fits: bool):
    """A crawl excludes everybody; a daemon excludes a crawl and another of its kind."""
    first = locked(tmp_path, holder)
    if fits:
        locked(tmp_path, other).unlock()
    else:
        with pytest.raises(WorkspaceError) as caught:
            locked(tmp_path, other)
        assert f"is in use by process {os.getpid()} ({holder}); wait for it" in str(caught.value)
    first.unlock()
    locked(tmp_path, other).unlock()


def test_a_crawl_is_told_all_who_are_in_its_way(tmp_path: Path):
    daemons = [locked(tmp_path, role) for role in DAEMONS]
    locked(tmp_path, "add").unlock()
    number = os.getpid()
    expected = f"process {number} (url-server) and process {number} (store-server)"
    with pytest.raises(WorkspaceError) as caught:
        locked(tmp_path, "crawl")
    assert f"in use by {expected};" in str(caught.value)
    for daemon in daemons:
        daemon.unlock()


def test_who_is_at_work_can_be_asked_without_a_lock(tmp_path: Path):
    workspace = Workspace(tmp_path)
    assert workspace.holders() == []
    daemon = locked(tmp_path, "store-server")
    assert workspace.holders() == [f"process {os.getpid()} (store-server)"]
    daemon.unlock()
    assert workspace.holders() == []
    crawl = locked(tmp_path, "crawl")
    assert workspace.holders() == [f"process {os.getpid()} (crawl)"]
    crawl.unlock()


def test_a_refusal_leaves_no_lock_behind(tmp_path: Path):
    """A second URL server that is refused must not keep a crawl out later."""
    first = locked(tmp_path, "url-server")
    second = Workspace(tmp_path)
    with pytest.raises(WorkspaceError):
        second.lock(SystemClock(), "url-server")
    first.unlock()
    locked(tmp_path, "crawl").unlock()


def test_what_a_killed_process_left_in_a_lock_means_nothing(tmp_path: Path):
    for name in ("lock", "url-server.lock", "store-server.lock"):
        (tmp_path / name).write_text("1 crawl\n")
    assert Workspace(tmp_path).holders() == []
    locked(tmp_path, "crawl").unlock()


def test_a_crawl_of_the_first_release_is_named_too(tmp_path: Path):
    """It wrote only its process id."""
    (tmp_path / "lock").write_text("4711\n")
    with (tmp_path / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WorkspaceError, match=r"in use by process 4711 \(crawl\)"):
            locked(tmp_path, "url-server")


@pytest.mark.parametrize(
    ("old", "waits"),
    [("crawl", {"crawl", "url-server"}), ("store-server", {"crawl", "store-server"})],
)
@pytest.mark.parametrize("new", ["crawl", "url-server", "store-server", "add"])
def test_who_waits_for_which_old_workers(tmp_path: Path, old: Role, new: Role, waits: set[Role]):
    """Never two fleets on one site, never two that write one archive, and no other wait."""
    parent = locked(tmp_path, old)
    worker = hold_as_worker(parent.workers_lock)
    parent.unlock()
    clock = ManualClock()
    workspace = Workspace(tmp_path)
    if new in waits:
        with pytest.raises(WorkspaceError, match="workers of an earlier crawl"):
            workspace.lock(clock, new)
    else:
        workspace.lock(clock, new)
        workspace.unlock()
    os.close(worker)
    workspace.lock(clock, new)
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
    (tmp_path / "w").write_text("not a folder")
    with pytest.raises(WorkspaceError, match="gossamer crawl URL"):
        Workspace(tmp_path / "w").require()


@pytest.mark.parametrize("suffix", ["", ".open"])
@pytest.mark.parametrize(
    "role", ["crawl", "news", "service", "url-server", "store-server", "dc-daemon", "add"]
)
def test_nobody_begins_anew_beside_an_archive(tmp_path: Path, role: Role, suffix: str):
    """A workspace whose catalog is gone is left as it is, and somebody is told."""
    fetched = tmp_path / "archive" / f"gossamer-20260101000000-w1-00001.warc.gz{suffix}"
    fetched.parent.mkdir()
    fetched.touch()
    with pytest.raises(WorkspaceError, match=r"catalog\.db is missing or empty.*another folder"):
        locked(tmp_path, role)
    with pytest.raises(WorkspaceError, match=r"catalog\.db is missing or empty.*another folder"):
        Workspace(tmp_path).require()
    assert not (tmp_path / "catalog.db").exists()
    (tmp_path / "catalog.db").touch()
    with pytest.raises(WorkspaceError, match=r"catalog\.db is missing or empty.*another folder"):
        locked(tmp_path, role)
    (tmp_path / "catalog.db").write_bytes(b"something")
    locked(tmp_path, role).unlock()


def test_a_folder_that_cannot_be_looked_into_is_one_clear_message(tmp_path: Path):
    with pytest.raises(WorkspaceError, match="cannot look into"):
        Workspace(tmp_path / ("long" * 100)).require()


def test_settings_that_cannot_be_written_down_are_one_clear_message(tmp_path: Path):
    (tmp_path / "gossamer.toml").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*gossamer\.toml"):
        Workspace(tmp_path).keep_settings(Settings())


def test_a_lock_that_cannot_be_opened_is_one_clear_message(tmp_path: Path):
    (tmp_path / "lock").symlink_to("lock")
    with pytest.raises(WorkspaceError, match="cannot see who uses"):
        Workspace(tmp_path).holders()
