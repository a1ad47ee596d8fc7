"""Where trusted certificate authorities are found on this machine."""

# What ssl is made from: the module itself takes 2 ms of each start, for one question.
import _ssl
import os
from pathlib import Path
from typing import IO, Final

from gossamer.config.spider import SpiderSettings
from gossamer.errors import ConfigError

# The path built into libcurl is that of the machine it was built on, so it is never relied upon.
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class Trust:
    """The authorities to verify against, as one PEM file: the system's, and the operator's own.

    One file by its path, because only then libcurl reads it once for all connections.
    """

    def __init__(self, settings: SpiderSettings) -> None:
        self.path = _system_bundle()
        self._merged: IO[bytes] | None = None
        if settings.ca_file:
            own = _read_own(settings.ca_file)
            import tempfile  # noqa: PLC0415 - few have authorities of their own

            system = Path(self.path).read_bytes() if self.path else b""
            self._merged = tempfile.NamedTemporaryFile(prefix="gossamer-")  # noqa: SIM115 - closed in close
            self._merged.write(own + b"\n" + system)
            self._merged.flush()
            self.path = self._merged.name

    def close(self) -> None:
        """Remove the merged file."""
        if self._merged is not None:
            self._merged.close()


def _system_bundle() -> str:
    # As ssl.get_default_verify_paths does: SSL_CERT_FILE, or where this OpenSSL looks by itself.
    variable, customary, *_ = _ssl.get_default_verify_paths()
    for name in (os.environ.get(variable), customary, *_BUNDLES):
        if name and Path(name).is_file():
            return name
    return ""


def _read_own(name: str) -> bytes:
    try:
        own = Path(name).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read ca_file = {name!r} in [spider]: {error.strerror}; "
            "give the path of a PEM file or leave it empty"
        ) from error
    if b"-----BEGIN CERTIFICATE-----" not in own:
        raise ConfigError(
            f"ca_file = {name!r} in [spider] holds no PEM certificate; "
            "give the path of a PEM file or leave it empty"
        )
    return own
