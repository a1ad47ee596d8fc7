"""Settings of the spider: how one URL is fetched."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace


class SpiderSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[spider]`: identity, deadlines, limits, TLS."""

    user_agent: Annotated[
        str, Meta(min_length=1, max_length=512, description="The User-Agent header.")
    ] = "gossamer/0.1 (+https://example.org/gossamer)"
    robots_agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-]+\Z",
            description="The product token looked for in robots.txt (RFC 9309, 2.2.1), robots meta "
            "elements and X-Robots-Tag.",
        ),
    ] = "gossamer"
    timeout_update_ms: Annotated[
        int,
        Meta(
            ge=10,
            le=3_600_000,
            description="After this many milliseconds, and again after each, an open fetch is "
            "reported WORKING.",
            extra={"source_name": "Timeout_Update"},
        ),
    ] = 30_000
    timeout_request_ms: Annotated[
        int,
        Meta(
            ge=10,
            le=3_600_000,
            description="The longest one fetch may take in all, in milliseconds.",
            extra={"source_name": "Timeout_Req"},
        ),
    ] = 30_000
    timeout_connect_ms: Annotated[
        int, Meta(ge=10, le=3_600_000, description="The longest TCP and TLS set-up may take.")
    ] = 10_000
    timeout_first_byte_ms: Annotated[
        int,
        Meta(
            ge=10,
            le=3_600_000,
            description="The longest wait from the request to the response header.",
        ),
    ] = 15_000
    min_bytes_per_second: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000,
            description="A transfer slower than this is ended as net.slow; 0 turns it off.",
        ),
    ] = 100
    min_rate_seconds: Annotated[
        float, Meta(ge=0.1, le=3_600, description="Over how many seconds the rate is measured.")
    ] = 10.0
    max_doc_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=4_294_967_295,
            description="The largest body that is kept, decoded; what is longer is cut and "
            "classed body.too_large. Of a sitemap at least [parse] max_sitemap_bytes.",
            extra={"source_name": "Max_Doc_Size"},
        ),
    ] = 10_485_760
    max_wire_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=4_294_967_295,
            description="The largest body that is read from the network; of a sitemap at least "
            "[parse] max_sitemap_bytes.",
        ),
    ] = 10_485_760
    max_ratio: Annotated[
        int,
        Meta(
            ge=2,
            le=1_000_000,
            description="A compressed body that grows more than this many times, past 1 MiB, is a "
            "bomb.",
        ),
    ] = 200
    max_header_bytes: Annotated[
        int, Meta(ge=1_024, le=1_048_576, description="All header lines of a response together.")
    ] = 262_144
    max_header_line_bytes: Annotated[
        int, Meta(ge=256, le=1_048_576, description="One header line.")
    ] = 65_536
    max_header_count: Annotated[
        int,
        Meta(
            ge=16, le=100_000, description="Header lines of one response, Set-Cookie not counted."
        ),
    ] = 1_000
    max_redirects: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="Length of the longest redirect chain that is followed.",
            extra={"source_name": "Max_Redirects"},
        ),
    ] = 10
    max_url_bytes: Annotated[
        int, Meta(ge=256, le=65_535, description="Redirect targets longer than this are redir.bad.")
    ] = 8_192
    headers: Annotated[
        dict[str, str],
        Meta(
            description="Further request headers, sent to every host of the crawl. Authorization "
            "and Cookie are left out of the requests that the archive keeps."
        ),
    ] = {}
    header_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts that get these headers, or servers such as "
            "https://example.org:8443; empty means every host of the crawl."
        ),
    ] = ()
    credentials: Annotated[
        dict[str, str],
        Meta(
            description='HTTP authentication: "user:password" for a domain and its subdomains, '
            'such as { "example.org" = "me:secret" }.'
        ),
    ] = {}
    proxy: Annotated[
        str,
        Meta(
            description="A proxy for all requests, such as http://proxy.example:3128; it resolves "
            "the names, so that the address policy sees only addresses written in URLs. Empty "
            "means none, whatever the environment says."
        ),
    ] = ""
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Proxies, such as 10.0.0.5:3128, that sites of the service may name "
            "although their own addresses are private. What is asked for through a proxy obeys the "
            "address policy all the same."
        ),
    ] = ()
    proxy_by_name: Annotated[
        bool,
        Meta(
            description="Ask proxies that sites name for http URLs by host name, for proxies that "
            "refuse tunnels to other ports than 443. They resolve the name again: use it only with "
            "proxies that have an address policy of their own."
        ),
    ] = False
    http2: Annotated[bool, Meta(description="Offer HTTP/2 by ALPN.")] = True
    verify_tls: Annotated[
        bool,
        Meta(description="Verify certificates; when off, each result is flagged tls_unverified."),
    ] = True
    ca_file: Annotated[
        str,
        Meta(description="A PEM file of further trusted authorities; empty means the system's."),
    ] = ""
    allowed_ports: Annotated[
        tuple[int, ...],
        Meta(
            description="Ports that may be used; empty means every port but the browsers' list of "
            "bad ports."
        ),
    ] = ()
    max_open: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="As a daemon: how many orders may be open or asked for (GET) at once, "
            "shared by the URL Servers that are connected.",
        ),
    ] = 1_000
    follow_in_place: Annotated[
        bool,
        Meta(
            description="As a daemon: follow redirects that stay on their host within the same "
            "order; when off, every redirect is only reported.",
        ),
    ] = True
    spool_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=1 << 50,
            description="As a daemon: results that the Store Server has not taken yet wait on disk "
            "up to this size; beyond it no order is asked for.",
        ),
    ] = 1_073_741_824
    grace_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=3_600,
            description="As a daemon, when told to stop: how long open fetches and results on "
            "their way may still take, at most timeout_request_ms.",
        ),
    ] = 10.0


def for_sitemaps(settings: SpiderSettings, max_bytes: int) -> SpiderSettings:
    """Return how sitemaps are fetched, which may be longer than pages."""
    return replace(
        settings,
        max_doc_bytes=max(settings.max_doc_bytes, max_bytes),
        max_wire_bytes=max(settings.max_wire_bytes, max_bytes),
    )
