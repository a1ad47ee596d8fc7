"""Where redirects end.

A page has at most one redirect, so a path of them ends on a page, leaves the map, or runs into one
circle. All ends are worked out in one pass: a path of 50,000 hops costs no more than as many short
ones.
"""

from gossamer.site.audit.case import MAX_WHERE


class Routes:
    """The redirects of a site, followed to their ends."""

    def __init__(self, redirects: dict[str, str]) -> None:
        self._next = redirects
        self.ends: dict[str, tuple[str, int]] = {}
        """For each redirect that ends: where, and after how many hops."""
        self.circles: dict[str, list[str]] = {}
        """For each redirect that leads back to itself: all URLs of its circle, in order."""
        self.lost: set[str] = set()
        """Redirects that lead into a circle of others."""
        for url in redirects:
            self._follow(url)

    def __contains__(self, url: str) -> bool:
        return url in self._next

    def path(self, url: str) -> list[str]:
        """Return the first hundred hops that follow on a URL."""
        path: list[str] = []
        while url in self._next and len(path) < MAX_WHERE:
            url = self._next[url]
            path.append(url)
        return path

    def _follow(self, url: str) -> None:
        passed: dict[str, None] = {}
        while url in self._next and not self._is_known(url) and url not in passed:
            passed[url] = None
            url = self._next[url]
        path = list(passed)
        if url in passed:
            start = path.index(url)
            circle = path[start:]
            self.circles.update(dict.fromkeys(circle, circle))
            self.lost.update(path[:start])
        elif url in self.circles or url in self.lost:
            self.lost.update(path)
        else:
            end, hops = self.ends.get(url, (url, 0))
            for back, before in enumerate(reversed(path), 1):
                self.ends[before] = (end, hops + back)

    def _is_known(self, url: str) -> bool:
        return url in self.ends or url in self.circles or url in self.lost
