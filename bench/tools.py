"""The crawlers that are compared: how each is installed and called."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / ".peers"
CONCURRENCY = 16
# The newest release of the npm package that comes with its compiled part.
SPIDER_RS = "@spider-rs/spider-rs@0.0.157"


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
    if not (folder / "node_modules" / "@spider-rs").exists() and not _install(
        ["npm", "install", "--silent", "--prefix", str(folder), SPIDER_RS]
    ):
        return False
    # Node looks for packages beside the script.
    shutil.copy(HERE / "peers" / "spider_crawl.mjs", folder)
    return True


def _install(command: list[str]) -> bool:
    print("installing:", " ".join(command[-2:]), file=sys.stderr)
    return subprocess.run(command, check=False, env={**os.environ}).returncode == 0


def _has_gossamer() -> bool:
    return (Path(sys.executable).parent / "gossamer").exists()


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
        Tool("gossamer", _gossamer, _has_gossamer, lambda: "gossamer, this tree"),
        Tool("site", _site, _has_gossamer, lambda: "gossamer site, this tree"),
        Tool("daemons", _three_daemons, _has_gossamer, lambda: "gossamer as three daemons"),
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
