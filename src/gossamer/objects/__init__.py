"""The objects of the crawling service: what clients ask, what they are answered, in typed records.

In: JSON of a request or of an answer, and the texts inside of it (criterions, filters, dates, site
properties). Out: msgspec Structs, parsed criterions, verdicts about URLs, merged answers, JSON.
Never: opens a file, a socket or a database, reads a clock, runs what a client wrote, or raises
anything but ObjectError over it.

`enumerations.py` has the numbers, `site.py`, `url.py`, `content.py`, `batch.py`, `extras.py` and
`answers.py` the records, `operations.py` which record belongs to which operation, `coding.py` the
way from JSON and back. `criterions.py` parses conditions (`tokens.py`, `grammar.py`) into the nodes
of `expressions.py`; `resolution.py` makes them definite, `evaluation.py` says what they mean, and
`columns.py` which columns there are. `filters.py`, `patterns.py`, `properties.py`, `headers.py`,
`normal.py`, `paths.py`, `limits.py` and `error_mask.py` are rules of crawling, `merge.py` those of
several data hosts. `normalizing.py`, `url_limits.py`, `first_fields.py`, `picking.py` and
`conditions.py` read properties about collecting. `describe.py` makes
docs/reference/service-objects.md.
"""
