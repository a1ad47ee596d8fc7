"""Files of the service that properties refer to: one folder, and nothing else."""

import os
from pathlib import Path

import pytest

from gossamer.objects.headers import MAX_TEXT
from gossamer.service.request_files import RequestFiles


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    files = RequestFiles(tmp_path)
    assert files("a.txt") == ""
    (tmp_path / "a.txt").write_text("one")
    assert files("a.txt") == files("a.txt") == "one"
    (tmp_path / "a.txt").write_text("another")
    assert files("a.txt") == "another"
    (tmp_path / "a.txt").unlink()
    assert files("a.txt") == ""


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "in/a", "..", ".", "", ".a", "a\0b"])
def test_nothing_else_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "files"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a").write_text("secret")
    (folder / ".a").write_text("secret")
    assert RequestFiles(folder)(name) == ""


def test_links_pipes_and_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    (folder / "large").write_text("x" * (MAX_TEXT + 1))
    (folder / "folder").mkdir()
    files = RequestFiles(folder)
    assert [files(name) for name in ("link", "pipe", "large", "folder")] == [""] * 4
