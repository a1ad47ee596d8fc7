"""The limits of a site (C16), and how nodes share them."""

from typing import Protocol

from gossamer.objects.error_mask import ErrorBit, mask_of


class Counted(Protocol):
    """Whatever has the counters of a site and their limits."""

    @property
    def errors(self) -> int: ...  # noqa: D102 - as in a Site

    @property
    def max_errors(self) -> int: ...  # noqa: D102

    @property
    def resources(self) -> int: ...  # noqa: D102

    @property
    def max_resources(self) -> int: ...  # noqa: D102


def is_exceeded(count: int, limit: int) -> bool:
    """Whether a counter went beyond its limit; a limit of 0 is none."""
    return limit > 0 and count > limit


def limit_mask(site: Counted, *, processing: bool = False) -> int:
    """Return the bits of the limits that a site exceeded; a site with any of them is suspended."""
    errors, resources = (
        (ErrorBit.PROCESSING_MAX_ERRORS, ErrorBit.PROCESSING_MAX_RESOURCES)
        if processing
        else (ErrorBit.SITE_MAX_ERRORS, ErrorBit.SITE_MAX_RESOURCES)
    )
    exceeded = []
    if is_exceeded(site.errors, site.max_errors):
        exceeded.append(errors)
    if is_exceeded(site.resources, site.max_resources):
        exceeded.append(resources)
    return mask_of(*exceeded)


def limit_of_node(limit: int, nodes: int) -> int:
    """Return the share of one of several nodes in a limit: rounded up, at least 1; 0 stays 0."""
    return -(-limit // max(nodes, 1)) if limit > 0 else 0
