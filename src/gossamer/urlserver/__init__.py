"""What is fetched next, and when: queues per host, politeness, robots.txt, DNS.

In: `Due` URLs leased from the catalog, DONE and WORKING from spiders, answers about names and
robots.txt. Out: `Visit` orders that may go out now, what has to be resolved or fetched first, URLs
that end here, host clocks to remember. Never: fetches anything, stores anything, decides what
becomes of a fetched page. The engine (`urlserver.py`) knows no clock and no socket: every call is
told the time; only `dns.py` does I/O.
"""
