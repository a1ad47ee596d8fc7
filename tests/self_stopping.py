"""A crawl that sends itself a signal in its midst, however fast or slow the machine is."""

from pathlib import Path
from signal import Signals

_HANDLER = """
import os

def send(page):
    if page.url == {url!r}:
        {call}(os.getppid(), {number})
"""


def signal_at(
    folder: Path, url: str, number: Signals, *, whole_group: bool = False
) -> tuple[str, ...]:
    """Return the flags of a crawl whose coordinator gets a signal while a page is parsed.

    The page is not committed by then, so the crawl cannot be over: whoever looks at the log of the
    server and then sends a signal may come too late. `whole_group`: to the workers as well; the
    coordinator must then lead a session of its own.
    """
    handler = folder / "sending.py"
    call = "os.killpg" if whole_group else "os.kill"
    handler.write_text(_HANDLER.format(url=url, call=call, number=int(number)))
    # The parent of a worker is the coordinator; without workers it would be somebody else.
    return ("--workers", "1", "--set", f'handlers.use=["{handler}:send"]')
