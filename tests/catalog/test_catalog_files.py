"""The catalog as a file: migrations, other versions, damage, permissions, a full disk."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from catalog_rig import NOW, done, found

from gossamer.catalog import migrate
from gossamer.catalog.migrate import Migration, shipped_migrations
from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError, DiskFullError, WorkspaceError

SETTINGS = CatalogSettings()
LATEST = shipped_migrations()[-1].version
NEXT = LATEST + 1


def column_added(version):
    return Migration(version, "colour", "ALTER TABLE host ADD COLUMN colour TEXT;\n")


def make(path):
    with SqliteCatalog.open(path, SETTINGS) as catalog:
        catalog.begin_run(NOW)
        catalog.add([found("http://a.example/")], NOW)


def change_schema(path, change, name):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"UPDATE sqlite_master SET {change} WHERE name = '{name}'")


def schema(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT max(version) FROM schema_version").fetchone()[0]


def start_at_once(code, path, count):
    """Run a program that says when it is ready in some processes; return what each says next."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        for _ in range(count)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in processes]


class TestFromVersionOne:
    """Catalogs of the first release, as it made them, become those of this one."""

    @pytest.fixture
    def old(self, tmp_path):
        """A catalog of version 1 with URLs in every state, left by a crash."""
        path = tmp_path / "catalog.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL, "
                "applied_at REAL NOT NULL) STRICT;"
                "INSERT INTO schema_version VALUES (1, 'catalog', 0);"
                + shipped_migrations()[0].text
                + """
                INSERT INTO host (host_id, name, pending, leased, done, excluded, failed, turn)
                VALUES (1, 'a.example', 1, 1, 1, 1, 1, 1);
                INSERT INTO url (doc_id, md5, host_id, state, outcome, url, last_fetch, last_page,
                    tries)
                VALUES (1, x'01', 1, 2, 1, 'http://a.example/done', 1, 1, 1),
                    (2, x'02', 1, 1, NULL, 'http://a.example/leased', NULL, NULL, 0),
                    (3, x'03', 1, 0, NULL, 'http://a.example/pending', NULL, NULL, 0),
                    (4, x'04', 1, 3, 122, 'http://a.example/excluded', NULL, NULL, 0),
                    (5, x'05', 1, 4, 10, 'http://a.example/failed', 2, NULL, 1);
                INSERT INTO fetch (fetch_id, doc_id, fetched_at, outcome, status, milliseconds)
                VALUES (1, 1, 1000, 1, 200, 5), (2, 5, 1001, 10, 404, 5);
                INSERT INTO run (began_at) VALUES (1000);
                UPDATE total SET pending = 1, leased = 1, done = 1, excluded = 1, failed = 1,
                    pages = 1;
                INSERT INTO outcome_count VALUES (1, 1), (122, 1), (10, 1);
                """
            )
        return path

    def test_everything_is_still_known(self, old):
        with SqliteCatalog.open(old, SETTINGS) as catalog:
            assert catalog.check() == []
            assert [row.url.rpartition("/")[2] for row in catalog.rows()] == [
                "done", "leased", "pending", "excluded", "failed",
            ]  # fmt: skip
            assert catalog.history(1)[0].status == 200
        assert schema(old) == LATEST
        assert schema(f"{old}.schema-1") == 1

    @pytest.mark.parametrize("keep", [None, 3600.0])
    def test_a_lease_of_the_old_program_returns_to_pending(self, old, keep):
        with SqliteCatalog.open(old, SETTINGS) as catalog:
            recovery = catalog.begin_run(NOW, keep_delivered_seconds=keep)
            assert (recovery.released, recovery.clean) == (1, False)
            assert [due.doc_id for due in catalog.due(9, 9, NOW)] == [2, 3]
            assert catalog.check() == []

    def test_all_new_operations_work_on_it(self, old):
        with SqliteCatalog.open(old, SETTINGS, shared=True) as catalog:
            assert catalog.mark_delivered([1, 2, 3], NOW) == 1
            assert list(catalog.dues([1, 2, 3])) == [2]
            assert [learned.doc_id for learned in catalog.results_after(0, 9)] == [1, 5]
            assert catalog.release_undelivered(NOW + 10, 5.0) == 1
            assert catalog.check() == []


class TestSyncing:
    """A commit is on the disk when it returns, whatever happened before it."""

    @staticmethod
    def level(catalog):
        return catalog._database.connection.execute("PRAGMA synchronous").fetchone()[0]

    @pytest.mark.parametrize("kind", [SqliteCatalog, ServiceCatalog])
    def test_leases_leave_it_as_it_was(self, tmp_path, kind):
        with kind.open(tmp_path / "catalog.db", SETTINGS) as catalog:
            full = self.level(catalog)
            assert full == 2
            catalog.begin_run(NOW)
            catalog.add([found("http://a.example/")], NOW)
            with pytest.raises(TypeError):
                catalog.due(1, 1, NOW, reject_hosts=7)
            assert self.level(catalog) == full
            catalog.due(1, 1, NOW)
            assert self.level(catalog) == full

    @pytest.mark.parametrize(("kind", "count"), [(SqliteCatalog, 1), (ServiceCatalog, 0)])
    def test_only_a_lease_that_is_nothing_but_a_lease_is_not_synced(self, tmp_path, kind, count):
        """Undone by a loss of power it is a pending URL, which every lease becomes then."""
        with kind.open(tmp_path / "catalog.db", SETTINGS) as catalog:
            catalog.begin_run(NOW)
            catalog.add([found("http://a.example/")], NOW)
            said = []
            catalog._database.connection.set_trace_callback(said.append)
            leased = catalog.due(1, 1, NOW)
            assert said.count("PRAGMA synchronous = NORMAL") == count
            said.clear()
            catalog.commit([done(due) for due in leased], NOW)
            assert not any("synchronous" in text for text in said)


class TestMigrations:
    def test_shipped_steps_are_numbered_without_gaps(self):
        versions = [step.version for step in shipped_migrations()]
        assert versions == list(range(1, len(versions) + 1))

    def test_an_older_catalog_is_brought_up_to_date_and_a_copy_kept(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        steps = [*shipped_migrations(), column_added(NEXT)]
        with SqliteCatalog.open(path, SETTINGS, migrations=steps) as catalog:
            assert catalog.counts().discovered == 1
        assert schema(path) == NEXT
        assert schema(f"{path}.schema-{LATEST}") == LATEST

    def test_a_step_that_fails_leaves_the_old_catalog(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        broken = Migration(NEXT, "broken", "CREATE TABLE colour (x) ;\nSELECT * FROM nowhere;\n")
        with pytest.raises(CatalogError, match="nowhere"):
            SqliteCatalog.open(path, SETTINGS, migrations=[*shipped_migrations(), broken])
        with SqliteCatalog.open(path, SETTINGS) as catalog:
            assert catalog.counts().discovered == 1

    def test_a_copy_that_cannot_be_made_leaves_the_old_catalog(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        (tmp_path / f"catalog.db.schema-{LATEST}.part").mkdir()
        steps = [*shipped_migrations(), column_added(NEXT)]
        with pytest.raises(CatalogError, match="before it is upgraded"):
            SqliteCatalog.open(path, SETTINGS, migrations=steps)
        assert schema(path) == LATEST

    def test_killed_while_migrating_leaves_the_old_or_the_new(self, tmp_path):
        """Killed at many moments of a long step, the catalog has either version, never half."""
        path = tmp_path / "catalog.db"
        make(path)
        slow = (
            "CREATE TABLE colour AS WITH RECURSIVE n(x) AS "
            "(SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT x FROM n;\n"
        )
        code = (
            "import sys\n"
            "from gossamer.catalog.migrate import Migration, shipped_migrations\n"
            "from gossamer.catalog.sqlite import SqliteCatalog\n"
            "from gossamer.config.catalog import CatalogSettings\n"
            f"steps = [*shipped_migrations(), Migration({NEXT}, 'slow', {slow!r})]\n"
            "print('ready', flush=True)\n"
            "SqliteCatalog.open(sys.argv[1], CatalogSettings(), migrations=steps).close()\n"
        )
        seen = set()
        for delay in (0.0, 0.01, 0.03, 0.06, 0.1, None):
            process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
            process.stdout.readline()
            if delay is not None:  # the last one may end by itself, however long it takes
                time.sleep(delay)
                process.kill()
            process.communicate()
            seen.add(schema(path))
            with closing(sqlite3.connect(path)) as connection:
                tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            assert ("colour" in tables) == (schema(path) == NEXT)
        assert seen <= {LATEST, NEXT}
        assert NEXT in seen

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_newer_catalog_is_refused_with_what_to_do(self, tmp_path, read_only):
        path = tmp_path / "catalog.db"
        newer = [*shipped_migrations(), column_added(NEXT)]
        SqliteCatalog.open(path, SETTINGS, migrations=newer).close()
        versions = f"newer schema {NEXT} than {LATEST}"
        expected = f"cannot open catalog {path}: {versions}; upgrade the program"
        with pytest.raises(WorkspaceError) as caught:
            SqliteCatalog.open(path, SETTINGS, read_only=read_only)
        assert str(caught.value) == expected

    def test_a_reader_does_not_migrate(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        steps = [*shipped_migrations(), column_added(NEXT)]
        with pytest.raises(WorkspaceError, match=f"older schema {LATEST} than {NEXT}"):
            SqliteCatalog.open(path, SETTINGS, read_only=True, migrations=steps)
        assert schema(path) == LATEST

    def test_two_processes_that_open_an_old_catalog_at_once_migrate_it_once(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        code = (
            "import sys\n"
            "from gossamer.catalog.migrate import Migration, shipped_migrations\n"
            "from gossamer.catalog.sqlite import SqliteCatalog\n"
            "from gossamer.config.catalog import CatalogSettings\n"
            f"text = {column_added(NEXT).text!r}\n"
            f"steps = [*shipped_migrations(), Migration({NEXT}, 'colour', text)]\n"
            "print('ready', flush=True)\n"
            "sys.stdin.readline()\n"
            "options = {'shared': True, 'migrations': steps}\n"
            "with SqliteCatalog.open(sys.argv[1], CatalogSettings(), **options) as catalog:\n"
            "    print(catalog.check(), flush=True)\n"
        )
        assert start_at_once(code, path, 4) == ["[]\n"] * 4
        assert schema(path) == NEXT
        assert schema(f"{path}.schema-{LATEST}") == LATEST

    def test_processes_that_create_a_catalog_at_once_share_it(self, tmp_path):
        """A script may start all daemons of a new workspace in one breath."""
        code = (
            "import os, sys\n"
            "from catalog_rig import NOW, found\n"
            "from gossamer.catalog.sqlite import SqliteCatalog\n"
            "from gossamer.config.catalog import CatalogSettings\n"
            "print('ready', flush=True)\n"
            "sys.stdin.readline()\n"
            "with SqliteCatalog.open(sys.argv[1], CatalogSettings(), shared=True) as catalog:\n"
            "    new = catalog.add([found(f'http://h.example/{os.getpid()}')], NOW)\n"
            "    print(len(new), flush=True)\n"
        )
        for attempt in range(5):
            path = tmp_path / f"catalog-{attempt}.db"
            assert start_at_once(code, path, 4) == ["1\n"] * 4
            with SqliteCatalog.open(path, SETTINGS) as catalog:
                assert catalog.counts().discovered == 4
                assert catalog.check() == []


class TestOpening:
    def test_a_missing_catalog_cannot_be_read(self, tmp_path):
        with pytest.raises(WorkspaceError, match="no such file"):
            SqliteCatalog.open(tmp_path / "catalog.db", SETTINGS, read_only=True)

    def test_a_catalog_that_is_just_being_made_is_not_called_old(self, tmp_path):
        path = tmp_path / "catalog.db"
        path.touch()
        with pytest.raises(WorkspaceError, match="try again in a moment"):
            SqliteCatalog.open(path, SETTINGS, read_only=True)

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(WorkspaceError, match="nowhere"):
            SqliteCatalog.open(tmp_path / "nowhere" / "catalog.db", SETTINGS)

    def test_a_file_that_is_no_database_is_refused(self, tmp_path):
        path = tmp_path / "catalog.db"
        path.write_bytes(b"not a database at all" * 1_000)
        with pytest.raises(CatalogError, match="damaged"):
            SqliteCatalog.open(path, SETTINGS)
        with pytest.raises(CatalogError, match="damaged"):
            SqliteCatalog.open(path, SETTINGS, read_only=True)

    def test_a_database_of_another_program_is_left_alone(self, tmp_path):
        path = tmp_path / "catalog.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
        with pytest.raises(WorkspaceError, match="another program"):
            SqliteCatalog.open(path, SETTINGS)

    def test_only_the_owner_may_read_a_catalog(self, tmp_path):
        path = tmp_path / "catalog.db"
        with SqliteCatalog.open(path, SETTINGS) as catalog:
            catalog.add([found("http://a.example/")], NOW)
            for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
                assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600

    def test_paths_may_hold_any_character(self, tmp_path):
        folder = tmp_path / "a?b#c %41 é"
        folder.mkdir()
        make(folder / "catalog.db")
        with SqliteCatalog.open(folder / "catalog.db", SETTINGS, read_only=True) as catalog:
            assert catalog.counts().discovered == 1

    def test_commits_are_synchronous(self, tmp_path):
        """An acknowledged commit survives power loss only with synchronous = FULL (2)."""
        with SqliteCatalog.open(tmp_path / "catalog.db", SETTINGS) as catalog:
            connection = catalog._database.connection
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_a_catalog_can_live_in_memory(self):
        with SqliteCatalog.open(":memory:", SETTINGS) as catalog:
            catalog.add([found("http://a.example/")], NOW)
            assert catalog.check() == []

    def test_a_locked_database_is_an_error_of_ours(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        with (
            SqliteCatalog.open(path, SETTINGS) as catalog,
            closing(sqlite3.connect(path, isolation_level=None)) as other,
        ):
            catalog._database.connection.execute("PRAGMA busy_timeout = 10")
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(CatalogError, match="another program holds it"):
                catalog.add([found("http://b.example/")], NOW)
            other.execute("ROLLBACK")
            catalog.add([found("http://b.example/")], NOW)
            assert catalog.counts().discovered == 2

    def test_a_schema_that_is_no_text_is_damage(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        change_schema(path, "name = CAST(x'ff61' AS TEXT), sql = 'CREATE TABLE'", "host")
        for read_only in (True, False):
            with pytest.raises(CatalogError, match=r"cannot open catalog .* the file is damaged"):
                SqliteCatalog.open(path, SETTINGS, read_only=read_only)

    def test_a_url_that_is_no_text_is_damage(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE url SET url = CAST(x'ff61' AS TEXT)")
        with (
            SqliteCatalog.open(path, SETTINGS, read_only=True) as catalog,
            pytest.raises(CatalogError, match=r"cannot read URLs in catalog .* is damaged"),
        ):
            list(catalog.rows())

    def test_values_that_cannot_be_are_damage_of_the_file(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        with closing(sqlite3.connect(path)) as connection:
            (table,) = connection.execute(
                "SELECT sql FROM sqlite_master WHERE name = 'url'"
            ).fetchone()
        lax = table.replace("url TEXT NOT NULL", "url TEXT")
        change_schema(path, f"sql = '{lax}'", "url")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE url SET url = NULL")
        change_schema(path, f"sql = '{table}'", "url")
        with SqliteCatalog.open(path, SETTINGS, read_only=True) as catalog:
            assert not catalog.is_sound()

    def test_damage_is_found_by_the_check(self, tmp_path):
        path = tmp_path / "catalog.db"
        make(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE host SET pending = 5")
            connection.execute("UPDATE outcome_count SET urls = 9")
            connection.execute("UPDATE host SET turn = NULL, next_due_at = NULL")
            connection.commit()
        with SqliteCatalog.open(path, SETTINGS) as catalog:
            wrong = "\n".join(catalog.check())
        assert "host a.example: counters [5, 0, 0, 0, 0], URLs [1, 0, 0, 0, 0]" in wrong
        assert "would never be served" in wrong


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder],
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )
    if not mounted:
        pytest.skip("cannot mount a small file system here: needs root and mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(catalog):
    """Add blocks of URLs until the disk is full; return how many were acknowledged, and why not."""
    for added in range(0, 100_000, 500):
        try:
            catalog.add([found(f"http://a.example/{added + n}") for n in range(500)], NOW)
        except DiskFullError as error:
            return added, str(error)
    return 100_000, ""


class TestFullDisk:
    def test_a_full_disk_loses_nothing_and_work_goes_on_when_space_is_back(self, small_disk):
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"x" * 900_000)
        with SqliteCatalog.open(small_disk / "catalog.db", SETTINGS) as catalog:
            catalog.begin_run(NOW)
            added, reason = fill(catalog)
            assert 0 < added < 100_000
            assert "no space left on the disk; free some" in reason
            assert catalog.counts().discovered == added
            assert catalog.check() == []
            with pytest.raises(DiskFullError):
                catalog.due(10_000, 10_000, NOW)
            ballast.unlink()
            batch = catalog.due(100, 100, NOW)
            assert len(batch) == 100
            catalog.commit([done(due) for due in batch], NOW)
            assert catalog.check() == []
            assert catalog.counts().done == 100


@pytest.mark.req("S3.110")
def test_the_whole_schema_is_in_files_of_sql(tmp_path):
    """Whoever reads them, also without the program, gets every table and every index."""
    path = tmp_path / "catalog.db"
    ServiceCatalog.open(path, CatalogSettings()).close()
    folder = Path(migrate.__file__).with_name("migrations")
    question = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    with (
        closing(sqlite3.connect(path)) as made,
        closing(sqlite3.connect(":memory:")) as read,
    ):
        for file in sorted(folder.glob("*.sql")):
            read.executescript(file.read_text("utf-8"))
        in_catalog = made.execute(question).fetchall()
        assert {"service_site", "member", "service_property"} <= {row[1] for row in in_catalog}
        # What was applied, and when, is the program's own note.
        own = {"schema_version"}
        assert read.execute(question).fetchall() == [row for row in in_catalog if row[2] not in own]
