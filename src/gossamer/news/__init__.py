"""Subscriptions over days: feeds, stories, their downloads and their extraction.

In: feeds and sites that people name. Out: stories, each once, with text and facts.
Never: a fetch of its own, or a decision about politeness: it drives the ring, which does that.
"""
