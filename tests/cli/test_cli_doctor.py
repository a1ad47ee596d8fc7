"""The doctor finds what is wrong and says what to do."""

import json
import os
import resource
import shutil
import sqlite3
from pathlib import Path

import pytest
from cli_samples import make_workspace

from gossamer.cli import checks
from gossamer.config.settings import Settings
from gossamer.config.spider import SpiderSettings


@pytest.fixture
def own_workspace(tmp_path):
    """A workspace that a test may damage."""
    return make_workspace(tmp_path / "w")


def levels(found: list[checks.Check]) -> dict[str, str]:
    return {check.name: check.level for check in found}


@pytest.mark.parametrize(("is_there", "level"), [(True, checks.OK), (False, checks.WARNING)])
@pytest.mark.parametrize(
    ("part", "look"),
    [
        ("gossamer.parse.skim", checks.page_reader),
        ("gossamer.url.plain", checks.link_joiner),
        ("gossamer.store.group", checks.record_writer),
        ("gossamer.spider.plain_head", checks.head_reader),
        ("gossamer.spider.lane", checks.fetch_lane),
        ("gossamer.site.keys", checks.link_walker),
    ],
)
def test_whether_a_part_is_compiled_is_told(monkeypatch, part, look, is_there, level):
    monkeypatch.setattr(f"{part}.is_compiled", lambda: is_there)
    check = look()
    assert check.level == level
    assert ("C compiler" in check.advice) is not is_there


def archive_file(workspace):
    (path,) = (workspace / "archive").glob("*.warc.gz")
    return path


@pytest.mark.parametrize(
    ("installed", "level"),
    [((3, 10, 9), "problem"), ((3, 11, 7), "warning"), ((3, 11, 99), "ok"), ((3, 99, 0), "ok")],
)
def test_an_old_python_is_found(installed, level):
    assert checks._python(installed).level == level


def test_installed_dependencies_are_enough():
    assert levels(list(checks.dependencies())) == {"dependencies": "ok"}


def test_a_package_that_is_not_installed_is_a_problem():
    (found,) = checks.dependencies("gossamer-is-not-called-so")
    assert found.level == "problem"
    assert "pip install" in found.advice


def test_libcurl_speaks_tls():
    assert checks.libcurl().level in ("ok", "warning")


def test_a_missing_or_empty_ca_file_is_a_problem(tmp_path):
    for path in (tmp_path / "absent.pem", tmp_path / "empty.pem"):
        if "empty" in path.name:
            path.touch()
        found = checks.authorities(SpiderSettings(ca_file=str(path)))
        assert found.level == "problem"
        assert "ca_file" in found.advice


@pytest.mark.parametrize(
    ("limit", "concurrency", "level"),
    [(256, 64, "ok"), (255, 64, "problem"), (1024, 5000, "problem"), (None, 5000, "ok")],
)
def test_too_few_open_files_are_a_problem(limit, concurrency, level):
    found = checks.open_files(limit, concurrency)
    assert found.level == level
    assert ("ulimit -n" in found.advice) == (level == "problem")
    assert ("--concurrency" in found.advice) == (level == "problem")


def test_where_not_even_one_fetch_fits_fewer_are_no_advice():
    assert "--concurrency" not in checks.open_files(100, 64).advice


def test_a_soft_limit_that_a_crawl_raises_by_itself_is_no_problem(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(200, soft), hard))
    try:
        found = {check.name: check for check in checks.machine(tmp_path, Settings())}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found["open files"] == checks.open_files(hard, Settings().crawl.concurrency)


def test_a_clock_in_the_past_is_a_problem():
    assert checks.clock(0.0).level == "problem"
    assert checks.clock(2_000_000_000.0).level == "ok"


def test_a_full_disk_is_a_problem_and_a_folder_may_be_new(tmp_path):
    folder = tmp_path / "not" / "yet"
    assert checks.disk(folder, 0).level == "ok"
    found = checks.disk(folder, 1 << 60)
    assert found.level == "problem"
    assert "reserve_bytes" in found.advice


@pytest.mark.parametrize("words", [(), ("--dir", "w")])
def test_a_working_folder_that_is_gone_is_a_problem(run, tmp_path, monkeypatch, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    code, out, err = run("doctor", "--offline", *words)
    assert (code, err) == (1, "")
    assert "the folder in which you are has been removed" in out
    monkeypatch.chdir(tmp_path)


def test_proxy_variables_are_mentioned(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128/")
    (found,) = checks._proxies()
    assert "https_proxy" in found.found
    assert "proxy.example" not in found.found


def test_a_name_is_resolved_as_a_crawl_does():
    found = checks.dns("localhost", Settings())
    assert found.level == "ok"
    assert "127.0.0.1" in found.found


def test_an_unreachable_name_server_is_a_problem_with_advice(run):
    """The server is a loopback address where nobody listens, as without a network."""
    code, out, _ = run(
        *("doctor", "--json", "--dns-name", "name.example"),
        *("--set", "urlserver.dns_servers=127.0.0.1:9"),
        *("--set", "urlserver.dns_timeout_seconds=0.5"),
    )
    found = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 1
    assert found["dns"]["level"] == "problem"
    assert "resolv.conf" in found["dns"]["advice"]


def test_a_missing_workspace_is_a_problem(run, tmp_path):
    code, out, _ = run("doctor", "--offline", "--dir", tmp_path / "absent")
    assert code == 1
    assert "no workspace" in out


def test_a_workspace_that_others_can_read_is_a_warning(own_workspace):
    own_workspace.chmod(0o755)
    assert levels(checks.workspace(own_workspace, Settings()))["workspace"] == "warning"


def test_damage_in_the_archive_is_found_and_named(run, own_workspace):
    path = archive_file(own_workspace)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    code, out, _ = run("doctor", "--offline", "--dir", own_workspace)
    assert code == 1
    assert path.name in out


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 0)])
def test_a_file_of_the_archive_that_is_gone_is_found_and_named(run, own_workspace, harm):
    path = archive_file(own_workspace)
    harm(path)
    code, out, _ = run("doctor", "--offline", "--dir", own_workspace, "--json")
    found = {check["name"]: check for check in json.loads(out)["checks"]}
    assert code == 1
    assert path.name in found["archive"]["found"]
    assert "copy" in found["archive"]["advice"]


def test_a_torn_end_is_a_warning(own_workspace):
    path = archive_file(own_workspace)
    path.rename(path.with_name(path.name + ".open"))
    with path.with_name(path.name + ".open").open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00torn")
    found = {check.name: check for check in checks.workspace(own_workspace, Settings())}
    assert found["archive"].level == "warning"
    assert "nothing is lost" in found["archive"].advice


def test_a_catalog_that_is_no_database_is_a_problem(run, own_workspace):
    (own_workspace / "catalog.db").write_bytes(b"not a database" * 1000)
    for suffix in ("-wal", "-shm"):
        (own_workspace / f"catalog.db{suffix}").unlink(missing_ok=True)
    code, out, err = run("doctor", "--offline", "--dir", own_workspace)
    assert (code, err) == (1, "")
    assert "catalog" in out


def test_accounting_that_does_not_hold_is_a_problem(own_workspace):
    connection = sqlite3.connect(own_workspace / "catalog.db")
    with connection:
        connection.execute("UPDATE host SET done = done + 1")
    connection.close()
    found = {check.name: check for check in checks.workspace(own_workspace, Settings())}
    assert found["catalog"].level == "problem"


def test_a_copied_workspace_is_as_good_as_the_first(own_workspace, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(own_workspace, copy)
    copy.chmod(0o700)
    assert set(levels(checks.workspace(copy, Settings())).values()) == {"ok"}
