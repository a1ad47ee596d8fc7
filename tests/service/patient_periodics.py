"""A periodic process whose operation takes longer than it is waited for."""

from gossamer.errors import ServiceError
from gossamer.objects.enumerations import Operation
from gossamer.objects.site import SiteStatus
from gossamer.service.operations import Operations, Periodic, unanswered
from gossamer.service.settings import ServiceSettings


def open_periodics(settings: ServiceSettings, operations: Operations) -> list[Periodic]:
    """ASK begins an operation once, and notes at each run how many go on; so it wakes it up."""
    notes = settings.data_dir / "unanswered.txt"

    def ask(now: float) -> dict[str, float]:
        del now
        if not notes.exists():
            try:
                operations.execute(Operation.SITE_STATUS, SiteStatus(id="busy"))
            except ServiceError:
                # It goes on, and nobody waits for it.
                notes.touch()
        with notes.open("a") as file:
            file.write(str(unanswered(operations, Operation.SITE_STATUS)))
        (settings.data_dir / "wake").touch()
        return {}

    return [Periodic("ASK", settings.crawling.period_seconds, ask)]
