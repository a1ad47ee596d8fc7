"""How many files a process may have open, and how many fetches at once fit into that."""

import resource
from typing import Final

from gossamer.errors import InputError

# Archive, catalog, name servers, links to workers.
_BESIDE_CONNECTIONS: Final = 128


def files_needed(concurrency: int) -> int:
    """Return how many files a process needs for so many fetches at once.

    Two for each: as many connections as are in use may be kept for the next request.
    """
    return 2 * concurrency + _BESIDE_CONNECTIONS


def files_allowed() -> int | None:
    """Return how many files may be open; None: as many as one likes.

    The hard limit: a spider raises the other one to it by itself.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if limit in (-1, resource.RLIM_INFINITY) else limit


def fitting_concurrency(wanted: int) -> int:
    """Return how many fetches at once fit, at most those wanted; complain if none does."""
    allowed = files_allowed()
    if allowed is None or allowed >= files_needed(wanted):
        return wanted
    if allowed < files_needed(1):
        raise InputError(
            f"cannot fetch anything with {allowed} open files, the limit of this shell or machine: "
            f"at least {files_needed(1)} are needed, and {files_needed(wanted)} for "
            f"--concurrency {wanted}; raise it, with ulimit -n or in the limits of the service"
        )
    return (allowed - _BESIDE_CONNECTIONS) // 2


def shortage(wanted: int) -> str:
    """Say that fewer fetches at once are made than wanted; empty: all that are wanted."""
    fitting = fitting_concurrency(wanted)
    if fitting == wanted:
        return ""
    return (
        f"only {files_allowed()} open files are allowed: at most {fitting} fetches at once instead "
        f"of {wanted}; for all of them run first: ulimit -n {files_needed(wanted)}"
    )
