"""Handlers of the user's own: found by name, run on each page, their results collected.

A handler is a function of one argument, a VisitedPage. It returns nothing, or an iterable of URLs
(text, relative ones allowed) to visit as well, and of records (mappings or anything msgspec can
write as JSON) to keep.
"""

import importlib
import runpy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gossamer.errors import ConfigError
from gossamer.handlers.visited import VisitedPage

UserHandler = Callable[[VisitedPage], Iterable[Any] | None]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK = "__gossamer_handler__"
# Under this name a script is run again in a worker: its `if __name__ == "__main__"` part stays
# quiet.
_SCRIPT_NAME = "__gossamer_worker__"


def handler(function: _Function) -> _Function:
    """Mark a function as a handler, for `crawl(..., handlers=[function])`."""
    setattr(function, _MARK, True)
    return function


def is_handler(candidate: object) -> bool:
    """Whether the function was marked with `@handler`."""
    return bool(getattr(candidate, _MARK, False))


def name_of_handler(function: UserHandler) -> str:
    """Return the name under which a worker process can find the function."""
    if not is_handler(function):
        raise ConfigError(f"{function!r} is not a handler; mark it with @gossamer.handler")
    qualified: str = getattr(function, "__qualname__", "")
    if not qualified.isidentifier():
        raise ConfigError(
            f"handler {qualified or function!r} cannot be found by workers; "
            "define it at the top level of a module or script"
        )
    return f"{function.__module__}:{qualified}"


def load_handlers(names: Sequence[str], main_script: str = "") -> dict[str, UserHandler]:
    """Return the handlers named `package.module:function` or `path/file.py:function`."""
    return {name: _load(name, main_script) for name in names}


def run_handlers(
    handlers: dict[str, UserHandler], page: VisitedPage
) -> tuple[list[str], list[str], str]:
    """Run the handlers on a page; return URLs, records as JSON, and a note on what failed."""
    urls: list[str] = []
    records: list[str] = []
    failures: list[str] = []
    for name, function in handlers.items():
        try:
            for item in function(page) or ():
                if isinstance(item, str):
                    urls.append(item)
                else:
                    records.append(msgspec.json.encode(item).decode())
        # A fault in a user's code must cost neither the page nor the worker; it is shown with the
        # page.
        except Exception as error:  # noqa: BLE001
            failures.append(f"handler {name}: {type(error).__name__}: {error}")
    return urls, records, "; ".join(failures)


def _load(name: str, main_script: str) -> UserHandler:
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute:
        raise ConfigError(
            f'handler "{name}": write it as "package.module:function" or "path/to/file.py:function"'
        )
    try:
        if place == "__main__" and main_script:
            function = runpy.run_path(main_script, run_name=_SCRIPT_NAME)[attribute]
        elif place.endswith(".py"):
            function = runpy.run_path(str(Path(place)), run_name=_SCRIPT_NAME)[attribute]
        else:
            function = getattr(importlib.import_module(place), attribute)
    except (ImportError, OSError, KeyError, AttributeError, SyntaxError) as error:
        raise ConfigError(f'cannot load handler "{name}": {error}') from error
    if not callable(function):
        raise ConfigError(f'handler "{name}" is not a function')
    loaded: UserHandler = function
    return loaded
