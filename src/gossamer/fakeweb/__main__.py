"""The command line: `python -m gossamer.fakeweb --pages 3000 --hosts 20 --seed 7 --log FILE`."""

import argparse
import sys
from pathlib import Path

from gossamer.fakeweb.options import EXTRAS, ROBOTS_VARIANTS, Options
from gossamer.fakeweb.server import Serving, serve


def main(arguments: list[str] | None = None) -> int:
    """Serve a fake web as the arguments say; the first line on standard output is JSON."""
    parser = _parser()
    given = parser.parse_args(arguments)
    extras = {name: getattr(given, name) for name in EXTRAS}
    try:
        options = Options(
            pages=given.pages,
            hosts=given.hosts,
            seed=given.seed,
            names=given.names,
            addresses=given.addresses,
            links_per_page=given.links_per_page,
            page_bytes=given.page_bytes,
            query_every=given.query_every,
            sitemap_pages=given.sitemap_pages,
            traps=given.traps,
            robots=dict(given.robots),
            crawl_delay=given.crawl_delay,
            latency_ms=given.latency_ms,
            jitter_ms=given.jitter_ms,
            **extras,
        )
    except ValueError as error:
        parser.error(str(error))
    serving = Serving(
        port=given.port,
        dns_port=given.dns_port,
        log=given.log,
        truth=given.truth,
        ready_file=given.ready_file,
        max_seconds=given.max_seconds,
        until_stdin_closes=given.until_stdin_closes,
    )
    try:
        serve(options, serving, lambda line: print(line, flush=True))
    except OSError as error:
        print(f"cannot serve the fake web on port {given.port}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gossamer.fakeweb",
        description="Serve a synthetic web with ground truth and a request log on loopback.",
    )
    number = parser.add_argument
    number("--pages", type=int, default=300, help="ordinary pages over all hosts (%(default)s)")
    number("--hosts", type=int, default=5, help="hosts that share the pages (%(default)s)")
    number("--seed", type=int, default=1, help="changes all texts and random links (%(default)s)")
    number(
        "--addresses",
        type=int,
        default=0,
        help="with --names: addresses the hosts share; 0: one each",
    )
    number(
        "--names", action="store_true", help="hosts are names, h3.fake.test, served by our own DNS"
    )
    number("--dns-port", type=int, default=0, help="UDP port of the DNS server; 0: any free one")
    number("--port", type=int, default=0, help="TCP port; 0: any free one")
    number("--links-per-page", type=int, default=20, help="links of a page (%(default)s)")
    number("--page-bytes", type=int, default=4_000, help="about how long a page is (%(default)s)")
    number("--query-every", type=int, default=10, help="one URL in this many has a query; 0: none")
    for name in EXTRAS:
        words = name.replace("_", " ")
        flag = "--" + name.replace("_", "-")
        number(flag, type=int, default=-1, help=f"how many {words}; -1: one for each 50 pages")
    number(
        "--sitemap-pages",
        type=int,
        default=0,
        help="pages that only the sitemap names; 0: no sitemap",
    )
    number("--traps", action="store_true", help="home pages link into the endless traps")
    number(
        "--robots",
        type=_robots,
        action="append",
        default=[],
        metavar="[HOST=]VARIANT",
        help="what robots.txt answers, for all hosts or one by number: "
        + ", ".join(ROBOTS_VARIANTS),
    )
    number("--crawl-delay", type=float, default=0.0, help="Crawl-delay in robots.txt; 0: none")
    number("--latency-ms", type=float, default=0.0, help="time before each answer")
    number("--jitter-ms", type=float, default=0.0, help="up to this much more, at random")
    number("--log", type=Path, help="append the request log to this file")
    number("--truth", type=Path, help="write the ground truth to this file")
    number("--ready-file", type=Path, help="write the first output line to this file, too")
    number("--max-seconds", type=float, default=0.0, help="end after this long; 0: never")
    number("--until-stdin-closes", action="store_true", help="end when standard input ends")
    return parser


def _robots(text: str) -> tuple[int, str]:
    host, equals, variant = text.rpartition("=")
    if equals and not host.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: write VARIANT or HOST=VARIANT, HOST a number")
    return (int(host) if equals else -1), variant


if __name__ == "__main__":
    sys.exit(main())
