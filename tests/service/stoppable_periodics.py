"""A periodic process that would go on for ever, did it not look whether it is called away."""

import time

from gossamer.service.operations import Operations, Periodic, is_called_away
from gossamer.service.settings import ServiceSettings


def open_periodics(settings: ServiceSettings, operations: Operations) -> list[Periodic]:
    """WORK tells that it has begun, and comes to an end when it is called away."""

    def work(now: float) -> dict[str, float]:
        del now
        (settings.data_dir / "busy").touch()
        while not is_called_away(operations):
            time.sleep(0.01)
        return {}

    return [Periodic("WORK", settings.crawling.period_seconds, work)]
