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
    follow_links: Annotated[
        bool, Meta(description="Follow links; when off, redirects are followed only.")
    ] = True
    keep_if: Annotated[
        str,
        Meta(
            description="A function of your own that is given each fetch and says whether its "
            'bytes are archived, written like those of "use"; empty: all are.'
        ),
    ] = ""
