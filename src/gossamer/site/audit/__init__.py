"""The audit of a site: rules over its map.

In: a site map. Out: findings, worst first, in an order that depends on the map alone.
Never: fetches, or changes the map.
"""
