"""One scheme, host and port, and how far we are with its robots.txt."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.messages import Due
    from gossamer.urlserver.host import Host, Order
    from gossamer.urlserver.robots import RobotsRules


def key_of(name: str, due: "Due") -> str:
    """Return under what the rules for a URL are kept: authority, and proxy and agent if any."""
    manner = due.manner
    if manner is None or not (manner.proxy or manner.agent):
        return name
    return f"{name} {manner.proxy} {manner.agent}"


class Authority:
    """Where rules are kept, and the errand that fetches them."""

    __slots__ = (
        "agent",
        "hops",
        "host",
        "key",
        "name",
        "order",
        "proxy",
        "repeats",
        "rules",
        "url",
    )

    def __init__(self, key: str, host: "Host") -> None:
        self.key = key
        # What was heard through a proxy may be the proxy's word: it counts for its requests only.
        self.name, self.proxy, self.agent = f"{key}  ".split(" ", 3)[:3]
        self.host = host
        self.rules: RobotsRules | None = None
        self.order: Order | None = None
        self.url = f"{self.name}/robots.txt"
        self.hops = 0
        self.repeats = 0

    def restart(self) -> None:
        """Begin at the authority's own robots.txt again."""
        self.url = f"{self.name}/robots.txt"
        self.hops = 0
        self.repeats = 0
