"""A format goes to a stream or to a file that is whole or not there."""

import io
import json
import os
import stat
from pathlib import Path

import pytest
from map_samples import page, realistic, site_map_of, small

from gossamer.errors import InputError
from gossamer.site.writing import FORMATS, write_to_path, write_to_stream

ISSUE = {"tree", "json", "jsonl", "xml", "csv", "dot", "html", "markdown"}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_formats_are_there():
    assert set(FORMATS) == ISSUE
    assert len({one.file_name for one in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize("name", sorted(ISSUE))
def test_a_file_and_a_stream_get_the_same(name, tmp_path):
    stream = io.BytesIO()
    write_to_stream(name, realistic(), stream)
    path = tmp_path / "out"
    assert write_to_path(name, realistic(), path) == [path]
    assert path.read_bytes() == stream.getvalue()
    assert names_in(tmp_path) == ["out"]


def test_a_folder_takes_every_format_under_its_own_name(tmp_path):
    for name in FORMATS:
        assert write_to_path(name, small(), tmp_path) == [tmp_path / FORMATS[name].file_name]
    assert names_in(tmp_path) == sorted(one.file_name for one in FORMATS.values())


def test_a_sitemap_of_many_urls_is_several_files(tmp_path):
    site_map = site_map_of([page("/")] * 50_001)
    written = write_to_path("xml", site_map, tmp_path / "map.xml")
    assert [path.name for path in written] == ["map-1.xml", "map-2.xml", "map.xml"]
    assert names_in(tmp_path) == sorted(path.name for path in written)


def test_an_interrupted_run_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "site.json"
    path.write_text("earlier")
    broken = small()
    broken.pages[3].title = object()
    with pytest.raises(TypeError):
        write_to_path("json", broken, path)
    assert path.read_text() == "earlier"
    assert names_in(tmp_path) == ["site.json"]
    write_to_path("json", small(), path)
    assert json.loads(path.read_bytes())["summary"]["pages"] == 2


def test_a_pipe_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_to_path("tree", small(), path)
    assert os.read(reader, 100).startswith(b"https://docs.example.org/")
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_link_stays_a_link_to_what_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "real.json"
    link = tmp_path / "latest.json"
    link.symlink_to(real)
    write_to_path("json", small(), link)
    assert link.is_symlink()
    assert json.loads(real.read_bytes())["summary"]["pages"] == 2
    assert names_in(tmp_path) == ["elsewhere", "latest.json"]


def test_a_private_file_stays_private(tmp_path):
    """What a log-in shows must not be open to all because it was mapped again."""
    path = tmp_path / "site.json"
    path.write_text("earlier")
    path.chmod(0o600)
    write_to_path("json", small(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*missing/site.json: No such file"):
        write_to_path("json", small(), tmp_path / "missing" / "site.json")


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no format 'pdf'; there are tree, json"):
        write_to_path("pdf", small(), tmp_path / "x")
    with pytest.raises(InputError, match="there is no format"):
        write_to_stream("pdf", small(), io.BytesIO())
