"""The map as a report for a browser: one file, no network; see site/report."""

import base64
import hashlib
import html
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.site.findings import Finding
from gossamer.site.model import SiteMap
from gossamer.site.report.data import write_data

_SCRIPTS: Final = (
    "data.js",
    "elements.js",
    "table.js",
    "charts.js",
    "tree.js",
    "details.js",
    "overview.js",
    "lists.js",
    "main.js",
)
"""In the order in which they build on each other; together they are one script."""


def write(
    site_map: SiteMap,
    file: BinaryIO,
    findings: Sequence[Finding] = (),
    *,
    made_at: datetime | None = None,
) -> None:
    """Write the report."""
    style = _part("report.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(_part, _SCRIPTS)) + "\n})();\n"
    before, after = _part("report.html").split("{{data}}")
    filled = (
        before.replace("{{policy}}", _policy(style, script))
        .replace("{{style}}", style)
        .replace("{{site}}", html.escape(site_map.site))
    )
    file.write(filled.encode())
    write_data(site_map, findings, file, made_at)
    file.write(after.replace("{{script}}", script).encode())


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    return (Path(__file__).parents[1] / "report" / name).read_text(encoding="utf-8")
