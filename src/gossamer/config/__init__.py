"""Settings: one frozen struct for each room, in a file of the room's name.

In: a TOML file, flags. Out: one `Settings` object, checked once and passed down. Never: a global, a look-up
by string. Each field is `Annotated[type, Meta(description=..., ge=..., le=...)]`; help text and reference
documentation are made from it. `extra={"source_name": "Queue_Count"}` in the Meta names the setting as a
source document writes it; the loader accepts both spellings.
"""
