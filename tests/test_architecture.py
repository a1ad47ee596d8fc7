"""The rules of the house, checked: who may import whom, what no file may contain."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "gossamer"

# As docs/architecture.md draws them; a test below keeps the two in step.
STOREYS = {
    "errors": 0,
    "clock": 0,
    "wording": 0,
    "outcomes": 1,
    "config": 1,
    "url": 1,
    "messages": 2,
    "reports": 2,
    "objects": 2,
    "parse": 3,
    "catalog": 3,
    "wire": 3,
    "urlserver": 4,
    "spider": 4,
    "store": 4,
    "handlers": 5,
    "crawl": 6,
    "daemons": 7,
    "site": 7,
    "news": 7,
    "service": 8,
    "cli": 9,
}
# url decides about addresses and scope, so it speaks of outcomes and is set up by its own table.
SAME_STOREY = {("url", "outcomes"), ("url", "config")}
# The fake web is a judge: it shares nothing with what it judges.
ALONE = {"fakeweb"}
BANNED_NAMES = {"utils", "common", "helpers", "misc", "base", "core", "manager", "types"}
BANNED_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "telnetlib", "html.parser"}
BANNED_CALLS = {"eval", "exec", "__import__"}


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def python_files() -> list[Path]:
    folders = (SOURCE, ROOT / "tests", ROOT / "bench", ROOT / "scripts")
    return sorted(
        path
        for folder in folders
        for path in folder.rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that is imported anywhere in a file, type-only imports included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: -node.level + 1 or None] if node.level else []
            base = ".".join([*parts, node.module] if node.module else parts)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def gossamer_imports(path: Path) -> set[str]:
    package = ".".join(("gossamer", *path.relative_to(SOURCE).parent.parts))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        name.split(".")[1]
        for name in imported_modules(tree, package)
        if name.startswith("gossamer.")
    }


def room_imports(path: Path) -> set[str]:
    rooms = set(STOREYS) | ALONE
    return {name for name in gossamer_imports(path) if name in rooms}


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    room = room_of(path)
    if room == "__init__":
        return
    for other in room_imports(path) - {room}:
        if room in ALONE:
            pytest.fail(f"{room} stands alone but imports {other}")
        assert other not in ALONE, f"{room} imports {other}, which is for tests and trials only"
        below = STOREYS[other] < STOREYS[room] or (room, other) in SAME_STOREY
        assert below, f"{room} (storey {STOREYS[room]}) imports {other} (storey {STOREYS[other]})"


def test_every_room_has_a_storey():
    rooms = {room_of(path) for path in source_files()} - {"__init__"}
    assert rooms == set(STOREYS) | ALONE


def test_every_room_says_what_comes_in_what_goes_out_and_what_it_never_does():
    for path in sorted(SOURCE.glob("*/__init__.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for word in ("in", "out", "never"):
            said = re.search(rf"\b{word}\b", docstring, re.IGNORECASE)
            assert said, f"{path.parent.name} does not say {word}"


def test_every_file_says_what_it_is_for():
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        if text.strip():
            assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


def test_no_file_has_a_name_that_says_nothing():
    for path in python_files():
        names = {part.removesuffix(".py") for part in path.relative_to(ROOT).parts}
        assert not names & BANNED_NAMES, path


def banned_in(tree: ast.AST) -> Iterator[str]:
    for name in imported_modules(tree, "gossamer"):
        if name in BANNED_MODULES or name.split(".")[0] in BANNED_MODULES:
            yield f"imports {name}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
            yield f"calls {node.func.id}"
        if ast.unparse(node.func) in {"os.system", "os.popen"}:
            yield f"calls {ast.unparse(node.func)}"
        for keyword in node.keywords:
            if keyword.arg == "shell" and getattr(keyword.value, "value", True):
                yield "asks for a shell"


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_pickle_no_shell_no_code_from_data(path):
    assert list(banned_in(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "from html import parser as p\nimport html.parser",
        "eval('1')",
        "import os\nos.system('x')",
        "import subprocess\nsubprocess.run('x', shell=True)",
    ],
)
def test_the_check_for_banned_code_finds_it(source):
    assert list(banned_in(ast.parse(source)))


def test_relative_and_type_only_imports_are_seen():
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..crawl import pipeline\n"
    )
    assert "gossamer.crawl.pipeline" in imported_modules(ast.parse(source), "gossamer.url")


def test_every_file_that_the_architecture_page_names_exists():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src|docs|tests|bench|scripts)/[\w./-]+\.\w+)`", page))
    in_rooms = set(re.findall(r"`([a-z_]+/[a-z_]+\.py)`", page)) - named
    named |= {f"src/gossamer/{name}" for name in in_rooms}
    assert len(named) > 20
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_architecture_page_draws_the_same_storeys():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = {
        room: int(storey)
        for storey, rooms in re.findall(r"^\| (\d) \| ([^|]+) \|", page, re.MULTILINE)
        for room in re.findall(r"`(\w+)`", rooms)
    }
    assert {room: drawn.get(room) for room in STOREYS} == STOREYS
