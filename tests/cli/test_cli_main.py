"""Arguments, exit codes, completion, and how quick the start is."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gossamer.cli import crawl, main, outline, service_programs, version
from gossamer.cli.reference import pages
from gossamer.config.load import load
from gossamer.config.settings import Settings
from gossamer.errors import DiskFullError, InputError, ProtocolError, StoppedError, WorkspaceError

ROOT = Path(__file__).parents[2]


def settings(*words: str) -> Settings:
    return crawl.settings_from(main.parser().parse_args(["crawl", *words, "--dir", "w"]))


@pytest.mark.parametrize(
    ("words", "table", "expected"),
    [
        (["--max-pages", "5"], "crawl", {"max_pages": 5}),
        (["--max-depth", "0"], "crawl", {"max_depth": 0}),
        (["--scope", "domain"], "crawl", {"scope": "domain"}),
        (["--include", "a", "--include", "b"], "crawl", {"include": ("a", "b")}),
        (["--exclude", "[?]"], "crawl", {"exclude": ("[?]",)}),
        (["--concurrency", "9", "--workers", "0"], "crawl", {"concurrency": 9, "workers": 0}),
        (["--per-host", "7"], "urlserver", {"host_concurrent": 7, "address_concurrent": 0}),
        (["--delay", "0.25"], "urlserver", {"host_per_second": 4.0}),
        (["--delay", "0"], "urlserver", {"host_per_second": 0.0}),
        (["--allow-private"], "url", {"allow_private": True}),
        (["--user-agent", "me"], "spider", {"user_agent": "me"}),
        (["--set", "spider.Timeout_Req=5"], "spider", None),
        (["--set", "spider.Timeout_Req=500"], "spider", {"timeout_request_ms": 500}),
    ],
)
def test_a_flag_of_crawl_becomes_a_setting(words, table, expected):
    if expected is None:
        with pytest.raises(InputError):
            settings(*words)
        return
    found = getattr(settings("http://a.example/", *words), table)
    assert {name: getattr(found, name) for name in expected} == expected


def test_without_flags_the_settings_are_the_defaults():
    assert settings("http://a.example/") == load(None, {})


def test_per_host_leaves_the_limit_for_addresses_alone(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("[urlserver]\naddress_concurrent = 3\n")
    assert settings("--config", str(path), "--per-host", "5").urlserver.address_concurrent == 3


@pytest.mark.parametrize(
    ("flag", "value", "least"),
    [("--concurrency", "x", 1), ("--concurrency", "0", 1), ("--max-pages", "-1", 0)],
)
def test_a_number_that_is_none_is_told_with_what_is_allowed(run, flag, value, least):
    _, _, complaint = run("crawl", "http://a.example/", "--dir", "w", flag, value)
    assert f"argument {flag}: {value!r} is not a whole number of {least} or more" in complaint


@pytest.mark.parametrize(
    "words",
    [
        ["crawl", "http://a.example/"],
        ["crawl", "--dir", "", "http://a.example/"],
        ["doctor", "--dir", "", "--offline"],
        ["site", "http://a.example/", "--keep", ""],
        ["site", "--resume", ""],
        ["site", "http://a.example/", "--format", "json", "-o", ""],
        ["crawl", "--dir", "w", "--max-pages", "-1"],
        ["crawl", "--dir", "w", "--max-pages", "٣"],
        ["crawl", "--dir", "w", "--delay", "nan"],
        ["crawl", "--dir", "w", "--delay", "-1"],
        ["crawl", "--dir", "w", "--delay", "inf"],
        ["crawl", "--dir", "w", "--per-host", "0"],
        ["crawl", "--dir", "w", "--scope", "all"],
        ["crawl", "--dir", "w", "--include", "("],
        ["crawl", "--dir", "w", "--config", "absent.toml"],
        ["crawl", "--dir", "w", "--set", "nonsense"],
        ["crawl", "--dir", "w", "--quiet", "--json"],
        ["crawl", "--dir", "w"],
        ["add", "--dir", "w"],
        ["add", "--dir", "w", "--file", "absent.txt"],
        ["export", "--dir", "w", "--format", "xml"],
        ["fly"],
        [],
        ["crawl", "--dir", "w", "http://\udcff.example/"],
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("gossamer: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_urls_may_come_from_windows(run, tmp_path):
    listed = tmp_path / "urls.txt"
    listed.write_bytes(b"\xef\xbb\xbfhttp://a.example/\r\nhttp://b.example/\r\n")
    code, out, err = run("add", "--file", listed, "--dir", tmp_path / "w", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"given": 2, "new": 2}


@pytest.mark.parametrize("content", [b"\xff\n", b"http://a.example/\n" + b"x" * 70_000])
def test_a_list_of_urls_that_cannot_be_read_names_its_line(run, tmp_path, content):
    path = tmp_path / "urls.txt"
    path.write_bytes(content)
    code, _, err = run("add", "--dir", tmp_path / "w", "--file", path)
    assert code == 2
    assert f"line {content.count(b'http') + 1}" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("x"), 2),
        (WorkspaceError("x"), 3),
        (DiskFullError("x"), 4),
        (StoppedError("x"), 5),
        (ProtocolError("x"), 6),
        (OSError(28, "No space left on device"), 4),
        (OSError(24, "Too many open files"), 4),
        (OSError(5, "Input/output error"), 70),
        (TypeError("x\ny\x1b"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code_and_one_line(run, monkeypatch, error, code):
    def fail(_arguments: object) -> int:
        raise error

    monkeypatch.setattr(version, "run", fail)
    found, _, err = run("version")
    assert found == code
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_debug_shows_the_traceback(run, monkeypatch):
    def fail(_arguments: object) -> int:
        raise TypeError("x")

    monkeypatch.setattr(version, "run", fail)
    assert "Traceback" not in run("version")[2]
    assert "Traceback" in run("version", "--debug")[2]
    assert "Traceback" in run("--debug", "version")[2]


def test_the_printed_settings_are_a_settings_file(run, tmp_path):
    code, out, _ = run("config", "--set", "crawl.max_pages=5")
    path = tmp_path / "c.toml"
    path.write_text(out)
    assert code == 0
    assert tomllib.loads(out)["crawl"]["max_pages"] == 5
    assert load(path, {}) == load(None, {"crawl": {"max_pages": 5}})
    assert "from command line, default 0" in out


def test_the_printed_settings_are_a_settings_file_whatever_the_locale(tmp_path):
    """A file is in UTF-8, as TOML demands."""
    command = [sys.executable, "-m", "gossamer.cli", "config", "--set", "store.operator=Zoë €"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    path = tmp_path / "gossamer.toml"
    with path.open("wb") as file:
        subprocess.run(command, stdout=file, env=environment, check=True)
    assert load(path, {}).store.operator == "Zoë €"


def test_the_settings_as_json_say_where_each_came_from(run):
    rows = json.loads(run("config", "--json", "--set", "crawl.max_pages=5")[1])
    row = next(row for row in rows if row["name"] == "max_pages")
    assert (row["value"], row["default"], row["origin"]) == (5, 0, "command line")


def test_version(run):
    assert run("version")[1].startswith("gossamer ")
    assert json.loads(run("version", "--json")[1])["gossamer"]


def test_every_command_explains_itself_with_examples(run):
    for command in outline.outline(main.parser()):
        code, out, _ = run(*command.name.split(), "--help")
        assert code == 0
        assert f"gossamer {command.name}" in out.partition("examples:")[2]


def test_help_starts_without_the_rooms():
    """What is heavy is imported by the command that needs it."""
    program = (
        "import sys; from gossamer.cli.main import main; main(['--help']); "
        "heavy = {'rich', 'msgspec', 'sqlite3', 'pycurl', 'turbohtml', 'ssl', 'asyncio'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr.strip() == b"[]"


@pytest.mark.parametrize("words", [["site"], ["crawl"], ["news", "add"]])
def test_help_is_as_wide_as_the_terminal(monkeypatch, capsys, words):
    def longest_line(width: int) -> int:
        monkeypatch.setenv("COLUMNS", str(width))
        assert main.main([*words, "--help"]) == 0
        options = capsys.readouterr().out.partition("options:")[2].partition("examples:")[0]
        return max(map(len, options.splitlines()))

    assert longest_line(60) <= 58 < longest_line(100) <= 98


def commands_of(parser) -> list[str]:
    (action,) = (each for each in parser._actions if each.choices)
    return list(action.choices)


def test_a_command_that_is_asked_for_is_declared_alone_and_all_are_otherwise():
    names = commands_of(main.parser())
    assert {"site", "crawl", "url-server", "version"} <= set(names)
    for name in names:
        assert commands_of(main.parser([name])) == [name]
    for words in (["--help"], ["no-such-command"], [""], []):
        assert commands_of(main.parser(words)) == names


def test_a_command_does_not_load_the_others():
    program = (
        "import sys; from gossamer.cli.main import main; main(['version']); "
        "print([name for name in ('crawl', 'news', 'service') "
        "if f'gossamer.cli.{name}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr.strip() == b"[]"


def test_a_map_of_a_site_loads_neither_the_archive_nor_other_formats():
    """What every run loads is waited for before the first request."""
    program = (
        "import sys, gossamer.cli.progress, gossamer.crawl.worker, gossamer.site.run, "
        "gossamer.site.writing, gossamer.site.formats.json; "
        "from gossamer.cli.main import main, parser; "
        "parser(['site']).parse_args(['site', 'http://a.example/']); "
        "rare = {'pycares', 'regex', 'tomllib', 'difflib', 'importlib.resources', 'email.utils', "
        "'gossamer.store.warc', 'gossamer.store.raw_copies', 'gossamer.site.formats.html', "
        "'gossamer.site.compare', 'gossamer.site.findings', "
        "'ssl', 'tempfile', 'shutil', 'traceback', 'brotli', 'zstandard', 'isal'}; "
        "print(sorted(rare & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


def left_after(first: str) -> bytes:
    """Return what a program prints that runs a command as its last act."""
    program = f"{first}; sys.argv = ['gossamer', 'version']; main(); print('went on')"
    program = f"import atexit, sys, threading; from gossamer.cli.main import main; {program}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.partition(b"\n")[2]


def test_a_command_that_has_ended_leaves_at_once_but_says_goodbye():
    assert left_after("atexit.register(print, 'bye')") == b"bye\n"


def test_what_a_command_leaves_with_its_arguments_is_not_freed_before_the_end():
    """To take a large map apart takes time, and the process ends at once anyway."""
    heavy = "Heavy = type('Heavy', (), {'__del__': lambda self: print('freed')})"
    obey = "version.run = lambda given: setattr(given, 'map', Heavy()) or print('obeyed') or 0"
    assert left_after(f"import gossamer.cli.version as version; {heavy}; {obey}") == b""


def test_a_command_waits_for_threads_that_somebody_started():
    # It goes on when the program has come to its end, however long that takes.
    wait = "threading.main_thread().join()"
    thread = f"threading.Thread(target=lambda: ({wait}, print('done'))).start()"
    assert left_after(thread) == b"went on\ndone\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(tmp_path, closed):
    """As in jobs that a daemon starts; and no file takes the number of the closed one."""
    command = f"{shlex.join([sys.executable, '-m', 'gossamer.cli'])} add http://x.invalid/ --dir w"
    result = subprocess.run(
        ["sh", "-c", f"{command} {closed}"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert (tmp_path / "w" / "catalog.db").read_bytes().startswith(b"SQLite format 3")


def test_help_that_nobody_reads_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "gossamer.cli", "crawl", "--help"]
    with open(writing, "wb") as output:  # noqa: PTH123 - a descriptor
        result = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("words", "code"), [(["crawl", "--no-such-flag"], 2), (["status", "--dir", "none"], 3)]
)
def test_a_complaint_that_cannot_be_written_keeps_its_exit_code(tmp_path, words, code):
    command = [sys.executable, "-m", "gossamer.cli", *words]
    # With a buffer there is something left to be written at the end.
    for environment in ({}, {"PYTHONUNBUFFERED": "1"}):
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                command, stderr=full, cwd=tmp_path, env=environment, check=False
            ).returncode
        assert ended == code


def test_help_takes_at_most_150_milliseconds_of_cpu():
    best = 1.0
    for _ in range(3):
        before = os.times()
        subprocess.run(
            [sys.executable, "-m", "gossamer.cli", "--help"], stdout=subprocess.DEVNULL, check=True
        )
        after = os.times()
        spent = (after.children_user - before.children_user) + (
            after.children_system - before.children_system
        )
        best = min(best, spent)
    assert best <= 0.15


def complete(*words: str, function: str = "_gossamer", folder: Path | None = None) -> list[str]:
    script = subprocess.run(
        [sys.executable, "-m", "gossamer.cli", "completion", "bash"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    quoted = " ".join(f"'{word}'" for word in words)
    place = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
    ask = f"{place}; {function}; [ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, check=True, text=True, cwd=folder
    )
    return done.stdout.splitlines()


def test_bash_completes_names_with_blanks(tmp_path):
    (tmp_path / "my crawl").mkdir()
    (tmp_path / "my settings.toml").touch()
    assert complete("gossamer", "crawl", "--dir", "m", folder=tmp_path) == ["my crawl"]
    assert "my settings.toml" in complete("gossamer", "crawl", "--config", "m", folder=tmp_path)


def test_bash_completes_commands_flags_and_choices():
    assert complete("gossamer", "stat") == ["status"]
    assert "--max-pages" in complete("gossamer", "crawl", "--max")
    assert complete("gossamer", "crawl", "--scope", "d") == ["domain"]
    assert complete("gossamer", "completion", "f") == ["fish"]
    assert complete("gossamer", "crawl", "--max-pages", "") == []
    assert complete("gossamer", "news", "he") == ["health"]
    assert complete("gossamer", "news", "stories", "--format", "p") == ["parquet"]
    assert "--query" in complete("gossamer", "news", "stories", "--q")
    assert "--query" not in complete("gossamer", "news", "health", "--")


def test_bash_completes_the_programs_of_the_service(tmp_path):
    (tmp_path / "dc.ini").touch()
    client, admin = "_gossamer_dc_client", "_gossamer_dc_admin"
    assert complete("dc-client", "--comm", function=client) == ["--command"]
    assert "SITE_CLEANUP" in complete("dc-client", "--command", "SITE_", function=client)
    assert complete("dc-admin", "--cmd", "SUS", function=admin) == ["SUSPEND"]
    assert "--command" not in complete("dc-admin", "--", function=admin)
    config = complete("dc-daemon", "--config", f"{tmp_path}/", function="_gossamer_dc_daemon")
    assert config == [f"{tmp_path}/dc.ini"]


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("dc-client", "--comm", "--command"),
        ("dc-admin", "--cl", "--classes"),
        ("dc-daemon", "--conf", "--config"),
    ],
)
def test_the_shell_knows_which_function_completes_which_program(run, program, words, expected):
    """As bash does it on Tab: by what `complete` has noted for the name of the program."""
    script = run("completion", "bash")[1]
    ask = rf"""
    entry=$(complete -p {program}) || exit 1
    COMP_WORDS=({program} {words}); COMP_CWORD=1
    [[ $entry =~ -F\ ([a-z_]+) ]] && ${{BASH_REMATCH[1]}}
    echo ${{COMPREPLY[@]}}
    """
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{ask}"], capture_output=True, check=True, text=True
    )
    assert expected in done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_valid_and_names_every_flag(run, tmp_path, shell):
    script = run("completion", shell)[1]
    programs = [outline.program(parser) for parser in service_programs.parsers()]
    assert [each.name for each in programs] == ["dc-daemon", "dc-client", "dc-admin"]
    for command in (*outline.outline(main.parser()), *programs):
        assert command.name in script
        for flag in command.flags:
            assert flag.name.lstrip("-") in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed, so its own check of the script is left out")
    path = tmp_path / "script"
    path.write_text(script)
    subprocess.run([shell, "-n", str(path)], check=True)


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_reference_page_made_from_the_source_is_up_to_date(name):
    path = ROOT / "docs" / "reference" / name
    assert path.read_text(encoding="utf-8") == pages()[name], "run `make docs`"
