"""Killed at any moment, operations are done as a whole or not at all."""

import random
import subprocess
import sys
import time
from pathlib import Path

import crash_scenario
import pytest
from crash_scenario import check, finish
from operations_desk import Desk

KILLS = 4
CLIENT = """
import sys
from pathlib import Path
from crash_scenario import live
from operations_desk import Desk
from gossamer.objects.enumerations import DelayedType

desk = Desk(Path(sys.argv[1]), int(sys.argv[2]))
print("open", flush=True)
number = 0
while True:
    name = f"k{sys.argv[3]}n{number}"
    live(desk, name, DelayedType(number % 2), lambda step: print(step, name, flush=True))
    number += 1
"""
storages = pytest.mark.parametrize("storage", [0, 1, 2], ids=["key-value", "table", "warc"])


def run(*command: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )


@storages
def test_killed_between_any_two_steps_it_is_whole_or_was_never_begun(tmp_path, storage):
    """Every step of the first storage, every fourth of the others."""
    stride = 1 if storage == 0 else 4
    process = run(crash_scenario.__file__, tmp_path, storage, storage, stride)
    report, _ = process.communicate()
    assert process.returncode == 0, report
    # Fewer would mean that the steps are not where they were.
    assert int(report.split()[-1]) > 40


@storages
def test_killed_at_a_random_moment_it_is_whole_or_was_never_begun(tmp_path, storage):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    draw = random.Random(seed)
    reached: dict[str, str] = {}
    for kill in range(KILLS):
        last = ""
        for step, name in killed(tmp_path, storage, kill, draw):
            reached[name] = step
            last = name
        desk = Desk(tmp_path, storage)
        assert desk.is_sound()
        for name, step in reached.items():
            check(desk, name, step)
        following = f"k{kill}n{int(last.partition('n')[2]) + 1 if last else 0}"
        check(desk, following, "")
        finish(desk, [*reached, following])
        desk.close()


def killed(folder: Path, storage: int, kill: int, draw: random.Random) -> list[tuple[str, str]]:
    """Run a client, kill it, and return what it was told is done."""
    process = run("-c", CLIENT, folder, storage, kill)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    time.sleep(draw.random() ** 2 * 0.6)
    process.kill()
    report, _ = process.communicate()
    whole = [line for line in report.splitlines(keepends=True) if line.endswith("\n")]
    return [(line.split()[0], line.split()[1]) for line in whole]
