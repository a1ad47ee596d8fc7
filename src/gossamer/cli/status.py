"""`gossamer status`: where a crawl stands, also while it runs."""

import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from gossamer.cli.arguments import Commands, add_command, add_directory, add_json, natural
from gossamer.cli.terminal import Section, print_json, print_sections
from gossamer.wording import seconds_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.catalog.catalog import HostRow
    from gossamer.catalog.sqlite import SqliteCatalog

_RECENT_SECONDS = 60.0
_MAX_TRAPS = 1_000


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "status",
        run,
        summary="show where a crawl stands: states, outcomes, hosts, rates",
        examples="""
        gossamer status --dir example
        gossamer status --dir example --hosts 100
        gossamer status --dir example --json
        """,
    )
    add_directory(parser)
    parser.add_argument(
        "--hosts", type=natural, default=10, metavar="N", help="how many hosts to show (10)"
    )
    add_json(parser, "all of it")


def run(arguments: Namespace) -> int:
    """Show the numbers."""
    found = collect(arguments)
    if arguments.json:
        print_json(found)
    else:
        print_sections(_sections(found, time.time()))
    return 0


def collect(arguments: Namespace) -> dict[str, Any]:
    """Return the numbers of a workspace."""
    from gossamer.cli.reading import open_workspace
    from gossamer.outcomes import name_of

    with open_workspace(arguments.dir) as catalog:
        # All of it as of one moment, for a crawl may go on meanwhile.
        catalog.renew_view()
        counts = catalog.counts()
        outcomes = catalog.outcome_counts()
        return {
            "directory": str(arguments.dir),
            "counts": {
                name: getattr(counts, name)
                for name in ("discovered", "done", "pending", "leased", "excluded", "failed")
            },
            "pages": counts.pages,
            "fetches": counts.fetches,
            "duplicates": counts.duplicates,
            "near_duplicates": catalog.near_duplicate_count(),
            "rates": _rates(catalog, counts.pages, time.time()),
            "outcomes": {
                name_of(outcome): urls
                for outcome, urls in sorted(outcomes.items(), key=lambda item: -item[1])
                if urls
            },
            "hosts_known": counts.hosts,
            "hosts": list(catalog.host_rows(arguments.hosts)),
            "quarantined": [trap for trap in catalog.traps(_MAX_TRAPS) if trap.reason],
        }


def _rates(catalog: "SqliteCatalog", pages: int, now: float) -> dict[str, Any]:
    """Return pages a second: of the last minute, and from the first fetch to the latest."""
    from gossamer.cli.formats import iso_time

    first, last = catalog.first_fetched_at(), catalog.last_fetched_at()
    if first is None or last is None:
        return {"pages_per_second_last_minute": 0.0, "pages_per_second": 0.0}
    # A crawl that began half a minute ago had half a minute for its pages.
    recent_seconds = min(_RECENT_SECONDS, max(now - first, 1.0))
    recent_pages = catalog.pages_since(now - recent_seconds)
    return {
        "pages_per_second_last_minute": recent_pages / recent_seconds,
        "pages_per_second": pages / (last - first) if last > first else 0.0,
        "first_fetch_at": iso_time(first),
        "last_fetch_at": iso_time(last),
    }


def _sections(found: dict[str, Any], now: float) -> list[Section]:
    sections = [
        Section("URLs", ("state", "urls"), list(found["counts"].items())),
        Section("Outcomes", ("outcome", "urls"), list(found["outcomes"].items())),
        Section("Pages", ("", ""), _page_rows(found)),
        _host_section(found["hosts"], found["hosts_known"], now),
    ]
    if found["quarantined"]:
        sections.append(
            Section(
                "In quarantine as traps",
                ("host", "urls", "reason"),
                [(trap.host, trap.urls, trap.reason) for trap in found["quarantined"]],
            )
        )
    return [section for section in sections if section.rows]


def _page_rows(found: dict[str, Any]) -> list[tuple[str, object]]:
    rates = found["rates"]
    return [
        ("pages", found["pages"]),
        ("fetches, retries included", found["fetches"]),
        ("exact duplicates", found["duplicates"]),
        ("near duplicates", found["near_duplicates"]),
        ("pages/s, last minute", rates["pages_per_second_last_minute"]),
        ("pages/s, over all", rates["pages_per_second"]),
    ]


def _host_section(hosts: "Sequence[HostRow]", known: int, now: float) -> Section:
    title = "Hosts" if len(hosts) == known else f"Hosts ({len(hosts)} of {known:,})"
    header = ("host", "done", "pending", "leased", "excluded", "failed", "state")
    return Section(
        title,
        header,
        [
            (
                row.host,
                row.done,
                row.pending,
                row.leased,
                row.excluded,
                row.failed,
                _state(row, now),
            )
            for row in hosts
        ],
    )


def _state(row: "HostRow", now: float) -> str:
    if row.parked_until > now:
        wait = seconds_in_words(row.parked_until - now)
        return f"parked for {wait}: {row.parked_reason}"
    if row.failures_in_a_row:
        return f"{row.failures_in_a_row} failures in a row"
    return ""
