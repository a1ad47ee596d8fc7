"""The counters of the BatchTasksManager, under the names that administrators know."""

from collections.abc import Mapping
from typing import Final

_CRAWL: Final = (
    "total queue fault filled urls urls_fault url_fetch url_fetch_cancelled delete_fault fault_ttl "
    "check_fault urls_ret url_fetch_incr time_avg items_avg"
)
_PROCESS: Final = (
    "total queue fault filled urls urls_fault url_fetch url_fetch_cancelled delete_fault fault_ttl "
    "check_fault cancelled time_avg items_avg"
)
_PROPAGATION: Final = (
    "claims refused passed_over handed settled expired news news_fault news_lost news_queue"
)
_TASKS: Final = "canceled total error fault delete_fault check_fault"

NAMES: Final = (
    *(f"batches_crawl_{word}" for word in _CRAWL.split()),
    *(f"batches_process_{word}" for word in _PROCESS.split()),
    *(f"batches_realtime_{word}" for word in ["total", "queue", "fault", "refused"]),
    *(f"sites_recrawl_{word}" for word in ["cnt", "updated_cnt", "deleted_cnt", "drce_cnt"]),
    "recrawl_threads",
    "recrawl_sites_queue",
    *(f"purge_batches_{word}" for word in _TASKS.split()),
    *(f"age_batches_{word}" for word in _TASKS.split()),
    *(f"propagation_{word}" for word in _PROPAGATION.split()),
    "common_operations_cnt",
    "periodic_runs",
    "periodic_faults",
)
_GAUGES: Final = ("_queue", "_avg", "_threads")


def zeros() -> dict[str, float]:
    """Return all counters before anything happened."""
    return dict.fromkeys(NAMES, 0)


def is_gauge(name: str) -> bool:
    """Whether a counter says how things stand, and is not added up."""
    return name.endswith(_GAUGES)


def add(counters: dict[str, float], changes: Mapping[str, float]) -> None:
    """Enter what one run has to report: what stands, stands; all else is added."""
    for name, change in changes.items():
        counters[name] = change if is_gauge(name) else counters.get(name, 0) + change
