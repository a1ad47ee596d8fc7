"""A daemon that several tests share."""

from collections.abc import Iterator

import pytest
from service_rig import Daemon


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[Daemon]:
    """Return a daemon with SQL_CUSTOM on, and small limits."""
    server = {"max_message_bytes": "100000", "max_json_depth": "20"}
    with Daemon(
        tmp_path_factory.mktemp("shared"), Server=server, SQL={"sql_custom": "1"}
    ) as daemon:
        yield daemon


@pytest.fixture(scope="module", params=["toy", "catalog"])
def sampled(request, tmp_path_factory) -> Iterator[Daemon]:
    """Return a daemon for the samples: over the toy, and over the catalog of a workspace."""
    real = {"operations": "gossamer.service.catalog_operations:open_operations", "periodics": ""}
    application = real if request.param == "catalog" else {}
    with Daemon(
        tmp_path_factory.mktemp("sampled"), Application=application, SQL={"sql_custom": "1"}
    ) as daemon:
        yield daemon
