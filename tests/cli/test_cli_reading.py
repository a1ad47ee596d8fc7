"""status, export and show on a workspace whose pages try to do harm."""

import contextlib
import csv
import hashlib
import io
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from cli_samples import (
    ABOUT,
    COPY,
    GONE,
    HOME,
    HOME_BODY,
    HOSTILE_TITLE,
    LATER,
    NOW,
    SECRET,
    found,
    make_workspace,
)

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.cli import export
from gossamer.config.catalog import CatalogSettings

# Everything that could steer a terminal or make a second line, but the line feed itself.
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def no_steering(text: str) -> bool:
    return STEERING.search(text) is None


def test_status_has_the_six_numbers_and_they_add_up(run, workspace):
    code, out, _ = run("status", "--dir", workspace, "--json")
    counts = json.loads(out)["counts"]
    assert code == 0
    assert counts == {
        "discovered": 6,
        "done": 3,
        "pending": 1,
        "leased": 0,
        "excluded": 1,
        "failed": 1,
    }
    assert counts["discovered"] == sum(counts.values()) - counts["discovered"]


def test_status_tells_of_one_moment_while_a_crawl_goes_on(run, tmp_path, monkeypatch):
    folder = make_workspace(tmp_path / "w")
    count_outcomes = SqliteCatalog.outcome_counts

    def while_more_is_found(catalog: SqliteCatalog) -> object:
        with SqliteCatalog.open(folder / "catalog.db", CatalogSettings()) as writer:
            writer.add([found("http://other.example/")], NOW)
        return count_outcomes(catalog)

    monkeypatch.setattr(SqliteCatalog, "outcome_counts", while_more_is_found)
    seen = [json.loads(run("status", "--dir", folder, "--json")[1]) for _ in range(2)]
    for status in seen:
        assert status["hosts_known"] == len(status["hosts"])
        for state in ("done", "pending", "leased", "excluded", "failed"):
            assert status["counts"][state] == sum(host[state] for host in status["hosts"])
    assert seen[1]["counts"]["discovered"] == seen[0]["counts"]["discovered"] + 1


def test_commands_in_advice_can_be_run_as_they_stand(run, tmp_path):
    """Also with a blank in the name of the workspace."""
    folder = tmp_path / "two words"
    _, out, _ = run("add", HOME, "--dir", folder)
    words = shlex.split(out.partition("gossamer ")[2])
    assert words == ["crawl", "--dir", str(folder)]
    _, _, err = run("show", "--dir", folder, HOME, "--body")
    words = shlex.split(err.partition("see: gossamer ")[2])
    assert words == ["show", "--dir", str(folder), HOME]
    assert run(*words)[0] == 0


def test_status_shows_outcomes_duplicates_rates_and_traps(run, workspace):
    found = json.loads(run("status", "--dir", workspace, "--json")[1])
    assert found["outcomes"] == {"ok": 3, "http.4xx": 1, "policy.robots": 1}
    assert found["duplicates"] == 1
    assert found["pages"] == 3
    assert found["rates"]["pages_per_second"] == pytest.approx(1.0)
    assert found["hosts"][0]["host"] == "site.example"
    assert found["quarantined"][0]["pattern"] == "/cal/{n}"


def test_status_in_a_pipe_is_plain_text(run, workspace):
    code, out, err = run("status", "--dir", workspace)
    assert (code, err) == (0, "")
    assert no_steering(out)
    assert re.search(r"discovered +6\n", out)
    assert "calendar-like" in out
    assert "parked for" in out


def test_every_url_is_exported_with_all_keys(run, workspace):
    code, out, _ = run("export", "--dir", workspace, "--format", "jsonl")
    records = {record["url"]: record for record in map(json.loads, out.splitlines())}
    assert code == 0
    assert set(records) == {HOME, ABOUT, COPY, GONE, SECRET, LATER}
    home = records[HOME]
    assert home["doc_id"] == 1
    assert (home["state"], home["outcome"], home["status"]) == ("done", "ok", 200)
    assert (home["content_type"], home["depth"], home["parent"]) == ("text/html", 0, None)
    assert home["bytes"] == len(HOME_BODY)
    assert home["fetched_at"] == "2026-05-28T20:26:41.000Z"
    assert home["checksum"] == hashlib.md5(HOME_BODY).hexdigest()
    assert home["md5"] == hashlib.md5(HOME.encode()).hexdigest()
    assert home["title"] == HOSTILE_TITLE
    assert records[COPY]["duplicate_of"] == ABOUT
    assert records[ABOUT]["duplicate_of"] is None
    assert records[ABOUT]["parent"] == HOME
    assert (records[GONE]["state"], records[GONE]["outcome"]) == ("failed", "http.4xx")
    assert (records[SECRET]["state"], records[SECRET]["outcome"]) == ("excluded", "policy.robots")
    assert (records[LATER]["state"], records[LATER]["outcome"]) == ("pending", None)
    assert records[LATER]["fetched_at"] is None


def test_a_hostile_title_makes_no_second_line_and_no_escape(run, workspace):
    for form in ("jsonl", "cdxj"):
        out = run("export", "--dir", workspace, "--format", form)[1]
        assert no_steering(out)
        assert len(out.splitlines()) == len(out.split("\n")) - 1


def test_a_csv_cell_is_no_formula_and_stays_on_its_line(run, workspace):
    out = run("export", "--dir", workspace, "--format", "csv")[1]
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    home = next(row for row in rows if row["url"] == HOME)
    assert len(rows) == 6
    assert len(out.split("\r\n")) == 8
    assert home["title"].startswith("'=cmd()\\x1b[31m")
    assert no_steering(home["title"])


def test_the_link_graph_has_a_line_for_each_link(run, workspace):
    out = run("export", "--dir", workspace, "--format", "links")[1]
    assert {tuple(line.split("\t")) for line in out.splitlines()} == {
        (HOME, target) for target in (ABOUT, COPY, GONE, SECRET, LATER)
    }


def test_the_index_is_sorted_and_points_at_records(run, workspace):
    lines = run("export", "--dir", workspace, "--format", "cdxj")[1].splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 4
    key, stamp, fields = lines[0].split(" ", 2)
    assert key == "example,site)/"
    assert stamp == "20260528202641"
    assert json.loads(fields)["url"] == HOME


@pytest.mark.parametrize("to_file", [False, True])
def test_an_index_of_a_damaged_archive_says_so_and_has_the_rest(run, tmp_path, to_file):
    folder = make_workspace(tmp_path / "w")
    sound = run("export", "--dir", folder, "--format", "cdxj")[1].splitlines()
    lost = json.loads(sound[1].split(" ", 2)[2])
    (path,) = (folder / "archive").glob("*.warc.gz")
    data = bytearray(path.read_bytes())
    data[int(lost["offset"]) + int(lost["length"]) - 6] ^= 0xFF
    path.write_bytes(data)
    target = tmp_path / "index.cdxj"
    output = ("-o", target) if to_file else ()
    code, out, err = run("export", "--dir", folder, "--format", "cdxj", *output)
    assert code == 4
    assert (target.read_text() if to_file else out).splitlines() == [sound[0], *sound[2:]]
    assert err.count("\n") == 1
    assert f"damaged in 1 place: {path.name} at byte {lost['offset']} {lost['url']}: " in err


def test_an_index_without_a_file_of_the_archive_says_so(run, tmp_path):
    folder = make_workspace(tmp_path / "w")
    (path,) = (folder / "archive").glob("*.warc.gz")
    path.unlink()
    code, out, err = run("export", "--dir", folder, "--format", "cdxj")
    assert (code, out) == (4, "")
    assert f"{path.name} at byte 0: the catalog points to it, and it is missing" in err


def test_an_export_to_a_file_is_complete_and_leaves_nothing_beside(run, workspace, tmp_path):
    target = tmp_path / "urls.jsonl"
    target.write_text("old")
    code, out, _ = run("export", "--dir", workspace, "-o", target)
    assert (code, out) == (0, "")
    assert len(target.read_text().splitlines()) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["urls.jsonl"]


def test_an_export_to_a_pipe_or_a_device_leaves_it_one(run, workspace, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code, _, _ = run("export", "--dir", workspace, "-o", pipe)
    assert code == 0
    assert len(os.read(reader, 65_536).splitlines()) == 6
    os.close(reader)
    assert pipe.is_fifo()


def test_an_export_does_not_write_over_the_workspace(run, tmp_path):
    folder = make_workspace(tmp_path / "w")
    (fetched,) = (folder / "archive").glob("*.warc.gz")
    (tmp_path / "link").symlink_to(folder / "catalog.db")
    own = [folder / "catalog.db", folder / "catalog.db-wal", folder / "lock", fetched]
    for output in (*own, folder / "archive" / "new", tmp_path / "link"):
        code, _, err = run("export", "--dir", folder, "-o", output)
        assert code == 2
        assert "part of the workspace" in err
    assert run("export", "--dir", folder, "-o", folder / "urls.jsonl")[0] == 0


def test_an_export_through_a_link_replaces_what_it_leads_to(run, workspace, tmp_path):
    target, link = tmp_path / "urls.jsonl", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target.name)
    assert run("export", "--dir", workspace, "-o", link)[0] == 0
    assert link.is_symlink()
    assert len(target.read_text().splitlines()) == 6


@pytest.mark.parametrize("output", ["", "folder"])
def test_an_export_to_a_folder_is_refused(run, workspace, tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    code, _, err = run("export", "--dir", workspace, "-o", output)
    assert code == 2
    assert "Is a directory" in err


def test_an_export_to_a_full_disk_says_so(workspace):
    """The disk fills while the export is written: /dev/full answers every write that way."""
    command = [sys.executable, "-m", "gossamer.cli", "export", "--dir", str(workspace)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 4
    assert b"make room" in done.stderr


def test_an_export_into_a_missing_folder_is_refused(run, workspace, tmp_path):
    code, _, err = run("export", "--dir", workspace, "-o", tmp_path / "absent" / "x")
    assert code == 2
    assert "cannot write" in err


def test_a_reader_that_goes_away_is_no_error(workspace):
    command = f"{sys.executable} -m gossamer.cli export --dir {workspace} | head -c 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False
    )
    assert done.stderr == b""
    assert done.returncode in (0, 141)


def test_show_tells_state_and_history_without_steering(run, workspace):
    code, out, _ = run("show", "--dir", workspace, GONE)
    assert code == 0
    assert no_steering(out)
    assert "http.4xx" in out
    assert "404 \\x1b[0m" in out


def test_show_finds_what_a_person_types(run, workspace):
    assert run("show", "--dir", workspace, "site.example/about")[0] == 0
    assert run("show", "--dir", workspace, "HTTP://SITE.example:80/about#x")[0] == 0


def test_show_as_json_has_the_history(run, workspace):
    found = json.loads(run("show", "--dir", workspace, HOME, "--json")[1])
    assert found["url"] == HOME
    assert [fetch["outcome"] for fetch in found["history"]] == ["ok"]


def test_show_gives_the_decoded_body_as_it_is_to_a_pipe(run, workspace):
    assert run("show", "--dir", workspace, HOME, "--body")[1].encode() == HOME_BODY


def test_show_gives_the_heads(run, workspace):
    out = run("show", "--dir", workspace, HOME, "--headers")[1]
    assert "GET / HTTP/1.1" in out
    assert "Content-Encoding: gzip" in out


def test_show_says_what_to_do_when_the_bytes_are_gone(run, tmp_path):
    folder = make_workspace(tmp_path / "w")
    (path,) = (folder / "archive").glob("*.warc.gz")
    path.write_bytes(bytes(path.stat().st_size))
    for _ in range(2):
        code, out, err = run("show", "--dir", folder, HOME, "--body")
        assert (code, out) == (4, "")
        assert err.count("\n") == 1
        assert HOME in err
        assert path.name in err
        assert "restore the file from a copy" in err
        path.unlink(missing_ok=True)


def test_show_of_a_url_that_was_never_fetched_says_so(run, workspace):
    assert "Never fetched" in run("show", "--dir", workspace, LATER)[1]
    code, _, err = run("show", "--dir", workspace, LATER, "--body")
    assert code == 2
    assert "no bytes are stored" in err


def test_show_of_an_unknown_url_says_so(run, workspace):
    code, _, err = run("show", "--dir", workspace, "http://site.example/nowhere")
    assert code == 2
    assert "is not known" in err


@pytest.mark.parametrize("command", ["status", "export", "show"])
def test_a_folder_without_a_workspace_is_refused(run, tmp_path, command):
    url = ["http://a.example/"] if command == "show" else []
    code, out, err = run(command, "--dir", tmp_path, *url)
    assert (code, out) == (3, "")
    assert err.startswith("gossamer: no workspace in")
    assert err.count("\n") == 1


def test_reading_leaves_the_workspace_as_it_was(run, workspace):
    before = hashlib.md5((workspace / "catalog.db").read_bytes()).digest()
    run("status", "--dir", workspace)
    run("export", "--dir", workspace)
    assert hashlib.md5((workspace / "catalog.db").read_bytes()).digest() == before


def test_doctor_finds_a_sound_workspace_sound(run, workspace):
    code, out, _ = run("doctor", "--offline", "--dir", workspace, "--json")
    levels = {check["name"]: check["level"] for check in json.loads(out)["checks"]}
    assert code == 0
    assert levels["workspace"] == levels["catalog"] == levels["archive"] == "ok"


def test_an_export_that_is_interrupted_leaves_the_old_file(tmp_path):
    target = tmp_path / "urls.jsonl"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _interrupt_while_writing(target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["urls.jsonl"]


def _interrupt_while_writing(target):
    with export.open_output(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_rows_that_cannot_be_are_said_to_be_damage(run, tmp_path):
    """SQLite hands them out without a word, as it may after a disk has gone bad."""
    folder = make_workspace(tmp_path / "w")
    with contextlib.closing(sqlite3.connect(folder / "catalog.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        sql = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'url'"
        strict, lax = "url TEXT NOT NULL", "url TEXT"
        connection.execute(sql, (strict, lax))
        connection.execute("PRAGMA schema_version = 1000")
        connection.execute("UPDATE url SET url = NULL WHERE doc_id = 1")
        connection.execute(sql, (lax, strict))
    code, _, err = run("export", "--dir", folder, "--format", "links")
    assert code == 4
    assert err.startswith("gossamer: cannot read catalog")
    assert "damaged; restore a copy" in err
    assert err.count("\n") == 1
