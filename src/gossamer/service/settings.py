"""Settings of the crawling service, one Struct for each section of its ini file.

The defaults of the periodic processes are those of the shipped configuration of the origin.
"""

from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

THREAD_CLASSES: Final = (
    "AdminInterfaceServer",
    "URLManager",
    "SitesManager",
    "BatchTasksManager",
    "ClientInterfaceService",
)
_DAY: Final = 86_400.0
Period = Annotated[
    float, Meta(ge=0.0, le=_DAY, description="Seconds from one run to the next; 0: never.")
]


class Section(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all sections have in common: every key has a default and a description."""


class ApplicationSettings(Section, frozen=True):
    """`[Application]`: the instance as a whole."""

    name: Annotated[
        str,
        Meta(
            max_length=64,
            description="Name of the instance in logs and answers; empty: the program's name. "
            "--name wins.",
        ),
    ] = ""
    data_dir: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=4096,
            description="The workspace that holds all data; relative to the folder of this file.",
        ),
    ] = "data"
    log_file: Annotated[
        str, Meta(max_length=4096, description="Where to log; empty: standard error.")
    ] = ""
    log_level: Annotated[
        str,
        Meta(
            pattern=r"^(debug|info|warning|error)\Z",
            description="Least level that is logged; each class can be set apart while it runs.",
        ),
    ] = "info"
    pid_file: Annotated[
        str, Meta(max_length=4096, description="Where to write the process id; empty: nowhere.")
    ] = ""
    statistics_file: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Counters are written there at the stop and read at the start; "
            "empty: service-statistics.json in data_dir.",
        ),
    ] = ""
    operations: Annotated[
        str,
        Meta(
            pattern=r"^[\w.]+:\w+\Z",
            description="What carries out operations, as module:function; the function is given "
            "the settings.",
        ),
    ] = "gossamer.service.catalog_operations:open_operations"
    periodics: Annotated[
        str,
        Meta(
            pattern=r"^([\w.]+:\w+(, *[\w.]+:\w+)*)?\Z",
            description="What makes the periodic processes, as module:function; several, separated "
            "by commas, run each in a thread of its own; empty: none run.",
        ),
    ] = "gossamer.service.periodics:open_crawling, gossamer.service.periodics:open_processing"
    batches: Annotated[
        str,
        Meta(
            pattern=r"^([\w.]+:\w+)?\Z",
            description="What carries out real-time batches, as module:function; empty: they are "
            "refused.",
        ),
    ] = "gossamer.service.realtime:open_batches"


class ServerSettings(Section, frozen=True):
    """`[Server]`: the two ports, and limits for those who connect."""

    host: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=255,
            description="Address to listen on. Other than loopback needs CURVE keys, or insecure.",
        ),
    ] = "127.0.0.1"
    admin_port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port for administration; 0: any that is free.")
    ] = 5503
    client_port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port for clients; 0: any that is free.")
    ] = 5504
    instantiate_sequence: Annotated[
        tuple[str, ...],
        Meta(
            description="Order in which the thread classes start; they stop in the reverse.",
            extra={"source_name": "instantiateSequence"},
        ),
    ] = THREAD_CLASSES
    insecure: Annotated[
        bool,
        Meta(description="Listen without keys where other machines can connect."),
    ] = False
    curve_secret_key_file: Annotated[
        str,
        Meta(
            max_length=4096,
            description="The server's own key (`gossamer service keys` makes one); empty: no "
            "encryption.",
        ),
    ] = ""
    curve_clients_dir: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Folder with the public keys (*.key) of those who may connect.",
        ),
    ] = ""
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=1 << 30,
            description="A longer request is refused; one of more than twice this closes the "
            "connection.",
        ),
    ] = 64 << 20
    max_json_depth: Annotated[
        int, Meta(ge=4, le=200, description="A request nested deeper is refused.")
    ] = 32
    max_pending_requests: Annotated[
        int, Meta(ge=1, le=100_000, description="Requests in work at a time; more are refused.")
    ] = 1_000
    max_pending_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=1 << 34,
            description="Bytes of requests in work at a time; more are refused.",
        ),
    ] = 256 << 20
    request_timeout_seconds: Annotated[
        float,
        Meta(
            ge=0.01,
            le=_DAY,
            description="A request that took longer is answered with the error code 1; it goes on "
            "behind.",
        ),
    ] = 85.0
    admin_timeout_seconds: Annotated[
        float,
        Meta(ge=0.01, le=3_600.0, description="How long a class may take to tell about itself."),
    ] = 5.0
    poll_timeout_ms: Annotated[
        int,
        Meta(ge=1, le=60_000, description="How long an idle thread waits before it looks around."),
    ] = 1_000
    start_timeout_seconds: Annotated[
        float, Meta(ge=0.1, le=3_600.0, description="How long one class may take to start.")
    ] = 60.0
    stop_timeout_seconds: Annotated[
        float, Meta(ge=0.1, le=3_600.0, description="How long one class may take to stop.")
    ] = 60.0


class StorageSettings(Section, frozen=True):
    """`[Storage]`: where contents are kept."""

    content_storage_type: Annotated[
        int,
        Meta(
            ge=0,
            le=2,
            description="Processed contents: 0 in a key-value file for each site, 1 in a table, "
            "2 in WARC files.",
        ),
    ] = 0
    keep_old_resources: Annotated[
        bool,
        Meta(
            description="Keep earlier versions of raw files beside the newest; an archive (type 2) "
            "keeps them in any case."
        ),
    ] = True


class FetchSettings(Section, frozen=True):
    """`[Fetch]`: what fetching may do."""

    allow_private: Annotated[
        bool, Meta(description="Lift the address policy: for crawls inside one's own network.")
    ] = False
    max_resource_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=4_294_967_295,
            description="The largest document that is fetched, also for sites whose "
            "maxResourceSize is larger, or 0; what is longer is a size error.",
        ),
    ] = 10_485_760
    headers_file: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Default request headers, for sites without HTTP_HEADERS; empty: none.",
        ),
    ] = ""
    cookie_file: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Default cookies, for sites without HTTP_COOKIE; empty: none.",
        ),
    ] = ""
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Proxies, such as 10.0.0.5:3128, that sites may use although their own "
            "addresses are private; separated by commas.",
        ),
    ] = ()
    proxy_by_name: Annotated[
        bool,
        Meta(
            description="Ask proxies of sites for http URLs by host name, not through a tunnel to "
            "the address that the policy has let pass.",
        ),
    ] = False


class SqlSettings(Section, frozen=True):
    """`[SQL]`: the operation SQL_CUSTOM."""

    sql_custom: Annotated[bool, Meta(description="Answer SQL_CUSTOM; it can only read.")] = False
    max_rows: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Rows that one statement may return.")
    ] = 10_000
    timeout_seconds: Annotated[
        float, Meta(ge=0.01, le=3_600.0, description="Time that one statement may take.")
    ] = 10.0


class CrawlingSettings(Section, frozen=True):
    """`[Crawling]`: regular crawling of new URLs."""

    period_seconds: Period = 20.0
    batch_size: Annotated[int, Meta(ge=1, le=100_000, description="URLs in a batch.")] = 5
    max_batches: Annotated[int, Meta(ge=1, le=1_000, description="Batches at a time.")] = 2
    batch_seconds: Annotated[
        float,
        Meta(ge=1.0, le=_DAY, description="Time after which a batch begins no further iteration."),
    ] = 300.0
    batch_kill_seconds: Annotated[
        float, Meta(ge=1.0, le=_DAY, description="Time after which a batch is ended.")
    ] = 360.0
    task_ttl_seconds: Annotated[
        float,
        Meta(ge=1.0, le=_DAY, description="Time that a batch may wait for its first request."),
    ] = 900.0
    max_iterations: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="Iterations of a batch: URLs that one finds are crawled in the next.",
        ),
    ] = 1
    check_period_seconds: Annotated[
        float, Meta(ge=0.0, le=_DAY, description="Seconds between looks at the queue of batches.")
    ] = 5.0


class ReturnSettings(Section, frozen=True):
    """`[Return]`: URLs that got stuck go back to NEW."""

    period_seconds: Period = 600.0
    max_urls: Annotated[int, Meta(ge=1, le=1_000_000, description="URLs in one run.")] = 500
    stuck_seconds: Annotated[
        float, Meta(ge=1.0, le=30 * _DAY, description="Time without a touch that means stuck.")
    ] = 3_600.0


class ProcessingSettings(Section, frozen=True):
    """`[Processing]`: processing of what was crawled."""

    period_seconds: Period = 20.0
    batch_size: Annotated[int, Meta(ge=1, le=100_000, description="URLs in a batch.")] = 5
    max_batches: Annotated[int, Meta(ge=1, le=1_000, description="Batches at a time.")] = 2
    processes: Annotated[
        int,
        Meta(
            ge=0,
            le=64,
            description="Processes that process batches side by side, each batch in one of its "
            "own; 0: one batch after the other, in the service itself.",
        ),
    ] = 0
    task_seconds: Annotated[
        float, Meta(ge=1.0, le=_DAY, description="Time after which such a process is ended.")
    ] = 360.0


class RecrawlSettings(Section, frozen=True):
    """`[Recrawl]`: sites whose date of re-crawl has passed."""

    period_seconds: Period = 60.0
    max_sites: Annotated[int, Meta(ge=1, le=10_000, description="Sites in one run.")] = 1
    max_threads: Annotated[int, Meta(ge=1, le=64, description="Sites at a time.")] = 2
    wait_seconds: Annotated[
        float, Meta(ge=0.0, le=3_600.0, description="Wait before and after URLs are set to NEW.")
    ] = 60.0
    tuning: Annotated[
        bool, Meta(description="Lengthen or shorten the period of a site by what was left to do.")
    ] = False
    tuning_step_minutes: Annotated[int, Meta(ge=1, le=10_080, description="By how much.")] = 15
    min_period_minutes: Annotated[
        int, Meta(ge=1, le=525_600, description="Shortest period that tuning makes.")
    ] = 15
    max_period_minutes: Annotated[
        int, Meta(ge=1, le=525_600, description="Longest period that tuning makes.")
    ] = 1_440


class IncrementalSettings(Section, frozen=True):
    """`[Incremental]`: URLs that have probably changed."""

    period_seconds: Period = 0.0
    max_urls: Annotated[int, Meta(ge=1, le=100_000, description="URLs in one run.")] = 5
    max_depth: Annotated[int, Meta(ge=0, le=100_000, description="Depth of the deepest.")] = 100


class AgingSettings(Section, frozen=True):
    """`[Aging]`: deletion of URLs that are too old."""

    period_seconds: Period = 120.0
    max_urls_per_site: Annotated[
        int, Meta(ge=1, le=1_000_000, description="URLs of one site in one run.")
    ] = 100
    max_urls: Annotated[
        int, Meta(ge=1, le=100_000_000, description="URLs of all sites in one run.")
    ] = 10_000
    max_tasks: Annotated[int, Meta(ge=1, le=64, description="Tasks that may go on unanswered.")] = 2
    recrawl_periods: Annotated[
        float, Meta(ge=0.1, le=1_000.0, description="Age that is too old, in periods of re-crawl.")
    ] = 2.0


class PurgeSettings(Section, frozen=True):
    """`[Purge]`: removal of the contents of deleted URLs."""

    period_seconds: Period = 120.0
    max_urls_per_site: Annotated[
        int, Meta(ge=1, le=1_000_000, description="URLs of one site in one run.")
    ] = 100
    max_tasks: Annotated[int, Meta(ge=1, le=64, description="Tasks that may go on unanswered.")] = 2


class RealTimeSettings(Section, frozen=True):
    """`[RealTime]`: batches that a client waits for."""

    max_urls: Annotated[int, Meta(ge=1, le=10_000, description="URLs in one batch.")] = 10
    threads: Annotated[int, Meta(ge=1, le=64, description="Batches at a time.")] = 6
    max_waiting: Annotated[
        int, Meta(ge=0, le=10_000, description="Batches that may wait for a free thread.")
    ] = 64
    max_seconds: Annotated[float, Meta(ge=1.0, le=_DAY, description="Time of one batch.")] = 360.0
    max_iterations: Annotated[int, Meta(ge=1, le=1_000, description="Iterations of one.")] = 10


class GuardSettings(Section, frozen=True):
    """`[Guard]`: tasks wait while the machine is busy."""

    max_io_wait_percent: Annotated[
        float, Meta(ge=0.0, le=100.0, description="Share of time that waits for disks.")
    ] = 30.0
    max_cpu_percent: Annotated[
        float, Meta(ge=0.0, le=100.0, description="Load of the processors.")
    ] = 60.0
    min_free_bytes: Annotated[
        int, Meta(ge=0, le=1 << 40, description="Memory that must be free.")
    ] = 32_000_000
    retry_seconds: Annotated[
        float, Meta(ge=0.1, le=3_600.0, description="Wait before the machine is looked at again.")
    ] = 30.0
    tries: Annotated[int, Meta(ge=0, le=10_000, description="Looks before a task gives up.")] = 20


class PeerSettings(Section, frozen=True):
    """`[Peers]`: several data hosts that crawl together; each URL is fetched by one of them."""

    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Client ports of all data hosts, this one as well, as HOST:PORT; the same "
            "on all of them. Empty: this host crawls alone.",
        ),
    ] = ()
    own_host: Annotated[
        str,
        Meta(
            max_length=300,
            description="Which of the hosts this one is.",
            extra={"source_name": "self"},
        ),
    ] = ""
    timeout_seconds: Annotated[
        float,
        Meta(
            ge=0.01,
            le=3_600.0,
            description="How long to wait for another host; one that is silent is passed over.",
        ),
    ] = 10.0
    curve_secret_key_file: Annotated[
        str,
        Meta(
            max_length=4096,
            description="This host's own key towards the others; empty: no encryption.",
        ),
    ] = ""
    curve_server_key_file: Annotated[
        str, Meta(max_length=4096, description="The public key of the others' ports.")
    ] = ""


class ClientSettings(Section, frozen=True):
    """`[Client]`: where dc-client and dc-admin find the service."""

    hosts: Annotated[
        tuple[str, ...],
        Meta(description="Client ports of all nodes, as HOST:PORT; the answers are merged."),
    ] = ("127.0.0.1:5504",)
    admin_host: Annotated[
        str, Meta(max_length=300, description="Port for administration, as HOST:PORT.")
    ] = "127.0.0.1:5503"
    timeout_seconds: Annotated[
        float, Meta(ge=0.01, le=_DAY, description="How long to wait for an answer.")
    ] = 90.0
    curve_secret_key_file: Annotated[
        str, Meta(max_length=4096, description="The client's own key; empty: no encryption.")
    ] = ""
    curve_server_key_file: Annotated[
        str, Meta(max_length=4096, description="The server's public key.")
    ] = ""


class ServiceSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All sections; the attribute names are theirs in lower case."""

    application: ApplicationSettings = ApplicationSettings()
    server: ServerSettings = ServerSettings()
    storage: StorageSettings = StorageSettings()
    fetch: FetchSettings = FetchSettings()
    sql: SqlSettings = SqlSettings()
    crawling: CrawlingSettings = CrawlingSettings()
    returning: ReturnSettings = ReturnSettings()
    processing: ProcessingSettings = ProcessingSettings()
    recrawl: RecrawlSettings = RecrawlSettings()
    incremental: IncrementalSettings = IncrementalSettings()
    aging: AgingSettings = AgingSettings()
    purge: PurgeSettings = PurgeSettings()
    realtime: RealTimeSettings = RealTimeSettings()
    guard: GuardSettings = GuardSettings()
    peers: PeerSettings = PeerSettings()
    client: ClientSettings = ClientSettings()

    folder: Path = Path()
    """Where the ini file is: names of files are relative to it."""

    def place(self, name: str) -> Path:
        """Return the full path of a file or folder that a setting names."""
        return self.folder / Path(name).expanduser()

    @property
    def raw_dir(self) -> Path:
        """Where raw contents are, unless they are in the archive."""
        return self.data_dir / "raw"

    @property
    def data_dir(self) -> Path:
        """The workspace."""
        return self.place(self.application.data_dir)
