"""The crawlers that are compared: how each is installed and called."""

import compileall
import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / ".peers"
CONCURRENCY = 16
# The newest release of the npm package that comes with its compiled part.
SPIDER_RS = "@spider-rs/spider-rs@0.0.157"
# An installation takes seconds; one that waits for a server that does not answer would never end.
INSTALL_SECONDS = 300


@dataclass(frozen=True)
class Tool:
    """One crawler; `command` gets the start URL and an empty folder to work in."""

    name: str
    command: Callable[[str, Path], list[str]]
    prepare: Callable[[], bool]
    version: Callable[[], str]
    environment: dict[str, str] = field(default_factory=dict)


def _gossamer(url: str, folder: Path) -> list[str]:
    options = f"--concurrency {CONCURRENCY} --per-host {CONCURRENCY} --delay 0 --workers 2"
    command = [
        str(Path(sys.executable).parent / "gossamer"),
        "crawl",
        url,
        "--dir",
        str(folder / "w"),
    ]
    return [*command, *options.split(), "--allow-private", "--max-pages", "0"]


def _site(url: str, folder: Path) -> list[str]:
    program = str(Path(sys.executable).parent / "gossamer")
    options = f"--concurrency {CONCURRENCY} --workers 2 --quiet --format json"
    return [program, "site", url, *options.split(), "-o", str(folder / "site.json")]


def _three_daemons(url: str, folder: Path) -> list[str]:
    script = str(HERE / "peers" / "three_daemons.py")
    return [sys.executable, script, url, str(folder), str(CONCURRENCY)]


def _wget2(url: str, folder: Path) -> list[str]:
    options = f"-q -r -l inf --no-parent --robots=on --max-threads={CONCURRENCY}"
    return ["wget2", *options.split(), "-P", str(folder / "files"), url]


def _scrapy(url: str, folder: Path) -> list[str]:
    return [
        _python("scrapy"),
        str(HERE / "peers" / "scrapy_crawl.py"),
        url,
        str(folder),
        str(CONCURRENCY),
    ]


def _scrapy_resumable(url: str, folder: Path) -> list[str]:
    return [*_scrapy(url, folder), "resumable"]


def _crawlee(url: str, folder: Path) -> list[str]:
    return [
        _python("crawlee"),
        str(HERE / "peers" / "crawlee_crawl.py"),
        url,
        str(folder),
        str(CONCURRENCY),
    ]


def _spider_rs(url: str, folder: Path) -> list[str]:
    del folder
    return ["node", str(PEERS / "spider-rs" / "spider_crawl.mjs"), url]


def _python(name: str) -> str:
    return str(PEERS / name / "bin" / "python")


def _prepare_python(name: str, requirement: str) -> bool:
    folder = PEERS / name
    marker = folder / "installed"
    if not marker.exists():
        venv.create(folder, with_pip=True, clear=True)
        if not _install([_python(name), "-m", "pip", "install", "-qq", requirement]):
            return False
        marker.touch()
    return True


def _prepare_spider_rs() -> bool:
    folder = PEERS / "spider-rs"
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / "installed"
    if not marker.exists():
        # Its compiled part is a package of its own: no script has to run.
        options = ["--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
        if not _install(["npm", "install", *options, "--prefix", str(folder), SPIDER_RS]):
            return False
        marker.touch()
    # Node looks for packages beside the script.
    shutil.copy(HERE / "peers" / "spider_crawl.mjs", folder)
    return True


def _install(command: list[str]) -> bool:
    print("installing:", " ".join(command[-2:]), file=sys.stderr)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(INSTALL_SECONDS) == 0
    except subprocess.TimeoutExpired:
        print(f"gave up after {INSTALL_SECONDS} s: {' '.join(command)}", file=sys.stderr)
        return False
    finally:
        # npm leaves children behind; with the group all of them end.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _compile() -> bool:
    """Compile the tree to bytecode, as pip does with what it installs."""
    program = Path(sys.executable).parent / "gossamer"
    return program.exists() and compileall.compile_dir(HERE.parent / "src", quiet=1)


def _first_line(*command: str) -> str:
    shown = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    return shown.partition("\n")[0]


def _package_version(name: str) -> str:
    code = f"import importlib.metadata as m; print('{name}', m.version('{name}'))"
    return _first_line(_python(name), "-c", code)


def _node_version() -> str:
    code = "console.log('spider-rs (npm)', require('@spider-rs/spider-rs/package.json').version)"
    done = subprocess.run(
        ["node", "-e", code], check=False, capture_output=True, text=True, cwd=PEERS / "spider-rs"
    )
    return done.stdout.strip()


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("gossamer", _gossamer, _compile, lambda: "gossamer, this tree"),
        Tool("site", _site, _compile, lambda: "gossamer site, this tree"),
        Tool("daemons", _three_daemons, _compile, lambda: "gossamer as three daemons"),
        Tool(
            "wget2",
            _wget2,
            lambda: shutil.which("wget2") is not None,
            lambda: _first_line("wget2", "--version"),
        ),
        Tool("spider-rs", _spider_rs, _prepare_spider_rs, _node_version),
        Tool(
            "crawlee",
            _crawlee,
            lambda: _prepare_python("crawlee", "crawlee[parsel]"),
            lambda: _package_version("crawlee"),
            {"CRAWLEE_PURGE_ON_START": "1"},
        ),
        Tool(
            "scrapy",
            _scrapy,
            lambda: _prepare_python("scrapy", "scrapy"),
            lambda: _package_version("scrapy"),
        ),
        Tool(
            "scrapy-resumable",
            _scrapy_resumable,
            lambda: _prepare_python("scrapy", "scrapy"),
            lambda: _package_version("scrapy") + ", JOBDIR",
        ),
    )
}
