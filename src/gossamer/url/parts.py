"""Parts of a canonical URL, by slicing: it is `scheme://host[:port]/path[?query]`, no more."""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from gossamer.url.plain import md5_of

__all__ = [
    "authority_of",
    "directory_of",
    "host_of",
    "md5_of",
    "path_query_of",
    "port_of",
    "registrable_domain",
    "site_of",
]

_DEFAULT_PORTS = {"http": 80, "https": 443}


def authority_of(url: str) -> str:
    """Return `scheme://host[:port]`."""
    end = url.find("/", 8)
    return url if end < 0 else url[:end]


def site_of(url: str) -> str:
    """Return `host[:port]`: the authority whichever of http and https it is reached by."""
    end = url.find("/", 8)
    return url[url.find("/") + 2 : end if end >= 0 else None]


def host_of(url: str) -> str:
    """Return the host name in lower case, without port; an IPv6 address without brackets."""
    site = site_of(url)
    if ":" not in site:
        return site
    if site[0] == "[":
        return site[1 : site.index("]")]
    return site[: site.index(":")]


def port_of(url: str) -> int:
    """Return the port, the scheme's own when none is written."""
    authority = authority_of(url)
    scheme, _, rest = authority.partition("://")
    digits = rest[rest.rfind("]") + 1 :].rpartition(":")[2] if ":" in rest else ""
    return int(digits) if digits.isdecimal() else _DEFAULT_PORTS[scheme]


def path_query_of(url: str) -> str:
    """Return path and query: what follows the method in a request line."""
    end = url.find("/", 8)
    return "/" if end < 0 else url[end:]


def directory_of(url: str) -> str:
    """Return the URL up to the last slash of its path: all that relative references depend on."""
    return url[: url.partition("?")[0].rfind("/") + 1]


@lru_cache(maxsize=65_536)
def registrable_domain(host: str) -> str:
    """Return the domain someone registered, such as `example.co.uk`; an address is itself."""
    if ":" in host or host.rpartition(".")[2].isdecimal():
        return host
    return _public_suffixes().privatesuffix(host) or host


@cache
def _public_suffixes() -> PublicSuffixList:
    """Read the list once, when it is first asked for: it takes 50 ms."""
    return PublicSuffixList()
