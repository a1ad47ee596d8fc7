"""A visit becomes a fetch.

In: `Visit` orders, each with the address to connect to. Out: one `Fetch` for each of them, which
carries exactly one outcome of `gossamer.outcomes`, whatever the server did. Never: queues,
schedules, resolves a name, follows a redirect, or writes anything to disk.

`spider.py` is the front. A visit runs through `transfer.py` (one libcurl handle), driven by
`loop.py` (libcurl's multi interface on an epoll of our own) and held to its deadlines by
`deadlines.py`. What the server says is taken in by `reception.py`, understood by `head.py` (where
nothing is odd, by `plain_head.py`) and `decode.py`, and judged by `classify.py` and `redirect.py`;
these and the deadlines are pure. Ordinary pages of a server that has proved ordinary go through
`lane.py`, beside all that. All that is kept from one visit to the next are connections and,
for one request, `cookies.py`.
"""
