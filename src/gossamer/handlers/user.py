"""Handlers of the user's own: found by name, run on each page, their results collected.

A handler is a function of one argument, a VisitedPage. It returns nothing, or an iterable of URLs
(text, relative ones allowed) to visit as well, and of records (mappings or anything msgspec can
write as JSON) to keep. A single URL or mapping counts as one of these, not as its letters or keys.
"""

import importlib
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isasyncgenfunction, iscoroutinefunction
from types import GeneratorType
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.handlers.visited import VisitedPage
from gossamer.messages import Fetch
from gossamer.parse.outline import Outline
from gossamer.url.canonical import Joiner
from gossamer.wording import shortened

UserHandler = Callable[[VisitedPage], Iterable[Any] | None]
Condition = Callable[[Fetch], bool]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK = "__gossamer_handler__"
_MAX_PROBLEM = 1_000
_SEVERAL = (tuple, list, GeneratorType)
# Under this name a script is run again in a worker: its `if __name__ == "__main__"` part stays
# quiet.
_SCRIPT_NAME = "__gossamer_worker__"


@runtime_checkable
class BriefHandler(Protocol):
    """A handler of ours that can do with the outline of an ordinary page."""

    def in_brief(self, fetch: Fetch, page: Outline, joiner: Joiner, /) -> str | None:
        """Return its one record of the page as JSON; None if it needs the page as a whole."""
        ...


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
    if function.__module__ == _SCRIPT_NAME:
        raise ConfigError(
            "the script is run once more in each worker, to find its handlers, and began a crawl "
            'there; put what begins it below `if __name__ == "__main__":`'
        )
    return f"{function.__module__}:{qualified}"


def load_handlers(
    names: Sequence[str], main_script: str = "", settings: Settings | None = None
) -> dict[str, UserHandler]:
    """Return the handlers named `package.module:function` or `path/file.py:function`.

    What is named may be a class: one is made, with the settings, and then called with each page.
    """
    return {name: _made(_load(name, main_script), settings) for name in names}


def load_condition(
    name: str, main_script: str = "", settings: Settings | None = None
) -> Condition | None:
    """Return the function of that name that says whether a fetch is archived; None if none is."""
    return _made(_load(name, main_script), settings) if name else None


def _made(function: Callable[..., Any], settings: Settings | None) -> Callable[..., Any]:
    """Return the function, or one of its kind if it is a class."""
    if not isinstance(function, type) or settings is None:
        return function
    made: Callable[..., Any] = function(settings)
    return made


def run_handlers(
    handlers: dict[str, UserHandler], page: VisitedPage
) -> tuple[list[str], list[str], str]:
    """Run the handlers on a page; return URLs, records as JSON, and a note on what failed."""
    urls: list[str] = []
    records: list[str] = []
    failures: list[str] = []
    for name, function in handlers.items():
        try:
            for item in _items(function(page)):
                if isinstance(item, str):
                    urls.append(item)
                else:
                    records.append(msgspec.json.encode(item).decode())
        # A fault in a user's code must cost neither the page nor the worker; it is shown with the
        # page.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            problem = f"handler {name}: {type(error).__name__}: {error}"
            failures.append(shortened(problem, _MAX_PROBLEM))
    return urls, records, "; ".join(failures)


def _items(result: Iterable[Any] | None) -> Iterable[Any]:
    # Whether something is a mapping takes long to find out; most results are none by their type.
    if isinstance(result, _SEVERAL):
        return result
    return (result,) if isinstance(result, str | Mapping) else result or ()


def _load(name: str, main_script: str) -> Callable[..., Any]:
    place, colon, attribute = name.rpartition(":")
    if not colon or not place or not attribute:
        raise ConfigError(
            f'handler "{name}": write it as "package.module:function" or "path/to/file.py:function"'
        )
    try:
        function = _find(place, attribute, main_script)
    except (ConfigError, ImportError, OSError) as error:
        raise ConfigError(f'cannot load handler "{name}": {error}') from error
    # Whatever a user's module does while it is loaded, it is no fault of ours.
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f'cannot load handler "{name}": {problem}') from error
    if function is None:
        raise ConfigError(
            f'cannot load handler "{name}": there is no {attribute} at the top level of {place}'
        )
    if not callable(function):
        raise ConfigError(f'handler "{name}" is not a function')
    if iscoroutinefunction(function) or isasyncgenfunction(function):
        raise ConfigError(f'handler "{name}" is asynchronous; write it as a plain function')
    loaded: Callable[..., Any] = function
    return loaded


def _find(place: str, attribute: str, main_script: str) -> Any:
    """Return what a script, a file or a module has under this name; None if there is nothing."""
    script = main_script if place == "__main__" else place if place.endswith(".py") else ""
    if script:
        return runpy.run_path(script, run_name=_SCRIPT_NAME).get(attribute)
    return getattr(importlib.import_module(place), attribute, None)
