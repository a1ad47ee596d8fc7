"""The promise of every content storage of the service: raw and processed contents by site and URL.

Three kinds keep it (`content_storage.py` opens them): raw files and a key-value file for each site
(0), raw files and a table for each site (1), the WARC archive and a key-value file (2).

* What `put_processed`, `delete`, `create_site`, `clear_site` and `drop_site` did is durable when
  they return. What `put_raw` took is durable when `sync` returns, so that many share one.
* `sync` raising a StorageError means: what was put since the last sync that returned may be there
  or not, whole in either case; putting it again is right.
* Every version of a raw content is kept, by the moment it was fetched; one of the same moment takes
  its place. Whatever happens, a version is read whole or not at all.
* Several processes may use one storage; each has an object of its own, for one thread at a time.

Theory of names: `site_name` and `md5_name` are the only ways from a caller's text to the name of a
file or a table, so there is no text that leads out of the storage. A site id is mostly 32 hex
digits in lower case or "0", and is its name; other ids get a name that is like no other, also where
small and capital letters are the same.
"""

import re
from typing import Final, Literal, Protocol

from msgspec import Struct

from gossamer.errors import StoreError
from gossamer.objects.enumerations import GENERAL_SITE

Which = Literal["last", "first", "all"]
_MD5: Final = re.compile(r"[0-9a-f]{32}")
_OTHER_SITE: Final = re.compile(r"[0-9A-Za-z_-]{1,32}")
_CAPITAL: Final = re.compile(r"[A-Z]")


class RawContent(Struct, frozen=True):
    """One version of what a URL gave; what was not kept with it is None."""

    stamp: float
    """When it was fetched: seconds since 1970, UTC, to the microsecond."""
    body: bytes
    headers: bytes | None = None
    request: bytes | None = None
    meta: bytes | None = None
    cookies: bytes | None = None


class Contents(Protocol):
    """Keeps contents; see the module for what it promises."""

    def put_raw(
        self,
        site_id: str,
        md5: str,
        stamp: float,
        *,
        body: bytes,
        headers: bytes | None,
        request: bytes | None,
        meta: bytes | None = None,
        cookies: bytes | None = None,
        url: str = "",
    ) -> None:
        """Take a version of a raw content; `url` is for archives, which name it."""
        ...

    def sync(self) -> None:
        """Make every raw content put so far durable."""
        ...

    def raw(self, site_id: str, md5: str, which: Which = "last") -> list[RawContent]:
        """Return versions of a raw content, the oldest first; none if there is none."""
        ...

    def put_processed(self, site_id: str, md5: str, json_bytes: bytes, now: float) -> None:
        """Keep the processed content of a URL, in place of an earlier one."""
        ...

    def processed(self, site_id: str, md5: str) -> tuple[bytes, float] | None:
        """Return the processed content of a URL and when it was made, to the second."""
        ...

    def delete(self, site_id: str, md5: str) -> bool:
        """Remove all contents of a URL; return whether there were processed ones."""
        ...

    def create_site(self, site_id: str) -> None:
        """Make room for a site; nothing happens if it has some."""
        ...

    def clear_site(self, site_id: str) -> None:
        """Remove all contents of a site; an empty storage for it remains."""
        ...

    def drop_site(self, site_id: str) -> None:
        """Remove a site with all its contents."""
        ...

    def size_of(self, site_id: str) -> int:
        """Return the bytes of a site's raw contents."""
        ...

    def sweep(self, most: int = 1_000) -> bool:
        """Free the space of at most so many contents of removed sites; return whether more wait."""
        ...

    def close(self) -> None:
        """Sync and let go of all files."""
        ...


def site_name(site_id: str) -> str:
    """Return the part of names that stands for a site; StoreError if the id cannot be one.

    The general site, of URLs that belong to none, may be called "", too.
    """
    if site_id in ("", GENERAL_SITE):
        return GENERAL_SITE
    if _MD5.fullmatch(site_id):
        return site_id
    if not _OTHER_SITE.fullmatch(site_id):
        raise StoreError(
            f"{site_id[:40]!r} is not a site id: up to 32 letters, digits, - and _ are expected"
        )
    return "id-" + _CAPITAL.sub(lambda letter: "^" + letter[0].lower(), site_id)


def md5_name(md5: str) -> str:
    """Return the part of names that stands for a URL; StoreError if it cannot be one."""
    if not _MD5.fullmatch(md5):
        raise StoreError(f"{md5[:40]!r} is not an md5: 32 hex digits in lower case are expected")
    return md5


def selected(versions: list[RawContent], which: Which) -> list[RawContent]:
    """Return the versions that are asked for, of all in the order of time."""
    if which == "all":
        return versions
    return versions[-1:] if which == "last" else versions[:1]
