"""References of properties to files of the service, such as `file:agents.txt`.

Only the name of a file in one folder of the daemon: whoever may write a property must not be able
to read other files of the machine.
"""

import re
from collections.abc import Callable
from typing import Final

from gossamer.objects.problems import ObjectError
from gossamer.wording import shortened

FILE_PREFIX: Final = "file:"
_NAME: Final = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}")

ReadFile = Callable[[str], str]
"""Returns the text of a file of the service by its name; empty if it cannot be read."""


def file_name(kind: str, text: str) -> str:
    """Return the name in a reference, with or without `file:`; raises an ObjectError for a path."""
    name = text.strip().removeprefix(FILE_PREFIX)
    if not _NAME.fullmatch(name):
        shown = shortened(name, 60)
        raise ObjectError(
            "Property", kind, f"the name of a file of the service is expected, not {shown!r}"
        )
    return name


def no_files(_: str) -> str:
    """Read nothing: for whoever has no folder of files."""
    return ""
