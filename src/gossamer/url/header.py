"""References as they stand in header lines."""


def reference_in_header(value: str) -> str:
    """Return a header value as its sender meant it.

    Header values are read as Latin-1, which loses nothing. Servers that put raw UTF-8 into a
    Location or Refresh mean it as such, and browsers read it so.
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
