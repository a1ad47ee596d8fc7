"""Start URLs: how they enter a workspace, and what follows when they or the limits change.

What must not be written down leaves only its name there, so that whoever goes on can be told.
"""

from collections.abc import Sequence
from typing import Final

from gossamer.catalog.catalog import Catalog
from gossamer.config.secrets import secrets_in
from gossamer.config.settings import Settings
from gossamer.errors import InputError
from gossamer.messages import Found, Kind
from gossamer.outcomes import Outcome
from gossamer.url.address import port_refusal
from gossamer.url.canonical import parse_start_url
from gossamer.url.parts import host_of, md5_of, port_of, registrable_domain
from gossamer.url.scope import Scope

_STARTS: Final = "start_urls"
_LIMITS: Final = "limits"
_SECRETS: Final = "secrets"
# Reasons to keep a URL out that other settings may remove; each is judged again before a fetch.
_MAY_CHANGE: Final = frozenset(
    {
        Outcome.POLICY_SCOPE,
        Outcome.POLICY_BUDGET,
        Outcome.POLICY_PRIVATE_ADDRESS,
        Outcome.POLICY_PORT,
    }
)


def canonical_starts(texts: Sequence[str], settings: Settings) -> list[str]:
    """Return what the user typed in canonical form; complain about what can never be fetched."""
    starts = [parse_start_url(text, settings.url) for text in texts]
    for url in starts:
        refusal = port_refusal(port_of(url), settings.spider.allowed_ports)
        if refusal is not None:
            raise InputError(
                f"cannot crawl {url}: {refusal}; "
                "use another port, or allow this one with [spider] allowed_ports"
            )
    return starts


def seed(catalog: Catalog, starts: Sequence[str], now: float) -> tuple[list[str], int]:
    """Enter start URLs; return all the workspace has ever been given, and how many are new."""
    if not starts:
        return seeds_of(catalog), 0
    # Noted together: whoever meets a URL knows that it is a start URL, which decides its scope, and
    # whoever is killed leaves no workspace that has start URLs and nothing to do.
    found = [Found(url=url, md5=md5_of(url), host=host_of(url), depth=0) for url in starts]
    new = catalog.add(found, now, priority=1, note=_STARTS)
    return seeds_of(catalog), len(new)


def name_only(catalog: Catalog, urls: Sequence[str]) -> None:
    """Note what the user named, without having it fetched."""
    catalog.extend_note(_STARTS, urls)


def seeds_of(catalog: Catalog) -> list[str]:
    """Return all start URLs that the workspace has ever been given."""
    return (catalog.note(_STARTS) or "").splitlines()


def note_secrets(catalog: Catalog, settings: Settings) -> None:
    """Note the names of settings whose values are not kept."""
    names = secrets_in(settings)
    if names:
        catalog.extend_note(_SECRETS, names)


def secrets_not_given(catalog: Catalog, settings: Settings) -> list[str]:
    """Name what an earlier run was given, this one was not, and the workspace does not keep."""
    given = set(secrets_in(settings))
    return [name for name in (catalog.note(_SECRETS) or "").splitlines() if name not in given]


def reconsider(catalog: Catalog, seeds: Sequence[str], settings: Settings, now: float) -> None:
    """Let in what an earlier run kept out and the limits of this one do not, and the reverse."""
    crawl = settings.crawl
    reach = (crawl.scope, crawl.include, crawl.exclude, crawl.max_depth, sorted(seeds))
    policy = (settings.url.allow_private, settings.url.allow_networks)
    limits = repr((reach, policy, settings.spider.allowed_ports))
    earlier = catalog.note(_LIMITS)
    if earlier == limits:
        return
    if earlier is not None:
        scope = Scope(crawl, seeds)
        catalog.readmit(_let_in(catalog, scope, settings), now)
        for outcome, doc_ids in _kept_out(catalog, scope, seeds, settings).items():
            catalog.keep_out(doc_ids, outcome, now)
    catalog.put_note(_LIMITS, limits)


def _let_in(catalog: Catalog, scope: Scope, settings: Settings) -> list[int]:
    ports = settings.spider.allowed_ports
    return [
        row.doc_id
        for row in catalog.excluded()
        if row.outcome in _MAY_CHANGE
        and scope.verdict(row.url, row.host, row.depth) is None
        and port_refusal(port_of(row.url), ports) is None
    ]


def _kept_out(
    catalog: Catalog, scope: Scope, seeds: Sequence[str], settings: Settings
) -> dict[Outcome, list[int]]:
    """Return the URLs that wait, but beyond the limits, by the reason; start URLs never are."""
    starts = frozenset(seeds)
    domains = {registrable_domain(host_of(url)) for url in starts}
    beyond: dict[Outcome, list[int]] = {}
    for row in catalog.pending():
        # Sitemaps may lie on another host of the same owner; only what they list must be in scope.
        if row.url in starts or (
            row.kind is Kind.SITEMAP and registrable_domain(row.host) in domains
        ):
            continue
        outcome = scope.verdict(row.url, row.host, row.depth)
        if outcome is None and port_refusal(port_of(row.url), settings.spider.allowed_ports):
            outcome = Outcome.POLICY_PORT
        if outcome is not None:
            beyond.setdefault(outcome, []).append(row.doc_id)
    return beyond
