"""The folder that holds all data of a service."""

from gossamer.crawl.workspace import Workspace
from gossamer.errors import StorageError
from gossamer.service.settings import ServiceSettings


def make_data_dir(settings: ServiceSettings) -> Workspace:
    """Make the folder of the settings if need be; StorageError if that cannot be."""
    workspace = Workspace(settings.data_dir)
    try:
        workspace.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the data directory {settings.data_dir}: {error.strerror}"
        ) from error
    return workspace
