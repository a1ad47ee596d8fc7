"""What Python cannot ask of a file system: one sync for everything, and an early start of it.

`syncfs` costs about as much as one fsync, however many files it makes durable. It is trusted with
kinds of file systems that keep its promise (bytes, names, and the cache of the disk), and from
Linux 5.8 on, where it tells of bytes that could not be written.
"""

import contextlib
import ctypes
import os
import re
import sys
from functools import cache
from typing import Final

_KINDS: Final = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # XFS
        0x9123683E,  # btrfs
        0xF2F52010,  # F2FS
    }
)
_TELLS_OF_ERRORS: Final = (5, 8)
_WRITE_NOW: Final = 2  # SYNC_FILE_RANGE_WRITE
_STATFS_BYTES: Final = 512
"""More than the record has on any machine; its first word is the kind."""


def syncs_whole(descriptor: int) -> bool:
    """Whether `syncfs` makes all durable that is on the file system of an open folder."""
    return _is_recent() and _kind(descriptor) in _KINDS


def syncfs(descriptor: int) -> None:
    """Make all durable that was written to the file system of an open folder.

    Also tells, by an OSError, of bytes written since the folder was opened that got lost.
    """
    _call("syncfs", descriptor)


def begin_to_write(descriptor: int, offset: int, length: int) -> None:
    """Let bytes of an open file go to the disk by now, where that can be asked for.

    Only a sync tells whether they got there; it has the less to wait for.
    """
    with contextlib.suppress(OSError, AttributeError):
        first, count = ctypes.c_int64(offset), ctypes.c_int64(length)
        _call("sync_file_range", descriptor, first, count, _WRITE_NOW)


def _is_recent() -> bool:
    if sys.platform != "linux":
        return False
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return release is not None and (int(release[1]), int(release[2])) >= _TELLS_OF_ERRORS


def _kind(descriptor: int) -> int:
    record = ctypes.create_string_buffer(_STATFS_BYTES)
    try:
        _call("fstatfs", descriptor, record)
    except (OSError, AttributeError):
        return 0
    return ctypes.c_ulong.from_buffer(record).value & 0xFFFF_FFFF


def _call(name: str, *arguments: object) -> None:
    if getattr(_library(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
