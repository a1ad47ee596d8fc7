"""What kind of page a page is, as far as the rules care.

A page that we chose not to fetch, or could not for want of a disk, is nobody's broken link; nor is
one that a server refused to us because we asked too often.
"""

from typing import Final

from gossamer.site.model import AssetCheck, Page
from gossamer.urlserver.exits import NOT_TRIED

OUR_OWN_DOING: Final = ("policy.", "store.", "parse.", "internal")
"""How the outcomes begin that tell about us and not about the site."""
OTHER_RULES: Final = frozenset({"redir.scope", "redir.loop", "redir.too_many", "body.too_large"})
"""Outcomes that are errors of another kind than a link that leads nowhere."""
SERVER_AWAY: Final = frozenset({"net.refused", "net.unreachable", "net.timeout.connect"})
NOT_UNDERSTOOD: Final = frozenset({"parse.failed", "parse.budget"})
_RATE_LIMITED: Final = 429
_FORBIDDEN: Final = frozenset({401, 403, 407, 451})
_NO_CONTENT: Final = frozenset({204, 205})
_HTML: Final = ("text/html", "application/xhtml+xml")


def is_html(page: Page) -> bool:
    """Whether it is a page in the narrow sense, and no picture or PDF."""
    return page.content_type.lower().startswith(_HTML)


def is_broken(page: Page) -> bool:
    """Whether somebody who follows a link to it gets nothing."""
    return _has_failed(page) and page.status not in _FORBIDDEN and page.status != _RATE_LIMITED


def is_forbidden(page: Page) -> bool:
    """Whether the server wants a password first, or does not want us."""
    return _has_failed(page) and page.status in _FORBIDDEN


def is_rate_limited(page: Page) -> bool:
    """Whether the server did not answer because it was asked too often."""
    return _has_failed(page) and page.status == _RATE_LIMITED


def is_document(page: Page) -> bool:
    """Whether it is an HTML page that was understood, with content of its own."""
    return (
        page.error is None
        and 200 <= page.status < 300
        and page.status not in _NO_CONTENT
        and page.alias_of is None
        and page.facts.redirect_to is None
        and page.facts.outcome not in NOT_UNDERSTOOD
        and is_html(page)
    )


def is_indexable(page: Page) -> bool:
    """Whether a search engine would list this document under its own URL."""
    return is_document(page) and not page.facts.noindex and not names_another(page)


def names_another(page: Page) -> bool:
    """Whether its canonical link names another URL."""
    return page.facts.canonical not in (None, page.url)


def is_missing(check: AssetCheck) -> bool:
    """Whether an asset is not there."""
    return _is_bad(check) and not is_refused(check)


def is_refused(check: AssetCheck) -> bool:
    """Whether it may well be there, but its server did not want to show it to us."""
    # Some servers answer programs they do not like with a status beyond all classes.
    refused = check.status in _FORBIDDEN or check.status == _RATE_LIMITED or check.status >= 600
    return _is_bad(check) and refused


def trouble_of(thing: Page | AssetCheck) -> str:
    """Say in a few words what is wrong with it."""
    return thing.error or str(thing.status)


def _has_failed(page: Page) -> bool:
    outcome = page.facts.outcome
    if outcome.startswith(OUR_OWN_DOING) or outcome in OTHER_RULES or _was_left(page):
        return False
    return page.error is not None or page.status >= 400


def _was_left(page: Page) -> bool:
    """Whether nobody asked for it, because its server had gone away: that may be over."""
    return page.facts.outcome in SERVER_AWAY and page.facts.detail.startswith(NOT_TRIED)


def _is_bad(check: AssetCheck) -> bool:
    return not check.outcome.startswith(OUR_OWN_DOING) and (
        check.error is not None or check.status >= 400
    )
