"""Files that people name for output: whole or as they were."""

import os
import stat
from pathlib import Path

import pytest

from gossamer.errors import InputError
from gossamer.store import output
from gossamer.store.file_system import begin_to_write
from gossamer.store.output import require_writable, whole_file


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def interrupt_while_writing(path):
    with whole_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_what_is_interrupted_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "out"
    path.write_text("earlier")
    with pytest.raises(KeyboardInterrupt):
        interrupt_while_writing(path)
    assert path.read_text() == "earlier"
    assert names_in(tmp_path) == ["out"]


def test_what_is_complete_takes_its_place_as_private_as_it_was(tmp_path):
    path = tmp_path / "out"
    path.write_text("earlier")
    path.chmod(0o600)
    with whole_file(path) as file:
        file.write(b"whole")
        assert path.read_text() == "earlier"
    assert path.read_text() == "whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_in(tmp_path) == ["out"]


def test_a_long_file_is_on_its_way_to_the_disk_while_it_is_written(tmp_path, monkeypatch):
    """Else the sync at its end waits for all of it."""
    begun: list[tuple[int, int]] = []

    def note(descriptor: int, offset: int, length: int) -> None:
        begun.append((offset, length))
        begin_to_write(descriptor, offset, length)

    monkeypatch.setattr(output, "begin_to_write", note)
    parts = [bytes([number % 256]) * 50_000 for number in range(100)]
    with whole_file(tmp_path / "out") as file:
        file.writelines(parts)
        assert len(begun) > 2
    assert (tmp_path / "out").read_bytes() == b"".join(parts)
    ends = [0, *(offset + length for offset, length in begun)]
    assert ends == [*(offset for offset, _ in begun), 5_000_000]


def test_where_that_cannot_be_asked_for_nothing_is_different():
    """It is a hint: a pipe has no place, and not every system knows it."""
    reading, writing = os.pipe()
    begin_to_write(writing, 0, 1)
    os.close(reading)
    os.close(writing)
    begin_to_write(writing, 0, 1)


def test_a_link_stays_a_link_wherever_it_leads(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link, real = tmp_path / "link", tmp_path / "elsewhere" / "real"
    link.symlink_to(real)
    with whole_file(link) as file:
        file.write(b"whole")
    assert link.is_symlink()
    assert real.read_text() == "whole"
    assert names_in(tmp_path / "elsewhere") == ["real"]


@pytest.mark.parametrize("name", ["no/such/folder", "x" * 300])
def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path, name):
    path = tmp_path / name
    for attempt in (require_writable, lambda where: whole_file(where).__enter__()):
        with pytest.raises(InputError, match=name[:40]):
            attempt(path)
    assert names_in(tmp_path) == []


def test_to_ask_whether_it_can_be_written_changes_nothing(tmp_path):
    path = tmp_path / "out"
    path.write_text("earlier")
    require_writable(path)
    require_writable(tmp_path / "new")
    assert path.read_text() == "earlier"
    assert names_in(tmp_path) == ["out"]


def test_a_file_in_a_folder_that_is_gone_is_refused(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="cannot write out: No such file or directory"):
        require_writable(Path("out"))
    with pytest.raises(InputError, match="cannot write out: No such file or directory"):
        interrupt_while_writing(Path("out"))
    monkeypatch.chdir(tmp_path)
