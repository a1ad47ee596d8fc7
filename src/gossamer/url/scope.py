"""Which URLs belong to a crawl."""

import re
from collections.abc import Sequence
from typing import Final

from gossamer.config.crawl import CrawlSettings
from gossamer.errors import ConfigError
from gossamer.outcomes import Outcome
from gossamer.url.parts import directory_of, host_of, registrable_domain, site_of

_OUT: Final = Outcome.POLICY_SCOPE
_TOO_DEEP: Final = Outcome.POLICY_BUDGET


class Scope:
    """Decides by the text of a URL and its depth whether it is fetched.

    Theory of operation. Scope `host` compares `host[:port]`, so that http and https on their own
    ports are one; `prefix` compares the directory after the scheme; `domain` the registrable domain
    on any port; `subdomains` takes the host, a leading `www.` aside, and all below it on any port.
    A URL that leaves the scope stays out however it was reached: at depth 0 too, where redirects of
    start URLs are. Start URLs themselves lie in their own scope; only `include` passes over depth
    0.
    """

    def __init__(self, settings: CrawlSettings, start_urls: Sequence[str]) -> None:
        self._settings = settings
        self._include = _compile("include", settings.include)
        self._exclude = _compile("exclude", settings.exclude)
        self._max_depth = settings.max_depth
        self._sites: frozenset[str] = frozenset()
        self._domains: frozenset[str] = frozenset()
        self._prefixes: dict[str, tuple[str, ...]] = {}
        self._extend(start_urls)

    def adding(self, start_urls: Sequence[str]) -> "Scope":
        """Return a scope that these start URLs widen."""
        wider = Scope(self._settings, ())
        wider._sites = self._sites
        wider._domains = self._domains
        wider._prefixes = dict(self._prefixes)
        wider._extend(start_urls)
        return wider

    def verdict(self, url: str, host: str, depth: int) -> Outcome | None:
        """Return None for a canonical URL that is in scope, else the reason."""
        return self.verdict_within(url, depth) if self.reaches(url, host) else _OUT

    def verdict_within(self, url: str, depth: int) -> Outcome | None:
        """Return the same for a URL whose folder is reached."""
        for expression in self._exclude:
            if expression.search(url):
                return _OUT
        if self._include and depth and not any(each.search(url) for each in self._include):
            return _OUT
        return _TOO_DEEP if 0 <= self._max_depth < depth else None

    @property
    def takes_folders(self) -> bool:
        """Whether all URLs of a folder that is reached are in scope, wherever they were found."""
        return not (self._exclude or self._include or self._max_depth >= 0)

    def reaches(self, url: str, host: str) -> bool:
        """Whether a URL lies where the start URLs do; all files of one folder do, or none."""
        match self._settings.scope:
            case "host":
                return site_of(url) in self._sites
            case "domain":
                return registrable_domain(host) in self._domains
            case "subdomains":
                return _is_below(host, self._domains)
            case "prefix":
                prefixes = self._prefixes.get(site_of(url))
                return prefixes is not None and _after_scheme(url).startswith(prefixes)
            case _:
                return True

    def _extend(self, start_urls: Sequence[str]) -> None:
        match self._settings.scope:
            case "host":
                self._sites |= frozenset(map(site_of, start_urls))
            case "domain":
                self._domains |= frozenset(registrable_domain(host_of(url)) for url in start_urls)
            case "subdomains":
                self._domains |= frozenset(host_of(url).removeprefix("www.") for url in start_urls)
            case "prefix":
                for url in start_urls:
                    self._add_prefix(site_of(url), _after_scheme(directory_of(url)))
            case _:
                pass

    def _add_prefix(self, site: str, prefix: str) -> None:
        """Keep the shortest prefixes only, so that many start URLs of one folder cost nothing."""
        known = self._prefixes.get(site, ())
        if not prefix.startswith(known):
            longer = tuple(each for each in known if not each.startswith(prefix))
            self._prefixes[site] = (*longer, prefix)


def _is_below(host: str, domains: frozenset[str]) -> bool:
    while host not in domains:
        _, dot, host = host.partition(".")
        if not dot:
            return False
    return True


def _after_scheme(url: str) -> str:
    return url[url.find("/") :]


def _compile(key: str, expressions: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(key, expression) for expression in expressions)


def _compiled(key: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"cannot use {expression!r} in [crawl] {key}: {error}; "
            "correct the regular expression, or put a backslash before characters meant literally"
        ) from error
