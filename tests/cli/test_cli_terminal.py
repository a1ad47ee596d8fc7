"""Nothing that came from the web can steer a terminal, end a line or run as a formula."""

import io
import os
import pty
import re
import subprocess
import sys
import termios
from collections import deque

import pytest
from cli_samples import GONE, HOME
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.formats import csv_cell, iso_time
from gossamer.cli.progress import LiveDisplay, PlainDisplay, bar_line, plain_line, sparkline
from gossamer.cli.terminal import (
    Section,
    cell,
    print_sections,
    visible_lines,
)
from gossamer.crawl.progress import Progress

any_text = st.text(st.characters())
valid_text = st.text(st.characters(exclude_categories=["Cs"]))


@given(valid_text)
def test_visible_lines_keeps_lines_and_tabs_alone(text):
    shown = visible_lines(text)
    assert shown.replace("\n", "").replace("\t", "").isprintable()


@given(valid_text)
def test_a_csv_cell_never_begins_a_formula(text):
    assert csv_cell(text)[:1] not in ("=", "+", "-", "@", "\t", "\r")
    assert csv_cell(text).isprintable()


def test_numbers_in_csv_stay_numbers():
    assert csv_cell(-5) == -5
    assert csv_cell(None) is None


def test_cells():
    values = (None, True, 1234, 1.25, "a\x00")
    assert [cell(value) for value in values] == ["-", "yes", "1,234", "1.2", "a\\x00"]


def test_times_are_written_in_utc():
    assert iso_time(0.9996) == "1970-01-01T00:00:00.999Z"


def test_tables_in_a_pipe_are_aligned_columns():
    out = io.StringIO()
    print_sections([Section("T", ("name", "n"), [("a", 1), ("bbb", 20)])], out)
    assert out.getvalue() == "T\n  name   n\n  a      1\n  bbb   20\n"


def progress(**fields: object) -> Progress:
    return Progress(**{"pages": 5, "pages_per_second": 2.0, "state": "running"} | fields)


def test_a_plain_progress_line_is_one_line_whatever_the_state_says():
    assert plain_line(progress(state="a\nb\x1b")).isprintable()


def test_plain_progress_comes_every_few_seconds_and_when_the_state_changes():
    now = 0.0
    out = io.StringIO()
    display = PlainDisplay(out, monotonic=lambda: now, every_seconds=5.0)
    lines = []
    for tick in range(50):
        now = tick * 0.25
        display.show(progress(state="running" if now < 7 else "paused: disk"))
        lines.append(out.getvalue().count("\n"))
    assert lines[-1] == 3
    assert "paused: disk" in out.getvalue().splitlines()[1]


def test_the_live_display_redraws_at_most_four_times_a_second():
    now = 0.0
    out = io.StringIO()
    display = LiveDisplay(out, monotonic=lambda: now, colours=False)
    for tick in range(1000):
        now = tick / 100
        display.show(progress(pages=tick))
    display.close()
    assert 30 <= out.getvalue().count("pages ") <= 45
    assert out.getvalue().endswith("\x1b[?25h")


def test_the_live_display_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    out = io.StringIO()
    LiveDisplay(out, monotonic=lambda: 1.0, colours=False).show(progress())
    shown = re.sub("\x1b\\[[0-9?]*[A-Za-z]|\r", "", out.getvalue())
    assert max(map(len, shown.split("\n"))) < 20


def test_the_live_display_fits_the_terminal_it_is_drawn_on():
    """Though output goes to a file, where no width can be asked for, and rows are few."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (3, 20))
    with open(slave, "w", encoding="utf-8") as terminal:  # noqa: PTH123 - a descriptor
        LiveDisplay(terminal, monotonic=lambda: 1.0, colours=False).show(progress())
        shown = re.sub("\x1b\\[[0-9?]*[A-Za-z]|\r", "", os.read(master, 65_536).decode())
    os.close(master)
    lines = shown.removesuffix("\n").split("\n")
    assert max(map(len, lines)) < 20
    assert len(lines) == 2


@given(st.lists(st.floats(0, 1e9), max_size=40))
def test_a_sparkline_has_a_bar_for_each_value(values):
    bars = sparkline(deque(values))
    assert len(bars) == len(values)
    assert set(bars) <= set("▁▂▃▄▅▆▇█")


def on_a_terminal(*words: object, **environment: str) -> bytes:
    """Run a command on a real pseudo-terminal and return what it wrote there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gossamer.cli", *map(str, words)],
        stdout=slave,
        stderr=slave,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "150"} | environment,
    )
    os.close(slave)
    written = b""
    try:
        while piece := os.read(master, 65_536):
            written += piece
    except OSError:
        pass  # Linux says so when the last writer has closed its end.
    finally:
        os.close(master)
        process.wait(60)
    return written


def test_on_a_terminal_there_are_colours_but_none_of_the_pages_own(workspace):
    written = on_a_terminal("status", "--dir", workspace)
    assert b"\x1b[1m" in written
    assert b"net.refused\\x1b[1m" in written
    assert b"net.refused\x1b" not in written


def test_no_color_means_no_escapes_at_all(workspace):
    assert b"\x1b" not in on_a_terminal("status", "--dir", workspace, NO_COLOR="1")


def test_a_body_on_a_terminal_cannot_clear_it(workspace):
    written = on_a_terminal("show", "--dir", workspace, HOME, "--body")
    assert b"\\x1b[2Jcleared" in written
    assert b"\x1b" not in written


def test_history_and_heads_on_a_terminal_cannot_steer_it(workspace):
    assert b"404 \x1b" not in on_a_terminal("show", "--dir", workspace, GONE)
    heads = on_a_terminal("show", "--dir", workspace, HOME, "--headers")
    assert b"X-Odd: \\x1b[5m" in heads
    assert b"\x1b" not in heads


def test_settings_on_a_terminal_are_a_table_and_in_a_pipe_a_file(run):
    assert "─".encode() in on_a_terminal("config")
    assert "[urlserver]\n" in run("config")[1]


def test_the_queue_is_what_waits_wherever_it_waits():
    line = plain_line(progress(pending=10, leased=7, in_flight=3))
    assert " queue 14 " in line


@pytest.mark.parametrize(
    ("counts", "bar"),
    [
        ({}, "░░░░░░░░░░   0%"),
        ({"discovered": 10, "pending": 10}, "░░░░░░░░░░   0%"),
        ({"discovered": 12, "excluded": 2, "pending": 4, "leased": 1}, "█████░░░░░  50%"),
        ({"discovered": 12, "excluded": 2}, "██████████ 100%"),
        ({"discovered": 2, "excluded": 5, "pending": 9}, "░░░░░░░░░░   0%"),
    ],
)
def test_a_bar_shows_what_is_over_of_all_that_is_known(counts, bar):
    assert bar_line(progress(**counts), 15) == bar
    assert len(bar_line(progress(**counts), 300)) == 60
    assert len(bar_line(progress(**counts), 1)) == 6


def test_the_live_display_has_a_bar_where_the_crawl_has_an_end():
    out = io.StringIO()
    display = LiveDisplay(out, monotonic=lambda: 1.0, colours=False, bar=True)
    display.show(progress(discovered=4))
    assert "█ 100%" in out.getvalue()
    # What follows tells how it ended; a bar that stays would tell of a moment before.
    display.close()
    assert out.getvalue().endswith("\x1b[4A\r\x1b[J\x1b[?25h")
