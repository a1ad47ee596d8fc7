"""What a fake web looks like and how it behaves: all that the command line and `FakeWeb` take."""

from dataclasses import dataclass, field
from typing import Final

# What a crawler that follows RFC 9309 must conclude from each kind of robots.txt answer.
ROBOTS_VARIANTS: Final[dict[str, str]] = {
    "rules": "rules",
    "empty": "allow",
    "404": "allow",
    "410": "allow",
    "403": "allow",
    "401": "allow",
    "html": "allow",
    "huge": "rules",
    "redirects-5": "rules",
    "redirects-6": "disallow",
    "500": "disallow",
    "503": "disallow",
    "429": "disallow",
    "timeout": "disallow",
    "reset": "disallow",
    "short": "disallow",
    "disallow-all": "disallow",
}
EXTRAS: Final = (
    "redirects",
    "duplicates",
    "near_duplicates",
    "disallowed",
    "nofollow",
    "gone",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One fake web; equal options give equal webs, byte for byte, whatever the machine."""

    pages: int = 300
    """Ordinary pages over all hosts; the extras below come on top."""
    hosts: int = 5
    """How many hosts share the pages."""
    seed: int = 1
    """Changes every text and every random link."""
    names: bool = False
    """Hosts are names (h3.fake.test) answered by our own DNS server, not literal addresses."""
    addresses: int = 0
    """With names: how many addresses the hosts share; 0 means one for each host."""
    links_per_page: int = 20
    """Links of an ordinary page, those of the spanning tree included."""
    page_bytes: int = 4_000
    """About how many bytes an ordinary page has."""
    query_every: int = 10
    """One page in this many has a query string in its URL; 0 means none."""
    redirects: int = -1
    """Links that redirect; -1 (here and below) means one for each 50 pages."""
    duplicates: int = -1
    """Pages with the bytes of another page."""
    near_duplicates: int = -1
    """Pages that differ from another in one sentence."""
    disallowed: int = -1
    """Pages that robots.txt disallows; each hides one more page behind it."""
    nofollow: int = -1
    """Pages behind links that must not be followed (rel=nofollow or a robots meta element)."""
    gone: int = -1
    """Links to pages that answer 404 or 410."""
    sitemap_pages: int = 0
    """Pages found only through the Sitemap: line of robots.txt; 0 means no sitemap."""
    traps: bool = False
    """Home pages link into the endless traps under /~/trap/."""
    robots: dict[int, str] = field(default_factory=dict)
    """The robots.txt variant of single hosts, by number; -1 stands for all others."""
    crawl_delay: float = 0.0
    """The Crawl-delay in robots.txt; 0 means none."""
    latency_ms: float = 0.0
    """Time between a request and its answer."""
    jitter_ms: float = 0.0
    """Up to this much is added to the latency, at random."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        if not 1 <= self.hosts <= self.pages:
            raise ValueError(f"hosts={self.hosts} must be between 1 and pages={self.pages}")
        if self.addresses and not self.names:
            raise ValueError("addresses needs names=True: literal hosts are their own addresses")
        if not 0 <= self.addresses <= self.hosts:
            raise ValueError(f"addresses={self.addresses} must be between 0 and hosts={self.hosts}")
        for number, variant in self.robots.items():
            if variant not in ROBOTS_VARIANTS or not -1 <= number < self.hosts:
                allowed = ", ".join(ROBOTS_VARIANTS)
                raise ValueError(f"robots {number}={variant}: the variants are {allowed}")

    def count(self, extra: str) -> int:
        """Return how many of an extra there are, the default worked out."""
        given: int = getattr(self, extra)
        return self.pages // 50 if given < 0 else given

    def robots_of(self, host: int) -> str:
        """Return the robots.txt variant of a host."""
        return self.robots.get(host, self.robots.get(-1, "rules"))

    def verdict_of(self, host: int) -> str:
        """Return what follows from a host's robots.txt: rules, allow or disallow."""
        return ROBOTS_VARIANTS[self.robots_of(host)]
