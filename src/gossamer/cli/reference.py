"""Reference pages made from the source: `python -m gossamer.cli.reference docs/reference`."""

import sys
from pathlib import Path

from gossamer.cli.main import parser
from gossamer.cli.outline import Command, outline
from gossamer.config.describe import rows, to_markdown
from gossamer.config.load import load_with_origins
from gossamer.objects.describe import objects_page
from gossamer.outcomes import (
    FOREVER,
    PAGE_OUTCOMES,
    PASSING_STATUSES,
    RULES,
    Outcome,
    Rule,
    Wait,
    name_of,
    rule_of,
)

_MADE = "This page is made from the source by `make docs`; change the descriptions there."


def pages() -> dict[str, str]:
    """Return the name and the text of each page."""
    return {
        "settings.md": to_markdown(rows(load_with_origins(None, {}))),
        "outcomes.md": outcomes_page(),
        "cli.md": command_page(),
        "service-objects.md": objects_page(),
    }


def outcomes_page() -> str:
    """Return the closed list of outcome classes with the rule for each."""
    lines = [
        "# Outcomes",
        "",
        _MADE,
        "",
        "Every fetch ends in exactly one of these classes, and every class has one rule (three",
        "statuses have their own, see below).",
        "",
        "* **Tries**: how often the URL is tried before the outcome is final. A *soon* wait",
        "  begins at `retry_soon_seconds`, a *back-off* at `retry_back_off_seconds`; each doubles.",
        "* **Host**: *slowed* means that the interval of the whole host grows with each such",
        "  outcome in a row; *parked* means that the host gets no request at all meanwhile.",
        "* **In the end**: the state of the URL when no try is left. A *page* counts for",
        "  `--max-pages`.",
        "",
        "| Class | Number | Tries | Wait | Host | In the end |",
        "|---|--:|--:|---|---|---|",
    ]
    lines += [_outcome_row(outcome, RULES[outcome]) for outcome in Outcome]
    statuses = ", ".join(map(str, sorted(PASSING_STATUSES)))
    tries = rule_of(Outcome.HTTP_4XX, min(PASSING_STATUSES)).tries
    lines += [
        "",
        "Of `http.4xx` a few statuses are about the moment or the connection, and not about the",
        f"document: {statuses} are tried {tries} times, with a *soon* wait.",
        "",
        "What a long wait might cure (TLS, protocol faults, unknown names) is final within one",
        "crawl; `gossamer crawl --recrawl` tries it again when its next fetch is due. The numbers",
        "are stored in catalogs and never change.",
        "",
    ]
    return "\n".join(lines)


def _outcome_row(outcome: Outcome, rule: Rule) -> str:
    tries = "until it works" if rule.tries == FOREVER else str(rule.tries)
    wait = {Wait.NONE: "", Wait.SOON: "soon", Wait.BACK_OFF: "back-off"}[rule.wait]
    host = "parked" if rule.parks_host else "slowed" if rule.slows_host else ""
    final = rule.final.name.lower() + (", page" if outcome in PAGE_OUTCOMES else "")
    return f"| `{name_of(outcome)}` | {int(outcome)} | {tries} | {wait} | {host} | {final} |"


def command_page() -> str:
    """Return the page of all commands and flags."""
    lines = [
        "# Command line",
        "",
        _MADE,
        "",
        "Every command explains itself with `--help`. `--debug` shows the traceback of an error.",
        "Exit codes: [exit-codes.md](exit-codes.md). Settings: [settings.md](settings.md).",
        "",
        "Results go to standard output, progress and complaints (one line each, beginning with",
        "`gossamer:`) to standard error. Colours appear on a terminal only, and not if `NO_COLOR`",
        "is set. Control characters that came from the web are shown as escapes.",
        "",
    ]
    for command in outline(parser()):
        lines += _command_section(command)
    return "\n".join(lines)


def _command_section(command: Command) -> list[str]:
    words = " ".join(["gossamer", command.name, *(a.shown for a in command.arguments)])
    lines = [f"## {words}", "", command.help[0].upper() + command.help[1:] + ".", ""]
    lines += ["| Flag | Meaning |", "|---|---|"]
    lines += [
        f"| `{_cell(a.shown)}` | {_cell(a.help or ', '.join(a.choices))} |"
        for a in command.arguments
    ]
    lines += [
        f"| `{_cell(f'{flag.name} {flag.shown}'.strip())}` | {_cell(flag.help)} |"
        for flag in command.flags
        if flag.name not in {"-h", "--help"}
    ]
    examples = command.examples.removeprefix("examples:\n")
    return [
        *lines,
        "",
        "```text",
        *(line.removeprefix("  ") for line in examples.splitlines()),
        "```",
        "",
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
