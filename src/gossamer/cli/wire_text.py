"""Messages of the wire on standard output: for people, or as JSON Lines."""

import sys
from datetime import UTC, datetime

import msgspec

from gossamer.daemons.capture import Sender
from gossamer.daemons.wiretap import Told
from gossamer.wire.readable import Kind, Said, StreamReader
from gossamer.wording import safe_json, visible

_ARROWS = {"dialler": ">", "listener": "<"}


class Printer:
    """Prints what is told about links: time, link, direction, message."""

    def __init__(self, *, as_json: bool, kind: str | None) -> None:
        self._as_json = as_json
        self.kind = Kind(kind or Kind.AUTO)
        """What diallers send; listeners always speak in lines."""
        self._readers: dict[tuple[int, Sender], StreamReader] = {}

    def listening(self, here: str, target: str) -> None:
        """Say where the dialler is to call."""
        if self._as_json:
            self._print_json({"listening": here, "to": target})
        print(f"gossamer: listening on {here}, passing on to {target}", file=sys.stderr, flush=True)

    def tell(self, told: Told) -> None:
        """Print what happened on a link."""
        if told.event:
            if told.event == "closed":
                self._end_of_link(told)
            self._print_event(told)
            return
        reader = self._readers.get((told.link, told.sender))
        if reader is None:
            kind = self.kind if told.sender == "dialler" else Kind.LINES
            reader = self._readers[told.link, told.sender] = StreamReader(kind)
        for said in reader.feed(told.data):
            self.say(said, told.at, told.link, told.sender)

    def say(
        self,
        said: Said,
        at: float | None = None,
        link: int | None = None,
        sender: Sender = "dialler",
    ) -> None:
        """Print one message; without time and link if they are not known."""
        if self._as_json:
            where = {} if at is None else {"at": round(at, 6), "link": link, "from": sender}
            self._print_json({**where, "what": said.what, **said.parts})
        else:
            where_text = "" if at is None else f"{_clock_time(at)} {link} {_ARROWS[sender]} "
            print(where_text + visible(said.text), flush=True)

    def end(self) -> None:
        """Say which messages were not finished when everything ended."""
        for (link, sender), reader in self._readers.items():
            rest = reader.end()
            if rest is not None:
                print(
                    f"gossamer: link {link}, what the {sender} said, {rest.text}", file=sys.stderr
                )

    def _end_of_link(self, told: Told) -> None:
        for key in [key for key in self._readers if key[0] == told.link]:
            rest = self._readers.pop(key).end()
            if rest is not None:
                self.say(rest, told.at, told.link, key[1])

    def _print_event(self, told: Told) -> None:
        if self._as_json:
            event = {"at": round(told.at, 6), "link": told.link, "event": told.event}
            self._print_json(event | ({"reason": told.reason} if told.reason else {}))
        else:
            reason = f": {visible(told.reason)}" if told.reason else ""
            print(f"{_clock_time(told.at)} {told.link} = {told.event}{reason}", flush=True)

    def _print_json(self, value: dict[str, object]) -> None:
        print(safe_json(msgspec.json.encode(value)).decode(), flush=True)


def _clock_time(at: float) -> str:
    """Write a time of day as people around here would, to the millisecond."""
    moment = datetime.fromtimestamp(at, UTC).astimezone()
    return moment.strftime("%H:%M:%S.") + f"{moment.microsecond // 1000:03}"
