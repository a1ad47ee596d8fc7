"""Names of elements in feeds, whatever prefix or namespace they are written with."""

import re
from typing import Final

# RSS, Atom and sitemaps share their names well enough to be one vocabulary: "".
_NAMESPACES: Final = {
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss2": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://purl.org/rss/1.0": "",
    "http://my.netscape.com/rdf/simple/0.9": "",
    "http://channel.netscape.com/rdf/simple/0.9": "",
    "http://my.netscape.com/publish/formats/rss-0.91.dtd": "",
    "http://purl.org/net/rss1.1": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.org/atom/ns": "",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
    "http://www.google.com/schemas/sitemap/0.84": "",
    "http://www.google.com/schemas/sitemap/0.9": "",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns": "rdf",
    "http://purl.org/dc/elements/1.0": "dc",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://search.yahoo.com/mrss": "media",
    "http://video.search.yahoo.com/mrss": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.google.com/schemas/sitemap-news/0.9": "news",
    "http://www.google.com/schemas/sitemap-image/1.1": "image",
    "http://www.w3.org/1999/xhtml": "xhtml",
}
# What prefixes mean when nobody says so, or says something unheard of.
_PREFIXES: Final = {prefix: prefix for prefix in _NAMESPACES.values()} | {
    "rss": "",
    "atom": "",
    "atom10": "",
    "a10": "",
}
_TRAILING: Final = re.compile("[/#]+$")


class Names:
    """The names of one document; a declaration holds from where it is met to the end."""

    def __init__(self) -> None:
        self._prefixes = dict(_PREFIXES)
        self._known: dict[str, str] = {}

    def declare(self, attributes: dict[str, str]) -> None:
        """Take the namespaces that an element declares for prefixes."""
        for name, value in attributes.items():
            if name[:6] == "xmlns:":
                meaning = _meaning(value)
                prefix = name[6:].lower()
                if meaning is not None and self._prefixes.get(prefix) != meaning:
                    self._prefixes[prefix] = meaning
                    self._known.clear()

    def of(self, name: str, own_namespace: str | None = None) -> str:
        """Return the name as the tables have it, such as `dc:date`; others begin with `?`."""
        if own_namespace is not None and ":" not in name:
            meaning = _meaning(own_namespace)
            return _joined("" if meaning is None else meaning, name.lower())
        known = self._known.get(name)
        if known is None:
            prefix, _, local = name.lower().rpartition(":")
            known = self._known[name] = _joined(self._prefixes.get(prefix, "?"), local)
        return known


def is_atom_03(namespace: str) -> bool:
    """Whether a namespace is that of Atom before it was a standard."""
    return namespace.strip().lower().startswith("http://purl.org/atom/")


def _meaning(namespace: str) -> str | None:
    bare = _TRAILING.sub("", namespace[:200].strip().lower())
    return _NAMESPACES.get(bare.replace("https://", "http://", 1))


def _joined(prefix: str, local: str) -> str:
    return f"{prefix}:{local}" if prefix else local
