"""Settings of the URL server: what is fetched next, and when."""

from typing import Annotated

from msgspec import Meta, Struct


class UrlServerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[urlserver]`: queues, politeness, robots.txt, DNS; Spiders, when it is a daemon."""

    spider_host: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=255,
            description="As a daemon: the name or address at which the Spider listens, unless "
            "--spider names others.",
            extra={"source_name": "Spider_Host"},
        ),
    ] = "127.0.0.1"
    spider_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="As a daemon: the port at which the Spider listens; 0 means that --spider "
            "names the Spiders.",
            extra={"source_name": "Spider_Port"},
        ),
    ] = 0
    flow_mode: Annotated[
        str,
        Meta(
            pattern=r"^(auto|push|pull)\Z",
            description="As a daemon: whether orders wait for a Spider's GET (pull), never do "
            "(push), or do as soon as a Spider has sent one (auto: it is given flow_grace_ms for "
            "the first).",
            extra={"source_name": "Flow_Mode"},
        ),
    ] = "auto"
    delivery_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=31_536_000,
            description="As a daemon: how long the result of a finished order may take to arrive "
            "through the Store Server before the URL is ordered again.",
        ),
    ] = 3_600.0
    grace_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=3_600,
            description="As a daemon, when told to stop: how long orders that are out may still "
            "take before they are given back.",
        ),
    ] = 10.0
    queue_count: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="How many per-host queues are held in memory.",
            extra={"source_name": "Queue_Count"},
        ),
    ] = 2_000
    queue_len: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="How many URLs one per-host queue holds.",
            extra={"source_name": "Queue_Len"},
        ),
    ] = 200
    host_concurrent: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="How many requests may be open to one host at once.",
            extra={"source_name": "Req_Host_Concurrent"},
        ),
    ] = 2
    host_per_second: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000,
            description="How many requests a second may be started to one host, one a day at "
            "least; 0 means no limit.",
            extra={"source_name": "Req_Host_Per_Sec"},
        ),
    ] = 2.0
    address_concurrent: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="How many requests may be open to one IP address at once, over all hosts "
            "on it; 0 means twice host_concurrent.",
        ),
    ] = 0
    address_per_second: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000,
            description="How many requests a second may be started to one IP address, one a "
            "day at least; 0 means twice host_per_second (no limit if that has none).",
        ),
    ] = 0.0
    max_urls_per_address: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000,
            description="When more queued URLs than this share an IP address, its hosts are "
            "rejected in the next request to the catalog; 0 means queue_len.",
            extra={"source_name": "Max_Urls_Per_IP"},
        ),
    ] = 0
    timeout_spider_status_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=86_400,
            description="How long to wait for a WORKING or DONE before a fetch is taken for lost "
            "and tried again.",
            extra={"source_name": "Timeout_Spider_Status"},
        ),
    ] = 90
    max_retries: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="How often a URL whose fetch got lost (no status from the spider) is sent "
            "again.",
            extra={"source_name": "Max_Retries"},
        ),
    ] = 3
    max_tries: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000,
            description="How often a URL is tried at most when it fails; 0 means as often as the "
            "kind of failure suggests (docs/reference/outcomes.md).",
        ),
    ] = 0
    retry_soon_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=86_400,
            description="First wait after a passing fault (reset, short body); doubles.",
        ),
    ] = 1.0
    retry_back_off_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=86_400,
            description="First wait after an overload or time-out (429, 5xx); doubles.",
        ),
    ] = 5.0
    max_back_off_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=86_400,
            description="The longest a host is held back, whatever Crawl-delay or Retry-After say.",
        ),
    ] = 3_600.0
    robots_max_age_seconds: Annotated[
        int,
        Meta(
            ge=60,
            le=86_400,
            description="After this a robots.txt is fetched anew before the next page.",
        ),
    ] = 86_400
    robots_max_bytes: Annotated[
        int, Meta(ge=512_000, le=16_777_216, description="How much of a robots.txt is read.")
    ] = 524_288
    robots_forbidden_means_disallow: Annotated[
        bool, Meta(description="Treat 401 and 403 for robots.txt as disallow instead of allow.")
    ] = False
    robots_ignore: Annotated[
        dict[str, str],
        Meta(
            description="Hosts whose robots.txt is set aside, each with the reason, which is "
            'logged: {"intranet.example" = "our own site"}; "*.intranet.example": all below it.'
        ),
    ] = {}
    robots_retry_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=86_400,
            description="First wait before an unreachable robots.txt is asked for again; doubles.",
        ),
    ] = 60.0
    robots_unreachable_seconds: Annotated[
        float,
        Meta(
            ge=86_400,
            le=315_360_000,
            description="A robots.txt that could not be read for this long counts as given up "
            "(RFC 9309 suggests 30 days).",
        ),
    ] = 2_592_000.0
    robots_unreachable_means_allow: Annotated[
        bool,
        Meta(
            description="Treat a robots.txt that was given up as missing (everything allowed); "
            "when off, the last copy goes on to count, or everything stays forbidden."
        ),
    ] = False
    dns_servers: Annotated[
        tuple[str, ...],
        Meta(
            description="Name servers to ask (address or address:port); empty means the system's."
        ),
    ] = ()
    dns_timeout_seconds: Annotated[
        float, Meta(ge=0.1, le=120, description="How long one DNS question may take in all.")
    ] = 10.0
    dns_min_ttl_seconds: Annotated[
        float, Meta(ge=0, le=86_400, description="DNS answers are kept at least this long.")
    ] = 60.0
    dns_max_ttl_seconds: Annotated[
        float, Meta(ge=1, le=604_800, description="DNS answers are kept at most this long.")
    ] = 3_600.0
    dns_negative_ttl_seconds: Annotated[
        float, Meta(ge=0, le=86_400, description="How long a failed DNS question is remembered.")
    ] = 60.0
    ip_version: Annotated[
        str,
        Meta(
            pattern=r"^(any|4|6)\Z", description="Which addresses to use: any (IPv4 first), 4 or 6."
        ),
    ] = "any"
