"""Settings of handlers: what is made of a page."""

from typing import Annotated

from msgspec import Meta, Struct


class HandlerSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[handlers]`: extensions."""

    use: Annotated[
        tuple[str, ...],
        Meta(
            description='Handlers of your own, as "package.module:function" or '
            '"path/to/file.py:function".'
        ),
    ] = ()
    follow_assets: Annotated[
        bool, Meta(description="Fetch images, style sheets and scripts too, not only pages.")
    ] = False
    follow_nofollow: Annotated[
        bool, Meta(description="Follow links that are marked rel=nofollow.")
    ] = False
