"""What we did wrong, as exceptions. What the web does to us is data: see outcomes.py.

Every class carries the exit code with which the command line ends when the error reaches it;
docs/reference/exit-codes.md is the table for people.
"""


class GossamerError(Exception):
    """The family of errors raised on purpose; the text is shown to the user as it is."""

    exit_code = 1


class InputError(GossamerError):
    """Something a person typed or passed in cannot be used: a URL, a pattern, an argument."""

    exit_code = 2


class ConfigError(InputError):
    """A setting has an unknown name or a value that is not allowed."""


class WorkspaceError(GossamerError):
    """The workspace cannot be used: missing, in use, of a newer version, not readable."""

    exit_code = 3


class StorageError(GossamerError):
    """The disk or the database refused to keep something; nothing acknowledged is lost."""

    exit_code = 4


class CatalogError(StorageError):
    """The catalog (database) refused."""


class StoreError(StorageError):
    """The store (archive files) refused."""


class DiskFullError(StorageError):
    """No space is left for the catalog or the store."""


class StoppedError(GossamerError):
    """The crawl stopped while work remains; running the same command again goes on."""

    exit_code = 5

    def __init__(self, message: str, exit_code: int = 5) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ServiceError(GossamerError):
    """The crawling service did not answer, or answered that it could not do what was asked."""


class ProtocolError(GossamerError):
    """A peer of ours (worker, daemon) sent something that cannot be understood."""

    exit_code = 6


class WireError(ProtocolError):
    """A line or a message on a link between two daemons does not have the documented form."""
