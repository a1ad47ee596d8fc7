"""What clients are answered."""

from msgspec import field

from gossamer.objects.record import Record


class GeneralResponse(Record, frozen=True, kw_only=True):
    """How an operation went: one status for each object of the request."""

    error_code: int = 0
    error_message: str = ""
    statuses: list[object] = field(default_factory=list)


class URLHistoryResponse(Record, frozen=True, kw_only=True):
    """The history of URLs of one site."""

    site_id: str
    log_rows: list[object] = field(default_factory=list)


class URLStatsResponse(Record, frozen=True, kw_only=True):
    """The counters of URLs of one site."""

    site_id: str
    freq_rows: list[object] = field(default_factory=list)


class ClientResponseItem(Record, frozen=True, kw_only=True):
    """What one node answered; of merged answers, the words of all nodes joined by semicolons."""

    id: int | str = 0
    host: str = ""
    port: int | str = 0
    node: str = ""
    time: int | float | str = 0
    error_code: int | str = 0
    error_message: str = ""
    item_object: object = None


class ClientResponse(Record, frozen=True, kw_only=True):
    """The answer to every command."""

    error_code: int = 0
    error_message: str = ""
    items_list: list[ClientResponseItem] = field(default_factory=list)
