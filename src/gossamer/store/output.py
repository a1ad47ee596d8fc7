"""Files that people name for output: whole or as they were, whatever ends the program.

What is written takes its name when it is complete and on the disk. A device or a pipe stays what it
is, a link stays a link, and a file stays as open or closed to others as it was.
"""

import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gossamer.errors import InputError
from gossamer.store.file_system import begin_to_write

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_BUFFER_BYTES: Final = 1 << 20


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when the block is left without an error."""
    if _is_special(path):
        with _opened(lambda: path.open("wb", buffering=_BUFFER_BYTES), path) as file:
            yield file
        return
    final = _final(path)
    temporary = _temporary(final)
    with _opened(lambda: io.BufferedWriter(_Begun(temporary, "x"), _BUFFER_BYTES), path) as file:
        try:
            if final.exists():
                temporary.chmod(stat.S_IMODE(final.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(final)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def require_writable(path: Path) -> None:
    """Complain if a file could not be written here; a device or a pipe is left alone."""
    if not _is_special(path):
        temporary = _temporary(_final(path))
        _opened(lambda: temporary.open("xb"), path).close()
        temporary.unlink()


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/stdout, that must stay what it is."""
    # Not with Path.exists, which fails for a name that is too long for the disk.
    return os.path.exists(path) and not path.is_file()  # noqa: PTH110


def _final(path: Path) -> Path:
    """Return the file itself, wherever a link to it is."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        # The folder in which we are has been removed.
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _temporary(final: Path) -> Path:
    return final.with_name(f".{final.name}.{os.getpid()}.part")


class _Begun(io.FileIO):
    """A file that goes to the disk while the rest of it is made, so that its sync is soon over."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, and have it brought to the disk."""
        written = super().write(data)
        begin_to_write(self.fileno(), self.tell() - written, written)
        return written


def _opened(open_file: Callable[[], BinaryIO], named: Path) -> BinaryIO:
    try:
        return open_file()
    except OSError as error:
        raise InputError(f"cannot write {named}: {error.strerror}") from error
