"""A disk that refuses: chosen calls to the system fail."""

import errno
import os
from collections.abc import Callable
from typing import Any

from gossamer.store.disk import System


class Faults:
    """Counts calls of one kind and makes chosen ones fail; `short`: half of a write is done."""

    def __init__(
        self,
        call: str,
        numbers: set[int],
        error: int = errno.EIO,
        *,
        short: bool = False,
    ) -> None:
        self.call, self.numbers, self.error, self.short = call, numbers, error, short
        self.count = 0

    def system(self) -> System:
        """Return the calls that a store makes."""
        return System(
            open=self._failing("open", os.open),
            write=self._failing("write", os.write),
            ftruncate=self._failing("ftruncate", os.ftruncate),
            fdatasync=self._failing("fdatasync", os.fdatasync),
            fsync=self._failing("fsync", os.fsync),
        )

    def _failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if name != self.call:
                return real(*arguments)
            self.count += 1
            if self.count in self.numbers:
                if self.short:
                    real(arguments[0], bytes(arguments[1][: len(arguments[1]) // 2]))
                raise OSError(self.error, os.strerror(self.error))
            return real(*arguments)

        return call
