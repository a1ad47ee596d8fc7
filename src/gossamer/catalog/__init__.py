"""What we know of each site, URL, host and document: the only durable truth.

In: URLs discovered, verdicts on visits, host clocks, robots records. Out: URLs that are due (leased
in the same transaction), counters, histories, rows for export. Never: a request to the web, a
decision about politeness, the bytes of a document, an answer that depends on anything but the
database and the time it is told.

`catalog.py` is the front: the records and the protocols. `sqlite.py` is the backend on one machine;
its half that only reads is `sqlite_reader.py`. `in_memory.py` is the one for crawls that keep
nothing: plain objects instead of rows, and the same answers.

Theory of operation. One process writes, or two daemons that take turns; any number of others may
read meanwhile. A URL is in exactly one state, and the counters of its host, the totals and the
outcome counts move in the transaction that moves the URL, so *discovered = done + pending + leased
+ excluded + failed* holds for every reader at every moment. A lease belongs to the run that gave
it: when the next run begins, it goes back to pending, unless its result is known to be on its way
(`handover.py`). A verdict counts only while its URL is leased; whatever comes later is refused and
reported.
"""
