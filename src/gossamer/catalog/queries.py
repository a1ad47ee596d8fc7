"""Reads the statements of the SQL files beside this one, each under its name."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HEADING: Final = re.compile(r"^-- name: (\w+)\n-- (.+)\n", re.MULTILINE)


def parse_queries(text: str) -> dict[str, str]:
    """Return the statements of a file: each follows `-- name: x` and a line that describes it."""
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        heading[1]: " ".join(text[heading.end() : end].split()).rstrip(";")
        for heading, end in zip(headings, ends, strict=True)
    }


def load_queries(name: str) -> dict[str, str]:
    """Return the statements of a file of this room."""
    # importlib.resources would do the same, and load modules for ten milliseconds first.
    return parse_queries(Path(__file__).with_name(name).read_text("utf-8"))


QUERIES: Final[Mapping[str, str]] = load_queries("queries.sql")
