"""The store keeps what the web sent: bytes to disk, and back.

In: a Fetch. Out: a Pointer to it (file, offset, length), and for a pointer the stored document.
Never: fetches, understands what it keeps, names a file after anything from the web, or calls
something durable that is not.

`store.py` is the front: the promise and its types. `warc.py` keeps documents as WARC 1.1 files,
`memory.py` in memory. `records.py` and `heads.py` say how a fetch is written, `group.py` is a
shorter way for most of them; `members.py` and `reading.py` say how it is read again; `repair.py`
and `verify.py` look after the files, `cdxj.py` indexes them.

Contents of the crawling service have a promise of their own, `contents.py`: raw ones in files
(`raw_files.py`; `raw_versions.py` says how they are written and read, `raw_journal.py` keeps what
may not be on the disk yet) or in the archive, processed ones in SQLite (`key_value.py`), put
together in `content_storage.py`.
"""
