"""The wiring of the ring, from the catalog round to the catalog, and its processes.

In: a workspace folder, start URLs, settings. Out: a workspace with more in it, and a summary.
Never: a rule about politeness, a parser, an SQL statement; those have rooms of their own.
`pipeline.py` is the only file that knows all rooms.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    """The room, which can be called: `gossamer.crawl(...)` is its Python interface (`api.py`).

    The import system binds the room to that very name as soon as anything in it is imported.
    """

    def __call__(self, *urls: str, **options: Any) -> Any:
        from gossamer.crawl.api import crawl  # noqa: PLC0415 - the interface needs all rooms, a worker does not

        return crawl(*urls, **options)


sys.modules[__name__].__class__ = _CallableRoom
