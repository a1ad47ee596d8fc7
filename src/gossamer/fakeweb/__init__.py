"""A synthetic web with ground truth, whose request log judges crawlers.

In: options (pages, hosts, seed, faults) and HTTP requests on loopback. Out: deterministic pages,
the list of all URLs and what a right crawl does with each (`truth`), an append-only log of every
request (`log`), and verdicts on such logs (`judge`). It never leaves 127.0.0.0/8, never imports the
crawler, and never believes it.
"""

from gossamer.fakeweb.log import Log, Request
from gossamer.fakeweb.process import FakeWeb
from gossamer.fakeweb.truth import Truth

__all__ = ["FakeWeb", "Log", "Request", "Truth"]
