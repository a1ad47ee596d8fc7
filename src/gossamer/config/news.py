"""Settings of news: feeds, stories, their downloads and their extraction."""

from typing import Annotated

from msgspec import Meta, Struct


class NewsSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[news]`: when feeds are polled, what is tried again, what is extracted."""

    first_delay_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000_000,
            description="A feed is polled this long after a new story was found in it; the delay "
            "doubles with each poll that finds none.",
        ),
    ] = 300.0
    max_delay_seconds: Annotated[
        float, Meta(ge=1, le=1_000_000_000, description="No feed is polled less often than this.")
    ] = 604_800.0
    per_site: Annotated[
        int,
        Meta(ge=1, le=10_000, description="How many downloads of one site are provided at once."),
    ] = 3
    throttle_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=3_600,
            description="How long a site rests between two provisions of downloads.",
        ),
    ] = 1.0
    throttle_by: Annotated[
        str,
        Meta(
            pattern=r"^(site|host)\Z",
            description="What is throttled: a site (registrable domain) or each host by itself.",
        ),
    ] = "site"
    max_retries: Annotated[
        int, Meta(ge=0, le=100, description="How often a download is tried again.")
    ] = 5
    retry_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=2_592_000,
            description="The wait before the first retry; before the n-th it is n times as long.",
        ),
    ] = 3_600.0
    retry_statuses: Annotated[
        tuple[int, ...],
        Meta(
            description="Answers after which a download is tried again, as after a time-out; "
            "408, 429, 502 and 504 are worth adding."
        ),
    ] = (503,)
    retry_after: Annotated[
        bool,
        Meta(description="Wait longer when the server asks for it (Retry-After); a day at most."),
    ] = True
    honour_ttl: Annotated[
        bool,
        Meta(
            description="Poll no more often than a feed itself recommends (ttl, updatePeriod); "
            "off, because many recommend more than they keep stories for."
        ),
    ] = False
    adaptive: Annotated[
        bool,
        Meta(
            description="Instead of the doubling delay, lengthen the interval of feeds in which "
            "most stories are known, and shorten that of others."
        ),
    ] = False
    adaptive_min_seconds: Annotated[
        float, Meta(ge=60, le=1_000_000_000, description="The shortest adaptive interval.")
    ] = 600.0
    adaptive_max_seconds: Annotated[
        float, Meta(ge=60, le=1_000_000_000, description="The longest adaptive interval.")
    ] = 86_400.0
    max_failures: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000,
            description="A feed is given up after this many failures in a row; a hard one "
            "(401, 403, robots.txt) counts 1, a soft one (404, time-out, 5xx) a half, a passing "
            "one (DNS, our disk) a quarter. After 410 it is given up at once.",
        ),
    ] = 30.0
    max_items: Annotated[
        int, Meta(ge=1, le=1_000_000, description="How many stories of one feed are looked at.")
    ] = 10_000
    max_redirects: Annotated[
        int, Meta(ge=0, le=100, description="How many redirects one download follows.")
    ] = 15
    keep_downloads: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="How many ended downloads of each feed, and tries of its URL, are kept to "
            "look at.",
        ),
    ] = 30
    content_types: Annotated[
        tuple[str, ...],
        Meta(
            description="What is kept of downloads: types that contain one of these words. Others "
            "are noted as `(unsupported content type)`."
        ),
    ] = ("text", "html", "xml", "rss", "atom", "json")
    stale_seconds: Annotated[
        int,
        Meta(
            ge=10,
            le=86_400,
            description="A download that a worker has not spoken of for this long is pending "
            "again.",
        ),
    ] = 300
    extractors: Annotated[
        int,
        Meta(
            ge=0,
            le=256,
            description="Processes that extract articles; 0: the engine extracts nothing, and "
            "`news extract` does it in its own process.",
        ),
    ] = 1
    extract_seconds: Annotated[
        float, Meta(ge=1, le=3_600, description="How long the extraction of one page may take.")
    ] = 20.0
    near_distance: Annotated[
        int,
        Meta(
            ge=0,
            le=3,
            description="Stories whose fingerprints differ in so many bits are one group.",
        ),
    ] = 3
    callback_url: Annotated[
        str,
        Meta(
            description="WebSub: the URL, as hubs reach it, of the listener below; empty: feeds "
            "are polled only."
        ),
    ] = ""
    callback_listen: Annotated[
        str, Meta(description="WebSub: address and port at which hubs are listened to.")
    ] = "127.0.0.1:8090"
    lease_seconds: Annotated[
        float,
        Meta(ge=60, le=1_000_000_000, description="WebSub: for how long a subscription is asked."),
    ] = 864_000.0
