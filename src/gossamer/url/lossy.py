"""A form of URLs for comparison only: two that share it are most likely one story.

It joins far more than the canonical form dares to, and often names nothing that a server knows:
what comes out of here is never fetched and never shown.
"""

import re
from typing import Final

from gossamer.config.url import UrlSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.parameters import tidy_query
from gossamer.url.parts import path_query_of, registrable_domain, site_of

_LONG: Final = UrlSettings(max_bytes=65_535)
# Besides the usual ones, those by which news sites mark their own feeds.
_TIDY: Final = UrlSettings(
    drop_parameters=(
        "tracking",
        "at_campaign",
        "at_custom*",
        "at_medium",
        "cmpid",
        "ncid",
        "ns_*",
        "ocid",
        "smid",
        "wt.mc_id",
        "xtor",
    )
)
# Whole, doubled, or with a part missing: `http://http://`, `http:/`, `ttp://`, `https//`, `//`.
_SCHEMES: Final = re.compile(r"(?:h?ttps?(?::/*|//+))+|//+")
_SLASHES: Final = re.compile("//+")
# Names under which sites serve what they serve under their own name, too.
_SERVICES: Final = re.compile(
    r"(?:amp|apps?|archives?|beta|blogs?|cdn|data|digits|edition|feeds?|images?|img|legacy|"
    r"m|media|mobile|news|origin|photos?|press|preview|rss|search|shop|sports?|static|"
    r"touch|videos?|wap|www[0-9]{0,3})"
)
_HOME_PATH: Final = re.compile(
    r"/(?:(?:index|default|home)(?:\.[a-z]{2,5})?/?)?(?:\?|$)", re.IGNORECASE
)
_MAX_ROUNDS: Final = 8


def lossy(url: str) -> str:
    """Return the form to compare by; text that is no URL is only trimmed and in lower case."""
    # A step can uncover work for another one (`%75tm_id=1` is a parameter to be dropped).
    for _ in range(_MAX_ROUNDS):
        before, url = url, _round(url)
        if url == before:
            break
    return url


def is_home_page(url: str) -> bool:
    """Whether a URL names a whole site rather than one page of it."""
    canonical = canonicalize("".join(url.split()), _LONG)
    if canonical is None:
        return False
    path = path_query_of(canonical)
    return "?" not in path and _HOME_PATH.match(path) is not None


def _round(url: str) -> str:
    text = "".join(url.split()).lower().replace("\\", "/")
    scheme = _SCHEMES.match(text)
    if not scheme:
        return text
    text = "http://" + text[scheme.end() :]
    canonical = canonicalize(text, _LONG)
    if canonical is None:
        return text
    path, mark, query = path_query_of(tidy_query(canonical, _TIDY)).partition("?")
    path = _SLASHES.sub("/", path) + mark + query if query else _SLASHES.sub("/", path)
    return f"http://{_site(canonical)}{path}".lower()


def _site(canonical: str) -> str:
    """Return the host without port and without the names of services in front of it."""
    host = site_of(canonical)
    if host[0] == "[":
        return host[: host.index("]") + 1]
    host = host.partition(":")[0]
    owned = registrable_domain(host)
    while host != owned:
        label, _, rest = host.partition(".")
        if not rest or not _SERVICES.fullmatch(label):
            break
        host = rest
    return host
