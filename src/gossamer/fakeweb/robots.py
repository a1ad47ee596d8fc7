"""What each host answers to /robots.txt, and what the answer forbids."""

from typing import Final

from gossamer.fakeweb.graph import Graph

# The rules below as regular expressions over path and query, for the judge.
DISALLOW_PATTERNS: Final = (r"^/private/(?!open/)", r"^/[^?]*/draft-[^?]*\.html$")
DISALLOW_ALL_PATTERNS: Final = (r"^/",)
_RULES: Final = (
    "User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*/draft-*.html$\n"
)
_HUGE_BYTES: Final = 4_000_000


def text(graph: Graph, host: int) -> bytes:
    """Return the rules of a host, with its Crawl-delay and Sitemap lines."""
    lines = _RULES
    if graph.options.crawl_delay:
        lines += f"Crawl-delay: {graph.options.crawl_delay:g}\n"
    if graph.options.sitemap_pages:
        lines += f"\nSitemap: {graph.home(host)}sitemap.xml\n"
    return lines.encode()


def huge(graph: Graph, host: int) -> bytes:
    """Return the rules, more comment than any crawler must read, a rule against everything."""
    rules = text(graph, host)
    padding = b"# nothing to see on this line\n" * (_HUGE_BYTES // 30)
    return rules + padding + b"User-agent: *\nDisallow: /\n"


def patterns(graph: Graph, host: int) -> tuple[str, ...]:
    """Return what a host's robots.txt forbids, as regular expressions over path and query."""
    verdict = graph.options.verdict_of(host)
    if verdict == "rules":
        return DISALLOW_PATTERNS
    return DISALLOW_ALL_PATTERNS if verdict == "disallow" else ()
