"""An independent answer to what a map must hold, worked out from the files themselves.

It shares nothing with gossamer: the parser, the joining of URLs and the walk are those of the
standard library and of this file.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit

_ICONS = {"icon", "mask-icon", "apple-touch-icon", "apple-touch-icon-precomposed", "image_src"}
_NEITHER = {"dns-prefetch", "preconnect", "preload", "prefetch", "modulepreload", "pingback"}
_OTHERS = {"manifest", "edituri", "wlwmanifest"}
_IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)")


class Reading(HTMLParser):
    """Links and assets of one page, as written."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = ""
        self.links: list[str] = []
        self.assets: set[tuple[str, str]] = set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "base" and not self.base:
            self.base = found.get("href", "")
        elif tag in ("a", "area") and "href" in found:
            if "nofollow" not in found.get("rel", "").split():
                self.links.append(found["href"])
        elif tag in ("frame", "iframe") and found.get("src"):
            self.links.append(found["src"])
            if tag == "iframe":
                self.assets.add(("iframe", found["src"]))
        elif tag == "link" and found.get("href"):
            self._link(found)
        elif tag == "img" and found.get("src"):
            self.assets.add(("img", found["src"]))
        elif tag == "object" and found.get("data"):
            is_image = found.get("type", "").startswith("image/")
            self.assets.add(("img" if is_image else "other", found["data"]))
        elif tag == "script" and found.get("src"):
            self.assets.add(("js", found["src"]))
        elif tag == "meta" and found.get("http-equiv", "").lower() == "refresh":
            target = found.get("content", "").partition("=")[2]
            if target:
                self.links.append(target)
        elif tag in ("blockquote", "q", "ins", "del") and found.get("cite"):
            self.links.append(found["cite"])
        self._in_style = tag == "style"
        for reference in _IN_STYLE.findall(found.get("style", "")):
            self.assets.add(("img", reference))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.assets.update(("img", each) for each in _IN_STYLE.findall(data))

    def _link(self, found: dict[str, str]) -> None:
        words = set(found.get("rel", "").lower().split())
        is_open_search = "search" in words and "opensearch" in found.get("type", "")
        if "stylesheet" in words:
            self.assets.add(("css", found["href"]))
        elif words & _ICONS:
            self.assets.add(("img", found["href"]))
        elif words & _OTHERS or is_open_search:
            self.assets.add(("other", found["href"]))
        elif not words & _NEITHER:
            self.links.append(found["href"])


class Reference:
    """The pages that can be reached, those that are missing, and the assets of each."""

    def __init__(self, start: str, file_of: Callable[[str], Path | None]) -> None:
        self.pages: dict[str, set[tuple[str, str]]] = {}
        self.missing: set[str] = set()
        self._origin = start
        self._file_of = file_of
        self._walk(start)

    def _walk(self, start: str) -> None:
        seen, queue, bodies = {start}, deque([start]), set()
        while queue:
            url = queue.popleft()
            parts = urlsplit(url)
            file = self._file_of(parts.path + (f"?{parts.query}" if parts.query else ""))
            if file is None:
                self.missing.add(url)
                continue
            body = file.read_bytes()
            is_copy = hashlib.sha256(body).digest() in bodies
            bodies.add(hashlib.sha256(body).digest())
            self.pages[url] = set()
            if file.suffix != ".html":
                continue
            reading = Reading(body.decode("utf-8", "replace"))
            base = urljoin(url, reading.base)
            self.pages[url] = {
                (kind, joined(base, each))
                for kind, each in reading.assets
                if not each.startswith("data:")
            }
            for link in [] if is_copy else reading.links:
                target = joined(base, link)
                if target.startswith(self._origin) and target not in seen:
                    seen.add(target)
                    queue.append(target)


def joined(base: str, href: str) -> str:
    """Return a reference as an absolute URL without fragment."""
    url = urldefrag(urljoin(base, href.strip()))[0]
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]")
