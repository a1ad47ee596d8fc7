"""`gossamer site`: the map of one site, with the assets of its pages."""

import os
import sys
from argparse import ArgumentTypeError, Namespace
from base64 import b64encode
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.cli.arguments import (
    Commands,
    Parser,
    add_command,
    add_settings,
    folder,
    load_settings,
    natural,
    positive,
    seconds,
)
from gossamer.cli.terminal import complain, remind
from gossamer.errors import InputError, StoppedError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.site.run import Outing

FORMATS = ("tree", "json", "jsonl", "xml", "csv", "dot", "html", "markdown")
"""As in site/writing.py, which takes many modules to load; a test compares the two."""
EXIT_FINDINGS = 1
_PROXY_NOTE = "behind a proxy the address policy cannot see where names lead"
_SECRETS = "--header, --cookie and --auth are"
_ROBOTS_NOTE = "robots.txt was set aside (--ignore-robots)"


def register(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "site",
        run,
        summary="crawl one site and print its map, with the assets of each page",
        examples="""
        gossamer site https://example.org/                             a tree
        gossamer site https://example.org/ -o report.html              a report for a browser
        gossamer site https://example.org/ --format json | jq .summary
        gossamer site https://example.org/ --format html --format xml -o out/   several
        gossamer site https://example.org/ --audit --fail-on error     for CI: exit code 1
        gossamer site https://example.org/ --compare last.json         what changed since
        gossamer site https://example.org/ --keep example              keep the workspace
        gossamer site --resume example                                 go on with it

        Exit codes: 0 complete, or a limit given was reached; 1 --fail-on; 2 bad input;
        3 workspace; 4 disk; 5 the start page failed, or work remains; 130 Ctrl-C.
        """,
    )
    parser.add_argument("url", nargs="?", metavar="URL", help="where to start (http or https)")
    _add_output(parser)
    _add_limits(parser)
    _add_manners(parser)
    _add_identity(parser)
    add_settings(parser)
    parser.add_argument(
        "--quiet", action="store_true", help="no progress; no summary where the map goes to files"
    )


def _add_output(parser: Parser) -> None:
    parser.add_argument(
        "--format",
        action="append",
        choices=FORMATS,
        help="(tree; or what the name of -o says); repeatable",
    )
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        metavar="FILE",
        help="a file for each --format, or one folder for all of them; -: standard output",
    )
    parser.add_argument("--audit", action="store_true", help="look for faults of the site")
    parser.add_argument(
        "--check-assets",
        action="store_true",
        help="look whether assets exist, on other hosts, too",
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "notice"),
        help="exit code 1 when the audit finds something as bad as this; implies --audit",
    )
    parser.add_argument(
        "--compare", type=Path, metavar="OLD.json", help="show what changed since an earlier map"
    )


def _add_limits(parser: Parser) -> None:
    parser.add_argument("--max-pages", type=natural, metavar="N", help="so many pages at most")
    parser.add_argument(
        "--max-depth", type=natural, metavar="N", help="links from the start page at most"
    )
    parser.add_argument(
        "--max-time", type=seconds, default=0.0, metavar="SECONDS", help="stop after this time"
    )
    parser.add_argument(
        "--subdomains", action="store_true", help="subdomains of the host belong to the site"
    )
    parser.add_argument(
        "--include", action="append", metavar="RE", help="only URLs that match (repeatable)"
    )
    parser.add_argument(
        "--exclude", action="append", metavar="RE", help="no URLs that match (repeatable)"
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--keep", type=folder, metavar="DIR", help="keep a workspace with the archive"
    )
    kept.add_argument("--resume", type=folder, metavar="DIR", help="go on with a workspace")


def _add_manners(parser: Parser) -> None:
    parser.add_argument(
        "--concurrency", type=positive, metavar="N", help="requests open at once (8)"
    )
    parser.add_argument("--delay", type=seconds, metavar="SECONDS", help="between two requests (0)")
    parser.add_argument(
        "--workers", type=natural, metavar="N", help="worker processes (2 at most); 0: none"
    )
    parser.add_argument(
        "--ignore-robots",
        action="store_true",
        help="set robots.txt aside: for a site of your own",
    )


def _add_identity(parser: Parser) -> None:
    parser.add_argument("--proxy", metavar="URL", help="send all requests through this proxy")
    parser.add_argument("--user-agent", metavar="TEXT", help="the User-Agent header")
    parser.add_argument(
        "--header",
        action="append",
        type=_header,
        metavar="'NAME: VALUE'",
        help="a request header for the host of URL (repeatable)",
    )
    parser.add_argument("--cookie", metavar="NAME=VALUE", help="a cookie for the host of URL")
    parser.add_argument("--auth", metavar="USER:PASSWORD", help="log in (Basic) at the host of URL")


def run(arguments: Namespace) -> int:
    """Crawl the site, write its map; say what was found and what has changed."""
    from gossamer.cli.site_output import Show, destinations

    show = Show.of(arguments, destinations(arguments.format or [], arguments.output or []))
    directory = _workspace(arguments)
    # What is kept may be audited another day, without being fetched again.
    settings = _settings(arguments, fingerprints=show.audits or directory is not None)

    from gossamer.crawl.open_files import shortage

    few_files = shortage(settings.crawl.concurrency)
    if few_files and not arguments.quiet:
        complain(few_files)
    if settings.spider.proxy:
        print(f"gossamer: {_PROXY_NOTE}", file=sys.stderr)
    if arguments.ignore_robots:
        print(f"gossamer: {_ROBOTS_NOTE}; do this to your own site only", file=sys.stderr)

    from gossamer.cli.progress import follow
    from gossamer.crawl.launch import fetchers, worker_count
    from gossamer.site.observation import HANDLER

    observer = HANDLER.partition(":")[0]
    count = worker_count(settings.crawl.workers)
    with fetchers(count, keep=directory is not None, handlers=[observer]) as workers:
        from gossamer.crawl.pipeline import missing_secrets
        from gossamer.site.run import Plan, map_site

        if arguments.resume is not None:
            remind(missing_secrets(arguments.resume, settings), "with the URL")

        plan = Plan(
            start_url=arguments.url or "",
            directory=directory,
            max_seconds=arguments.max_time,
            all_links=show.audits,
            check_assets=arguments.check_assets,
        )
        with follow(sys.stderr, quiet=arguments.quiet, bar=True) as on_progress:
            try:
                outing = map_site(plan, settings, on_progress=on_progress, launched=workers)
            except StoppedError as error:
                if error.exit_code == StoppedError.exit_code:
                    raise
                raise StoppedError(f"{error}; {_again(directory)}", error.exit_code) from error
    # Kept until the process ends at once: to free a large map takes as long as a hundred pages.
    arguments.outing = outing
    if arguments.ignore_robots:
        outing.site_map.notes.insert(0, _ROBOTS_NOTE)
    failed = show.show(outing.site_map)
    code = _end(outing, directory)
    return code or (EXIT_FINDINGS if failed else 0)


def _workspace(arguments: Namespace) -> Path | None:
    """Return the workspace, if there is to be one; complain about a wrong one."""
    if arguments.resume is None and not arguments.url:
        raise InputError("no URL given; write: gossamer site URL")
    if arguments.resume is None and arguments.keep is None:
        return None

    from gossamer.crawl.workspace import Workspace

    if arguments.keep is not None:
        kept = Workspace(arguments.keep)
        if kept.exists():
            # Its pages would be shown as they were then, and look like those of today.
            raise InputError(
                f"there is a workspace in {arguments.keep} already; go on with it "
                f"(gossamer site --resume {quote(str(arguments.keep))}), or keep this one elsewhere"
            )
        return kept.directory
    workspace = Workspace(arguments.resume)
    if not workspace.exists():
        raise InputError(
            f"no workspace in {arguments.resume} to go on with; "
            f"make one with: gossamer site URL --keep {quote(str(arguments.resume))}"
        )
    return workspace.directory


def _settings(arguments: Namespace, *, fingerprints: bool) -> "Settings":
    from gossamer.site.settings import site_settings

    loaded = load_settings(arguments, _overrides(arguments))
    cores = len(os.sched_getaffinity(0))
    return site_settings(loaded, fingerprints=fingerprints, cores=cores)


def _overrides(arguments: Namespace) -> dict[str, dict[str, object]]:
    """Return the settings that named flags set."""
    per_second = None
    if arguments.delay is not None:
        per_second = 1 / arguments.delay if arguments.delay else 0.0
    headers = _headers(arguments)
    flags: dict[str, dict[str, object]] = {
        "crawl": {
            "max_pages": arguments.max_pages,
            "max_depth": arguments.max_depth,
            "scope": "subdomains" if arguments.subdomains else None,
            "include": arguments.include,
            "exclude": arguments.exclude,
            "concurrency": arguments.concurrency,
            "workers": arguments.workers,
        },
        "urlserver": {
            "host_per_second": per_second,
            "robots_ignore": _set_aside(arguments) if arguments.ignore_robots else None,
        },
        "spider": {
            "user_agent": arguments.user_agent,
            "proxy": arguments.proxy,
            "headers": headers or None,
            "header_hosts": _trusted(arguments) if headers else None,
        },
    }
    return {
        table: {name: value for name, value in entries.items() if value is not None}
        for table, entries in flags.items()
    }


def _set_aside(arguments: Namespace) -> dict[str, str]:
    """Return whose robots.txt is set aside: of the host of URL, with and without www., or below."""
    from gossamer.url.parts import host_of

    host = host_of(_start_url(arguments, "--ignore-robots is"))
    bare = host.removeprefix("www.")
    below = (f"*.{bare}",) if arguments.subdomains else ()
    return dict.fromkeys((host, bare, f"www.{bare}", *below), "--ignore-robots")


def _headers(arguments: Namespace) -> dict[str, str]:
    headers: dict[str, str] = dict(arguments.header or ())
    if arguments.cookie is not None:
        headers["Cookie"] = arguments.cookie
    if arguments.auth is not None:
        if ":" not in arguments.auth:
            raise InputError("cannot use --auth: write it as USER:PASSWORD")
        headers["Authorization"] = "Basic " + b64encode(arguments.auth.encode()).decode()
    return headers


def _trusted(arguments: Namespace) -> list[str]:
    """Return the servers that may see secrets: that of URL, and over http only if URL says so."""
    from gossamer.url.parts import authority_of

    named = authority_of(_start_url(arguments, _SECRETS))
    secure = named.replace("http:", "https:", 1)
    return list(dict.fromkeys((named, secure)))


def _start_url(arguments: Namespace, what: str) -> str:
    """Return the URL that the user named: what is meant for its host must not go anywhere else."""
    if not arguments.url:
        raise InputError(f"{what} for the host of URL only; give the URL, too")

    from gossamer.url.canonical import parse_start_url

    return parse_start_url(arguments.url)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ArgumentTypeError(f"{text!r} is not a header; write it as 'Name: value'")
    return name.strip(), value.strip()


def _end(outing: "Outing", directory: Path | None) -> int:
    """Say why the map is not whole, unless the user set the limit; return the exit code."""
    summary = outing.summary
    if summary.exit_code:
        reason = summary.message.partition(";")[0]
        complain(f"{reason}; the map shows what is there; {_again(directory)}")
        return summary.exit_code
    if outing.start_trouble:
        complain(f"{outing.start_trouble}; the map shows what else is known, from a sitemap")
        return StoppedError.exit_code
    return 0


def _again(directory: Path | None) -> str:
    """Say how to go on."""
    if directory is None:
        return "nothing was kept to go on with (--keep DIR does that)"
    where = quote(str(directory))
    return f"go on with: gossamer site --resume {where}, and the other options of this run"
