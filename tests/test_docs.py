"""What the documentation shows is run, and what it links to is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.fakeweb.process import FakeWeb

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if path.name != "LICENSE.md"
)
WITH_COMMANDS = [path for path in PAGES if "```console" in path.read_text(encoding="utf-8")]
# The same command, but without the wait that politeness to strangers asks for.
QUICK = """
gossamer() {
  if [ "$1" = crawl ]; then command gossamer "$@" --set urlserver.host_per_second=100
  else command gossamer "$@"; fi
}
"""


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands_in(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_there_are_commands_to_run():
    assert {named(path) for path in WITH_COMMANDS} >= {"README.md", "docs/quickstart.md"}


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=named)
def test_the_commands_of_a_page_work(page, tmp_path):
    commands = commands_in(page.read_text(encoding="utf-8"))
    assert commands
    with FakeWeb(pages=120, hosts=1, seed=3, max_seconds=240) as web:
        environment = os.environ | {
            "SITE": web.start_url,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        for command in commands:
            done = subprocess.run(
                ["bash", "-c", QUICK + command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md"])
def test_the_programs_of_a_page_work(page, tmp_path):
    """As they stand, but for the site and how much of it is fetched."""
    text = (ROOT / page).read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert programs
    with FakeWeb(pages=120, hosts=1, seed=3, max_seconds=240) as web:
        for number, program in enumerate(programs):
            script = tmp_path / f"program{number}.py"
            quick = re.sub(r"max_pages=\d+", "max_pages=3", program)
            script.write_text(quick.replace("https://example.org/", web.start_url))
            done = subprocess.run(
                [sys.executable, str(script)],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, f"{program}\n{done.stdout}\n{done.stderr}"
            assert done.stdout


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_every_page_is_in_the_index():
    index = ROOT / "docs" / "README.md"
    targets = re.findall(r"\]\(([^)#:]+)\)", index.read_text(encoding="utf-8"))
    linked = {(index.parent / target).resolve() for target in targets}
    assert {page for page in PAGES if "docs" in page.parts} - linked == {index}


def test_the_readme_shows_the_two_commands_first():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == [
        "make site",
        "make test",
    ]


def test_every_exit_code_of_an_error_is_documented():
    from gossamer import errors
    from gossamer.cli import main
    from gossamer.crawl import stops

    codes = {kind.exit_code for kind in vars(errors).values() if hasattr(kind, "exit_code")}
    codes -= {errors.GossamerError.exit_code}
    codes |= {main.EXIT_INTERNAL, main.EXIT_INTERRUPTED, main.EXIT_BROKEN_PIPE}
    codes |= {value for name, value in vars(stops).items() if name.endswith("_CODE")}
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes <= documented


def test_no_page_tells_where_it_was_written():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert "/work/" not in text, named(page)
        assert "/root/" not in text, named(page)
