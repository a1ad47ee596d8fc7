"""A URL of the site in two parts: the origin, which most pages share, and the path to show."""

import re
from typing import Final

_PATH: Final = re.compile("[/?#]")


def origin_of(url: str) -> str:
    """Return scheme, host and port of an absolute URL: all before its path."""
    start = url.find("://")
    if start < 0:
        return url
    end = _PATH.search(url, start + 3)
    return url if end is None else url[: end.start()]


def path_of(url: str, origin: str) -> str:
    """Return path and query of a URL of this origin, and any other URL whole."""
    rest = url[len(origin) :]
    return rest if url.startswith(origin) and rest.startswith(("/", "?")) else url
