"""How a site wants URLs to be collected, read from its properties once; and the sieve of it."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from gossamer.objects.enumerations import FilterMode, FilterStage
from gossamer.objects.filters import Asked, Verdict, asked, judge_by
from gossamer.objects.first_fields import FIELDS_INIT, first_fields_in
from gossamer.objects.normalizing import Rewriting, rewriting_of, rewritten
from gossamer.objects.patterns import PatternError
from gossamer.objects.picking import XPATH_LIST, PathSets, path_sets_in
from gossamer.objects.site import Filter
from gossamer.objects.url_limits import (
    PAGE_LIMITS,
    URL_LIMITS,
    UrlLimits,
    limits_in,
    within_page_limits,
    within_url_limits,
)

MAX_DEPTH_PROPERTY: Final = "USER_MAX_DEPTH"
_NO_DEPTH: Final = "1000000000"
_WEB: Final = frozenset({"http", "https"})
_RENEWED_DATES: Final = (("CDATE", "cdate"), ("UDATE", "udate"), ("TCDATE", "tcdate"))
_OWN_PREFIX: Final = "USER_"


class AutoRemoval(Struct, frozen=True):
    """What makes room in a site that has as many URLs as it may have."""

    count: int
    where: str
    order: str


class Renewal(Struct, frozen=True):
    """What happens to a known URL that is found again."""

    is_on: bool = True
    age: str = ""
    """Empty: it was left alone for a re-crawl period."""
    status: int = 1
    dates: tuple[tuple[str, str], ...] = ()
    """Columns and the expressions that they are set to."""


class CollectingRules(Struct, frozen=True):
    """How a site wants URLs to be collected."""

    rewriting: Rewriting = Rewriting()
    page_limits: UrlLimits = ()
    url_limits: UrlLimits = ()
    first_fields: Mapping[str, Any] = {}
    protocols: frozenset[str] = _WEB
    paths: PathSets | None = None
    removal: AutoRemoval | None = None
    counted_where: str = ""
    """Which URLs count where there is a limit to them; empty: all."""
    renewal: Renewal = Renewal()

    def within_limits(self, urls: Sequence[str], page_url: str, content_type: str) -> list[str]:
        """Return which URLs of a page are taken; PatternError if that cannot be decided."""
        taken = within_page_limits(urls, self.page_limits, page_url, content_type)
        return within_url_limits(taken, self.url_limits, content_type)


_NAMES: Final = (
    "URL_NORMALIZE", "URL_NORMALIZE_MASK", PAGE_LIMITS, URL_LIMITS, FIELDS_INIT, "PROTOCOLS",
    XPATH_LIST, "AUTO_REMOVE_RESOURCES", "AUTO_REMOVE_WHERE", "AUTO_REMOVE_ORDER",
    "AUTO_REMOVE_WHERE_ACTIVE", "RECRAWL_URL_UPDATE", "RECRAWL_URL_AGE_EXPRESSION",
    "RECRAWL_URL_UPDATE_STATUS", *(f"RECRAWL_URL_UPDATE_{name}" for name, _ in _RENEWED_DATES),
)  # fmt: skip


def rules_of(properties: Mapping[str, str]) -> CollectingRules:
    """Return how a site wants URLs to be collected."""
    texts = tuple(properties.get(name, "") for name in _NAMES)
    return _rules(texts) if any(texts) else _USUAL


_USUAL: Final = CollectingRules()


@lru_cache(maxsize=1_024)
def _rules(texts: tuple[str, ...]) -> CollectingRules:
    given = {name: text.strip() for name, text in zip(_NAMES, texts, strict=True)}
    protocols = frozenset(filter(None, map(str.strip, given["PROTOCOLS"].lower().split(","))))
    dates = ((column, given[f"RECRAWL_URL_UPDATE_{name}"]) for name, column in _RENEWED_DATES)
    return CollectingRules(
        rewriting=rewriting_of(given),
        page_limits=limits_in(given[PAGE_LIMITS], PAGE_LIMITS),
        url_limits=limits_in(given[URL_LIMITS], URL_LIMITS),
        first_fields=first_fields_in(given[FIELDS_INIT]),
        protocols=protocols or _WEB,
        paths=path_sets_in(given[XPATH_LIST]),
        removal=_removal(given),
        counted_where=given["AUTO_REMOVE_WHERE_ACTIVE"],
        renewal=Renewal(
            is_on=given["RECRAWL_URL_UPDATE"] != "0",
            age=given["RECRAWL_URL_AGE_EXPRESSION"],
            status=_number(given["RECRAWL_URL_UPDATE_STATUS"]) or 1,
            dates=tuple((column, text) for column, text in dates if text),
        ),
    )


def _removal(given: Mapping[str, str]) -> AutoRemoval | None:
    """Return how room is made; all three properties must be set."""
    count = _number(given["AUTO_REMOVE_RESOURCES"])
    where, order = given["AUTO_REMOVE_WHERE"], given["AUTO_REMOVE_ORDER"]
    return AutoRemoval(count, where, order) if count and where and order else None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


# ------------------------------------------------------------------------------- the sieve


class Patience:
    """How long all patterns of clients together may take for one page.

    Time of the processor: what is found on a page does not depend on who else uses the machine.
    """

    def __init__(self, seconds: float, spent: Callable[[], float]) -> None:
        self._spent = spent
        self._until = spent() + seconds
        self.faults = 0
        """How often something could not be decided."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is looked at."""
        return self._spent() >= self._until


class Sieve:
    """Says of each URL on a page under which name a site wants it, if it does."""

    def __init__(
        self,
        rules: CollectingRules,
        filters: Sequence[Filter],
        macros: Mapping[str, str],
        patience: Patience,
    ) -> None:
        self._rules = rules
        self._macros = macros
        self._patience = patience
        self._by_protocol: dict[str, bool] = {}
        self._asked: dict[tuple[FilterStage, FilterMode], Asked] = {}
        self._filters = filters
        self.depends_on_page = any("%" in each.pattern + each.subject for each in filters)
        """Whether the answer may be another one on another page."""

    def passed(self, url: str, mode: FilterMode) -> str | None:
        """Return a canonical URL as the site wants it; None if it does not."""
        if self._patience.is_over:
            self._patience.faults += 1
            return None
        if not self._rules.rewriting.is_usual:
            try:
                new = rewritten(url, self._rules.rewriting)
            except PatternError:
                self._patience.faults += 1
                return None
            if new is None:
                return None
            url = new
        if not self._allows(url.partition(":")[0]):
            return None
        return url if self._judged(url, FilterStage.COLLECT_URLS, mode) else None

    def _allows(self, protocol: str) -> bool:
        """Whether URLs of a protocol are wanted: by PROTOCOLS, and by filters for it."""
        if protocol not in self._by_protocol:
            self._by_protocol[protocol] = protocol in self._rules.protocols and self._judged(
                protocol, FilterStage.COLLECT_URLS_PROTOCOL, FilterMode.URL
            )
        return self._by_protocol[protocol]

    def _judged(self, text: str, stage: FilterStage, mode: FilterMode) -> bool:
        having_a_say = self._asked.get((stage, mode))
        if having_a_say is None:
            having_a_say = self._asked[stage, mode] = asked(self._filters, stage, mode)
        verdict: Verdict = judge_by(having_a_say, text, self._macros)
        self._patience.faults += bool(verdict.fault)
        return verdict.passes


def macros_of(
    properties: Mapping[str, str], *, site_id: str, depth: int, page_url: str = ""
) -> dict[str, str]:
    """Return what macros in filters stand for: the URL's place, and properties of the client."""
    own = {name: value for name, value in properties.items() if name.startswith(_OWN_PREFIX)}
    return {
        **own,
        "SITE_ID": site_id,
        "DEPTH": str(depth),
        "MAX_DEPTH": own.get(MAX_DEPTH_PROPERTY, "").strip() or _NO_DEPTH,
        "PARENT_URL": page_url,
    }
