"""Settings: one frozen struct for each room, in a file of the room's name.

In: a TOML file, flags. Out: one `Settings` object, checked once and passed down. Never: a global, a
look-up by string. Front file: `load.py`.

Each field is `Annotated[type, Meta(description=..., ge=..., le=...)]`; help text, messages and the
reference page are made from it. `extra={"source_name": "Queue_Count"}` in the Meta is the name that
a source document gives the setting; both spellings are accepted.
"""
