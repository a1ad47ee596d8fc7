"""Worker processes that a command forks: whose children they are, and when they end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_SECONDS = 60.0
_MAP = """
import json, os, sys, time
from pathlib import Path
from gossamer.crawl.launch import FETCHER, launched

def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

with launched(2, *(sys.argv[1:] or [FETCHER])) as workers:
    pids = [worker.process.pid for worker in workers]
    print(json.dumps({"own": os.getpid(), "pids": pids, "parents": [*map(parent_of, pids)]}))
    sys.stdout.flush()
    sys.stdin.read()
print(json.dumps([Path(f"/proc/{pid}").exists() for pid in pids]))
"""


@contextlib.contextmanager
def command(*arguments: str, path: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command that forks two workers, in a process of its own: a test run has threads."""
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else None
    with subprocess.Popen(
        [sys.executable, "-c", _MAP, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said_by(process: subprocess.Popen[bytes]) -> dict:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + _SECONDS
    while any(map(is_running, pids)):
        assert time.monotonic() < deadline, "a process outlived its parent"
        time.sleep(0.01)


def test_workers_are_children_of_the_command_and_end_with_its_block():
    with command() as process:
        said = said_by(process)
        assert len({*said["pids"], said["own"]}) == 3
        assert said["parents"] == [said["own"]] * 2
        assert all(map(is_running, said["pids"]))
        last, errors = process.communicate(timeout=_SECONDS)
    assert json.loads(last) == [False, False]
    assert not errors


def test_workers_end_when_the_command_is_killed():
    with command() as process:
        pids = said_by(process)["pids"]
        process.send_signal(signal.SIGKILL)
        wait_for_end(pids)


def test_a_nursery_that_still_loads_ends_when_the_command_is_killed(tmp_path):
    (tmp_path / "slow_worker.py").write_text("import time\nprint('{}', flush=True)\ntime.sleep(99)")
    with command("slow_worker", path=tmp_path) as process:
        said_by(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        process.send_signal(signal.SIGKILL)
        wait_for_end([int(children[0])])


def test_workers_that_cannot_be_loaded_are_an_error_not_a_reason_to_try_again():
    with command("gossamer.no_such_worker") as process:
        _, errors = process.communicate(timeout=_SECONDS)
    assert process.returncode == 1
    assert b"RuntimeError: gossamer.no_such_worker cannot be loaded" in errors
    assert b"ModuleNotFoundError" in errors


def test_what_only_workers_need_is_loaded_by_the_nursery_alone():
    """Else the command takes as long to begin as if it had loaded all by itself."""
    coordinators = loaded_by("gossamer.site.run", "gossamer.crawl.pipeline")
    workers = loaded_by("gossamer.crawl.worker")
    assert {"turbohtml", "gossamer.crawl.intake", "gossamer.handlers.findings"} <= workers
    assert {"gossamer.catalog.in_memory", "gossamer.urlserver.urlserver"} <= coordinators
    # Only what is kept is in a database.
    assert "sqlite3" not in coordinators
    assert coordinators.isdisjoint({"turbohtml", "gossamer.crawl.intake", "gossamer.parse.html"})
    assert "gossamer.parse.sniff" not in coordinators
    assert workers.isdisjoint({"sqlite3", "gossamer.urlserver.urlserver", "gossamer.parse.sitemap"})


def loaded_by(*modules: str) -> set[str]:
    script = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


def test_forking_workers_that_fetch_leaves_nothing_of_libcurl_open():
    """It makes once, before them, what each would make for itself; they share no connection."""
    script = (
        "import os; from gossamer.crawl.launch import fetchers\n"
        "def open_files(): return set(os.listdir('/proc/self/fd'))\n"
        "before = open_files()\n"
        "with fetchers(0, keep=False): print(len(open_files() - before))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "0"
