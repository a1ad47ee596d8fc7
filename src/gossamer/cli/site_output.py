"""Where the map of a site goes, and what is said beside it: findings, changes, the summary."""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from gossamer.cli.terminal import can_draw, complain, is_terminal
from gossamer.errors import InputError
from gossamer.wording import visible

if TYPE_CHECKING:
    from gossamer.site.compare import Comparison
    from gossamer.site.findings import Finding
    from gossamer.site.formats.paint import Look
    from gossamer.site.model import SiteMap

_BY_SUFFIX = {
    ".txt": "tree",
    ".json": "json",
    ".jsonl": "jsonl",
    ".xml": "xml",
    ".csv": "csv",
    ".dot": "dot",
    ".gv": "dot",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
}

_STANDARD = ("-", "/dev/stdout")
"""As names: standard output."""


class Goal(NamedTuple):
    """One format and where it goes."""

    name: str
    path: Path | None
    """None: standard output."""


def destinations(formats: Sequence[str], outputs: Sequence[str]) -> list[Goal]:
    """Return what is written where; complain before anything is crawled."""
    goals = _goals(formats, outputs)
    taken: dict[Path | None, str] = {}
    for goal in goals:
        file = None if goal.path is None else _writable(goal.name, goal.path)
        if taken.setdefault(file, goal.name) != goal.name:
            raise InputError(
                f"{taken[file]} and {goal.name} cannot share {file or 'standard output'}; "
                "give each its own -o, or one folder for all"
            )
    return goals


def _goals(formats: Sequence[str], outputs: Sequence[str]) -> list[Goal]:
    if not outputs or (len(outputs) == 1 and outputs[0] in _STANDARD):
        if len(formats) > 1:
            raise InputError("several formats cannot share standard output; add -o DIR")
        return [Goal(formats[0], None)] if formats else []
    if "" in outputs:
        raise InputError("the name of an output is empty; give -o a file or a folder")
    if not formats:
        formats = [_format_of(output) for output in outputs]
    if len(outputs) == 1 and len(formats) > 1:
        _make_folder(Path(outputs[0]))
        return [Goal(name, Path(outputs[0])) for name in formats]
    if len(outputs) != len(formats):
        raise InputError(
            f"{len(formats)} formats and {len(outputs)} outputs: give one -o for each --format, or "
            "one folder for all"
        )
    return [Goal(name, _place(output)) for name, output in zip(formats, outputs, strict=True)]


def _place(output: str) -> Path | None:
    if output in _STANDARD:
        return None
    if output.endswith("/"):
        _make_folder(Path(output))
    return Path(output)


def _writable(name: str, path: Path) -> Path:
    """Return the file for a format; complain if it could not be written."""
    from gossamer.site.writing import target_of
    from gossamer.store.output import require_writable

    file = target_of(name, path)
    if not os.path.isdir(file.parent):  # noqa: PTH112 - fails for no name
        raise InputError(f"cannot write {file}: there is no folder {file.parent}")
    require_writable(file)
    return file


def _format_of(output: str) -> str:
    name = _BY_SUFFIX.get(Path(output).suffix.lower())
    if name is None:
        raise InputError(f"cannot tell the format from the name of {output}; add --format")
    return name


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot use {path} as a folder: {error.strerror}") from error


class Show(NamedTuple):
    """What is to be shown."""

    goals: list[Goal]
    audits: bool
    """Whether all rules are looked at, for the findings or the report."""
    tells: bool
    """Whether what they found is printed, too."""
    checks: bool
    """Whether what a check of the assets found is printed in any case."""
    fail_on: str | None
    earlier: Path | None
    quiet: bool

    @classmethod
    def of(cls, arguments: Namespace, goals: list[Goal]) -> "Show":
        """Read the flags."""
        tells = arguments.audit or arguments.fail_on is not None
        audits = tells or any(goal.name == "html" for goal in goals)
        if arguments.compare is not None:
            _read(arguments.compare)
        return cls(
            goals,
            audits,
            tells,
            arguments.check_assets,
            arguments.fail_on,
            arguments.compare,
            arguments.quiet,
        )

    def show(self, site_map: "SiteMap") -> bool:
        """Write and print everything; return whether the audit found what must not be."""
        findings = self._audit(site_map)
        comparison = self._compare(site_map)
        self._write(site_map, findings, comparison)
        # What goes beside a map on standard output must not get into it.
        beside = sys.stderr if any(goal.path is None for goal in self.goals) else sys.stdout
        self._tell(site_map, findings, comparison, beside)
        if self.fail_on is None:
            return False
        from gossamer.site.findings import SEVERITIES, fails

        return any(fails(findings or [], each) for each in SEVERITIES if each == self.fail_on)

    def _audit(self, site_map: "SiteMap") -> "list[Finding] | None":
        if not (self.audits or self.checks):
            return None
        from gossamer.site.audit.audit import audit

        findings = audit(site_map)
        return findings if self.audits else _of_assets(findings)

    def _compare(self, site_map: "SiteMap") -> "Comparison | None":
        if self.earlier is None:
            return None
        from gossamer.site.compare import compare

        return compare(_read(self.earlier), site_map, str(self.earlier))

    def _write(
        self,
        site_map: "SiteMap",
        findings: "list[Finding] | None",
        comparison: "Comparison | None",
    ) -> None:
        from datetime import UTC, datetime

        from gossamer.site.writing import Extras, write_to_path, write_to_stream

        extras = Extras(findings, comparison, datetime.now(UTC))
        trouble: list[Exception] = []
        for name, path in self.goals:
            try:
                if path is not None:
                    write_to_path(name, site_map, path, extras)
                elif name == "tree":
                    _print_tree(site_map)
                else:
                    sys.stdout.flush()
                    write_to_stream(name, site_map, sys.stdout.buffer, extras)
                    sys.stdout.buffer.flush()
            except (InputError, OSError) as error:
                # The others may have room, and the crawl was not for nothing.
                trouble.append(error)
        if trouble:
            raise trouble[0]
        if any(name == "xml" for name, _ in self.goals):
            _explain_empty_sitemap(site_map)
        if not self.goals and self.earlier is None:
            _print_tree(site_map)

    def _tell(
        self,
        site_map: "SiteMap",
        findings: "list[Finding] | None",
        comparison: "Comparison | None",
        file: TextIO,
    ) -> None:
        if comparison is not None:
            from gossamer.site import compare_writing

            compare_writing.write_text(comparison, file, _look(file))
        if findings is not None and (self.tells or self.checks):
            from gossamer.site.audit.writing import write_text

            print(file=file)
            write_text(findings if self.tells else _of_assets(findings), file, _look(file))
        if self.goals and not self.quiet and all(goal.path is not None for goal in self.goals):
            if self.tells or self.checks or comparison is not None:
                print(file=file)
            _print_summary(site_map, self.goals, file)


def _explain_empty_sitemap(site_map: "SiteMap") -> None:
    from gossamer.site.audit.standing import names_another
    from gossamer.site.formats.xml import is_listed

    if any(map(is_listed, site_map.pages)):
        return
    # As a preview whose pages all have the URLs of the real site for canonical ones.
    named = next(filter(names_another, site_map.pages), None)
    example = "" if named is None else f", such as {named.facts.canonical} for {named.url}"
    complain(
        "the sitemap lists no page: each has failed, asks not to be indexed, or names another URL "
        f"as the canonical one{example}"
    )


def _of_assets(findings: "list[Finding]") -> "list[Finding]":
    from gossamer.site.findings import ASSET_RULES

    return [finding for finding in findings if finding.rule in ASSET_RULES]


def _print_tree(site_map: "SiteMap") -> None:
    from gossamer.site.formats import tree

    sys.stdout.flush()
    if is_terminal(sys.stdout):
        # In the encoding of the terminal; a pipe gets UTF-8 like a file.
        for line in tree.lines(site_map, _look(sys.stdout)):
            print(line)
    else:
        tree.write(site_map, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _print_summary(site_map: "SiteMap", goals: Sequence[Goal], file: TextIO) -> None:
    from gossamer.site.formats.tree import summary_lines
    from gossamer.site.model import summary_of

    for line in summary_lines(summary_of(site_map), _look(file)):
        print(line, file=file)
    for path in dict.fromkeys(goal.path for goal in goals):
        print(f"  written to {visible(str(path))}", file=file)


def _look(file: TextIO) -> "Look":
    from dataclasses import replace

    from gossamer.site.formats.paint import COLOURED, DRAWN, PLAIN

    drawn = DRAWN if os.environ.get("NO_COLOR") else COLOURED
    look = drawn if can_draw(file) else PLAIN
    try:
        return replace(look, width=os.get_terminal_size(file.fileno()).columns)
    except OSError:
        return look


def _read(path: Path) -> bytes:
    """Return an earlier map; complain about a file that is none."""
    from gossamer.site.earlier import read_earlier

    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    read_earlier(content, str(path))
    return content
