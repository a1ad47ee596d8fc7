"""One scheme, host and port, and how far we are with its robots.txt."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.urlserver.host import Host, Order
    from gossamer.urlserver.robots import RobotsRules


class Authority:
    """Where rules are kept, and the errand that fetches them."""

    __slots__ = ("hops", "host", "name", "order", "repeats", "rules", "url")

    def __init__(self, name: str, host: "Host") -> None:
        self.name = name
        self.host = host
        self.rules: RobotsRules | None = None
        self.order: Order | None = None
        self.url = f"{name}/robots.txt"
        self.hops = 0
        self.repeats = 0

    def restart(self) -> None:
        """Begin at the authority's own robots.txt again."""
        self.url = f"{self.name}/robots.txt"
        self.hops = 0
        self.repeats = 0
