"""How contents lie on disk: names, schemas, templates, links, and what other programs left."""

import os
import sqlite3

import pytest
from contents_samples import HEAD, NOW, ONE, REQUEST, SITE, TWO, Storage, put

from gossamer.errors import StoreError
from gossamer.store.content_storage import StorageType, open_files
from gossamer.store.key_value import TEMPLATE
from gossamer.store.raw_files import RawFiles

STEM = f"{ONE}_20261116030000123456"


@pytest.fixture(params=[0, 1], ids=["key-value", "table"])
def storage(request, tmp_path):
    return Storage(request.param, tmp_path)


@pytest.fixture
def contents(storage):
    return storage.open()


def place(storage, site=SITE, md5=ONE):
    return storage.folder / "data" / site / md5[:2] / md5[2:]


@pytest.mark.req("S3.63", "S3.65", "S3.66")
@pytest.mark.parametrize(("site", "name"), [(SITE, SITE), ("", "0")])
def test_a_version_is_a_group_of_files_named_by_md5_and_time(storage, contents, site, name):
    put(contents, site=site, meta=b"m", cookies=b"c")
    contents.sync()
    folder = place(storage, name)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        f"{STEM}.bin": b"<p>x",
        f"{STEM}.headers.txt": HEAD,
        f"{STEM}.request.txt": REQUEST,
        f"{STEM}.meta.txt": b"m",
        f"{STEM}.cookies.txt": b"c",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    (read,) = contents.raw(site, ONE)
    assert (read.meta, read.cookies) == (b"m", b"c")


def test_what_is_not_given_has_no_file_and_is_none(storage, contents):
    put(contents, headers=None, request=None)
    (read,) = contents.raw(SITE, ONE)
    assert read.headers is read.request is read.meta is read.cookies is None
    assert [path.name for path in place(storage).iterdir()] == [f"{STEM}.bin"]


def test_a_version_of_the_same_moment_keeps_nothing_of_the_one_before(contents):
    put(contents, meta=b"m")
    contents.sync()
    put(contents, body=b"y", headers=None)
    (read,) = contents.raw(SITE, ONE, "all")
    assert (read.body, read.headers, read.request, read.meta) == (b"y", None, REQUEST, None)


def test_names_of_other_programs_are_read(storage, contents):
    """No stamp (then the time of the file counts), a stamp in seconds, .requests.txt."""
    put(contents, stamp=NOW)
    contents.sync()
    folder = place(storage)
    (folder / f"{ONE}.bin").write_bytes(b"unstamped")
    (folder / f"{ONE}.requests.txt").write_bytes(b"r0")
    os.utime(folder / f"{ONE}.bin", (NOW - 1_000, NOW - 1_000))
    (folder / f"{ONE}_20261116030001.bin").write_bytes(b"seconds")
    (folder / f"{ONE}_20261116030001.requests.txt").write_bytes(b"r2")
    (folder / f"{ONE}_20269999999999.bin").write_bytes(b"no such day")
    os.utime(folder / f"{ONE}_20269999999999.bin", (NOW + 9, NOW + 9))
    (folder / f"{ONE}_x.bin").write_bytes(b"no stamp at all")
    (folder / "stranger.bin").write_bytes(b"-")
    read = contents.raw(SITE, ONE, "all")
    assert [one.body for one in read] == [b"unstamped", b"<p>x", b"seconds", b"no such day"]
    assert [one.request for one in read] == [b"r0", REQUEST, b"r2", None]
    contents.delete(SITE, ONE)
    assert [path.name for path in folder.iterdir()] == ["stranger.bin"]


def test_a_deleted_url_leaves_no_empty_folders(storage, contents):
    put(contents)
    contents.delete(SITE, ONE)
    assert list((storage.folder / "data" / SITE).iterdir()) == []


@pytest.mark.parametrize("level", [1, 2, 3])
def test_links_are_not_followed(storage, contents, tmp_path, level):
    """A link in place of a folder, wherever it leads, is refused; nothing is read or written."""
    outside = tmp_path / "outside"
    target = outside / "x" / "y"
    target.mkdir(parents=True)
    (target / f"{STEM}.bin").write_bytes(b"secret")
    link = [place(storage).parent.parent, place(storage).parent, place(storage)][level - 1]
    link.parent.mkdir(parents=True, exist_ok=True)
    (outside / ONE[:2]).mkdir()
    link.symlink_to([outside, outside / "x", target][level - 1])
    put(contents)
    with pytest.raises(StoreError):
        contents.sync()
    with pytest.raises(StoreError):
        contents.raw(SITE, ONE)
    with pytest.raises(StoreError):
        contents.delete(SITE, ONE)
    assert [path.read_bytes() for path in outside.rglob("*.bin")] == [b"secret"]
    if level == 1:
        contents.drop_site(SITE)
        while contents.sweep():
            pass
        assert target.is_dir()


def test_a_link_in_place_of_a_file_is_not_read(storage, contents, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    put(contents)
    contents.sync()
    folder = place(storage)
    (folder / f"{ONE}_20261116040000000000.bin").symlink_to(tmp_path / "secret")
    (folder / f"{STEM}.meta.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / f"{STEM}.cookies.txt")
    (read,) = contents.raw(SITE, ONE, "all")
    assert (read.body, read.meta, read.cookies) == (b"<p>x", None, None)
    contents.delete(SITE, ONE)
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_link_inside_a_removed_site_is_not_followed(storage, contents, tmp_path):
    keep = tmp_path / "keep" / "inner"
    keep.mkdir(parents=True)
    (keep / "file").write_text("x")
    contents.create_site(SITE)
    (storage.folder / "data" / SITE / "aa").symlink_to(tmp_path / "keep")
    contents.drop_site(SITE)
    while contents.sweep():
        pass
    assert (keep / "file").exists()
    assert list((storage.folder / "data" / ".gone").iterdir()) == []


@pytest.mark.req("S3.104", "S3.122", "S3.114")
def test_type_0_has_a_key_value_file_for_each_site_made_from_a_template(tmp_path):
    contents = open_files(StorageType.KEY_VALUE, tmp_path / "data", tmp_path / "db")
    contents.create_site(SITE)
    contents.create_site("")
    files = {path.name for path in (tmp_path / "db").iterdir() if path.suffix == ".db"}
    assert files == {f"{SITE}.db", "0.db", TEMPLATE}
    assert (tmp_path / "data" / SITE).is_dir()
    template = (tmp_path / "db" / TEMPLATE).read_bytes()
    assert (tmp_path / "db" / f"{SITE}.db").read_bytes() == template
    contents.put_processed(SITE, ONE, b'{"a": 1}', NOW)
    with sqlite3.connect(tmp_path / "db" / f"{SITE}.db") as database:
        rows = database.execute("SELECT id, data, CDate FROM articles").fetchall()
        assert rows == [(ONE, '{"a": 1}', "2026-11-16 03:00:00")]
    database.close()


def test_a_template_of_the_owner_is_used_as_it_is(tmp_path):
    (tmp_path / "db").mkdir()
    with sqlite3.connect(tmp_path / "db" / TEMPLATE) as database:
        database.execute("CREATE TABLE articles (id text PRIMARY KEY, data, CDate, extra)")
    database.close()
    contents = open_files(StorageType.KEY_VALUE, tmp_path / "data", tmp_path / "db")
    contents.put_processed(SITE, ONE, b"1", NOW)
    with sqlite3.connect(tmp_path / "db" / f"{SITE}.db") as database:
        assert database.execute("SELECT id, extra FROM articles").fetchall() == [(ONE, None)]
    database.close()


@pytest.mark.parametrize("remove", ["clear_site", "drop_site"])
def test_the_template_is_never_deleted(tmp_path, remove):
    contents = open_files(StorageType.KEY_VALUE, tmp_path / "data", tmp_path / "db")
    contents.put_processed(SITE, ONE, b"1", NOW)
    getattr(contents, remove)(SITE)
    assert (tmp_path / "db" / TEMPLATE).is_file()
    assert (tmp_path / "db" / f"{SITE}.db").is_file() == (remove == "clear_site")
    assert (tmp_path / "data" / SITE).is_dir() == (remove == "clear_site")
    while contents.sweep():
        pass
    assert list((tmp_path / "db" / ".gone").iterdir()) == []


@pytest.mark.req("S3.114", "S3.123")
def test_type_1_has_a_table_for_each_site(tmp_path):
    contents = open_files(StorageType.TABLE, tmp_path / "data", tmp_path / "db")
    contents.create_site(SITE)
    contents.put_processed("", TWO, b"{}", NOW)
    assert not list((tmp_path / "db").glob("*.db-journal"))
    assert [path.name for path in (tmp_path / "db").glob("*.db")] == ["dc_contents.db"]
    assert (tmp_path / "data" / SITE).is_dir()

    def tables():
        with sqlite3.connect(tmp_path / "db" / "dc_contents.db") as database:
            listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = {name for (name,) in listed}
        database.close()
        return names

    assert tables() == {f"contents_{SITE}", "contents_0"}
    contents.drop_site(SITE)
    assert f"contents_{SITE}" not in tables()
    while contents.sweep():
        pass
    assert tables() == {"contents_0"}


def test_a_large_table_is_dropped_some_rows_at_a_time(tmp_path):
    contents = open_files(StorageType.TABLE, tmp_path / "data", tmp_path / "db")
    for number in range(10):
        contents.put_processed(SITE, f"{number:032x}", b"1", NOW)
    contents.clear_site(SITE)
    contents.put_processed(SITE, ONE, b"new", NOW)
    rounds = 0
    while contents.sweep(4):
        rounds += 1
    assert rounds == 3
    assert contents.processed(SITE, ONE) == (b"new", int(NOW))


def test_the_archive_is_no_storage_of_files(tmp_path):
    with pytest.raises(StoreError, match="type 2"):
        open_files(StorageType.WARC, tmp_path / "data", tmp_path / "db")


def test_a_damaged_key_value_file_is_said_to_be(tmp_path):
    contents = open_files(StorageType.KEY_VALUE, tmp_path / "data", tmp_path / "db")
    contents.create_site(SITE)
    (tmp_path / "db" / f"{SITE}.db").write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreError, match="damaged"):
        contents.processed(SITE, ONE)


def test_a_link_in_place_of_a_database_is_refused(storage, contents, tmp_path):
    outside = tmp_path / "outside.db"
    sqlite3.connect(outside).close()
    name = f"{SITE}.db" if storage.storage is StorageType.KEY_VALUE else "dc_contents.db"
    (storage.folder / "db" / name).symlink_to(outside)
    with pytest.raises(StoreError, match="link"):
        contents.put_processed(SITE, ONE, b"1", NOW)
    assert not outside.exists() or outside.stat().st_size == 0


@pytest.mark.parametrize("stamp", [-1.0, 1e18, float("nan"), float("inf")])
def test_a_moment_that_no_calendar_has_is_refused(contents, stamp):
    with pytest.raises(StoreError):
        put(contents, stamp=stamp)


@pytest.mark.parametrize("keeps_old", [True, False])
def test_earlier_versions_stay_or_go_as_asked(tmp_path, keeps_old):
    files = RawFiles(tmp_path / "raw", keeps_old=keeps_old)
    for number, stamp in enumerate((1e9, 2e9, 3e9)):
        parts = {"headers": b"h%d" % number, "request": b"r%d" % number}
        files.put(SITE, ONE, stamp, b"body %d" % number, parts)
        files.put(SITE, TWO, 1e9, b"of another URL", {"headers": None})
        files.sync()
    versions = files.versions(SITE, ONE, "all")
    assert [version.body for version in versions] == [
        b"body %d" % number for number in range(3) if keeps_old or number == 2
    ]
    assert (versions[-1].headers, versions[-1].request) == (b"h2", b"r2")
    assert [version.body for version in files.versions(SITE, TWO, "all")] == [b"of another URL"]
    left = [path for path in (tmp_path / "raw").rglob(f"{ONE}*") if path.is_file()]
    assert len(left) == 3 * len(versions)


def test_an_older_version_that_comes_late_does_not_take_the_place_of_the_newest(tmp_path):
    files = RawFiles(tmp_path / "raw", keeps_old=False)
    for stamp in (2e9, 1e9):
        files.put(SITE, ONE, stamp, b"of %d" % stamp, {"headers": None})
        files.sync()
    assert [version.body for version in files.versions(SITE, ONE, "all")] == [b"of 2000000000"]
