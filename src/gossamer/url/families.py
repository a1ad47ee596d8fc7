"""The family of a URL: the pages that one program is likely to have made, by their URLs.

A family is coarser than a shape (shapes.py), for what depends on it is judged by what the pages
say. Pages in one folder with the same extension are a family, whatever their names; so are folders
in one folder, and all queries to one path with the same single parameter, or with several.
"""

import re
from functools import lru_cache
from typing import Final

from gossamer.url.parts import host_of, path_query_of
from gossamer.url.shapes import bounded, fold

_LONG: Final = 256
# An extension is no longer.
_LONGEST: Final = 5
# Folders of numbers lie in each other on honest sites too (year, day, hour), but not without end.
_NUMBERED_FOLDERS: Final = re.compile(r"(?:/\{(?:n|id|date)\}){4,}")


def family_of(host: str, url: str) -> str:
    """Return the family of a canonical URL: its host, then a pattern that begins with a slash."""
    path, mark, query = path_query_of(url).partition("?")
    if mark:
        parameter = "*" if "&" in query else query.partition("=")[0]
        return host + bounded(f"{_folded(path)}?{parameter}")
    end = path.rfind("/", 0, -1) + 1
    # The root is in no folder.
    if not end:
        return host + path
    return f"{host}{_folded(path[:end])}*{'/' if path[-1] == '/' else _extension(path[end:])}"


def family_of_url(url: str) -> str:
    """Return the family of a canonical URL whose host is not at hand."""
    if url[-1] == "/" or "?" in url:
        return family_of(host_of(url), url)
    end = url.rfind("/") + 1
    # Its folder is where most others of a site are, too.
    folder = _family_in(url[:end]) if end < _LONG else _begin_family(url[:end])
    return folder + _extension(url[end:])


def split_family(family: str) -> tuple[str, str]:
    """Return the host and the pattern of a family."""
    end = family.index("/")
    return family[:end], family[end:]


def _extension(name: str) -> str:
    """Return the extension of a file with its dot; "" if it has none that looks like one."""
    _, dot, extension = name.rpartition(".")
    return dot + extension if dot and extension.isalpha() and len(extension) <= _LONGEST else ""


def _folded(path: str) -> str:
    # Most URLs of a site are in few folders; long ones would fill the memory.
    return _remembered(path) if len(path) < _LONG else _fold(path)


def _fold(path: str) -> str:
    return bounded(_NUMBERED_FOLDERS.sub("/{folders}", fold(path)))


def _begin_family(directory: str) -> str:
    """Return what the families of all files in a directory begin with."""
    return f"{host_of(directory)}{_folded(path_query_of(directory))}*"


_remembered: Final = lru_cache(maxsize=8_192)(_fold)
_family_in: Final = lru_cache(maxsize=8_192)(_begin_family)
