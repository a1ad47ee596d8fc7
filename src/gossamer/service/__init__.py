"""The crawling service: sites and URLs handed in over a port, crawled and processed for ever.

In: requests of clients and of administrators as JSON over ZMQ, and one ini file. Out: answers of
the operations, counters, and what the periodic processes do in a workspace. Never: fetches, parses
or stores anything itself, takes a lock, or shares state between its threads; a message is the only
thing that passes from one to another.

`daemon.py` starts everything, `nursery.py` looks after threads, `threaded.py` is what all threads
are, `transport.py` their sockets. `admin_interface.py`, `managers.py`, `batch_tasks.py` and
`client_interface.py` are the thread classes. `operations.py` is the seam to what does the work.
`exchange.py`, `calling.py` and `client.py` are the other end of the wire.
"""
