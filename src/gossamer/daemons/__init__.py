"""The parts of the ring as processes of their own, on one machine or on several.

In: connections of peers, settings, a workspace. Out: orders and status lines (URL Server and
Spider), results (Spider and Store Server), findings in the catalog. Never: a rule about politeness,
storing or parsing that the ring does not have, or a listener that strangers can reach without a
secret unless somebody asked for just that.

`peers.py` has what all daemons share: endpoints, listeners, the shared secret, buffered sockets.
"""
