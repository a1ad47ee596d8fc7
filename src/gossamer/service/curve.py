"""CURVE: keys of server and clients, and the gate that lets in those whose keys are known."""

import os
import struct
from pathlib import Path
from typing import Final

from msgspec import Struct

from gossamer.errors import ConfigError, InputError
from gossamer.service.settings import ClientSettings, PeerSettings, ServiceSettings
from gossamer.service.transport import CurveKeys, Frames
from gossamer.service.zeromq import auth, z85, zmq

ZAP_ENDPOINT: Final = "inproc://zeromq.zap.01"
"""Where libzmq asks about everybody who knocks (ZeroMQ RFC 27)."""
_ZAP_FRAMES: Final = 9
_KEY_CHARACTERS: Final = 40
_MOST_CLIENTS: Final = 10_000


class ServerKeys(Struct, frozen=True):
    """The server's own pair, and the public keys of those who may come in."""

    own: CurveKeys
    clients: frozenset[bytes]


class ClientKeys(Struct, frozen=True):
    """The client's own pair, and the public key of the server it expects."""

    own: CurveKeys
    server: bytes


def load_server_keys(settings: ServiceSettings) -> ServerKeys | None:
    """Return the keys that the settings name; None if they name none."""
    server = settings.server
    if not server.curve_secret_key_file:
        return None
    folder = settings.place(server.curve_clients_dir)
    files = sorted(folder.glob("*.key"))[:_MOST_CLIENTS]
    if not files:
        raise ConfigError(
            f"[Server] curve_clients_dir = {folder} holds no key (*.key), so nobody could connect"
        )
    return ServerKeys(
        own=_load_pair(settings.place(server.curve_secret_key_file)),
        clients=frozenset(z85.decode(_load(path)[0]) for path in files),
    )


def load_client_keys(settings: ClientSettings | PeerSettings, folder: Path) -> ClientKeys | None:
    """Return the keys that the settings name; None if they name none."""
    if not settings.curve_secret_key_file:
        return None
    return client_keys(
        folder / Path(settings.curve_secret_key_file).expanduser(),
        folder / Path(settings.curve_server_key_file).expanduser(),
    )


def client_keys(secret_key_file: Path, server_key_file: Path) -> ClientKeys:
    """Return the keys of a client: its own pair, and the public one of the server."""
    return ClientKeys(own=_load_pair(secret_key_file), server=_load(server_key_file)[0])


def make_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a pair of keys in two files, of which one is secret; return both."""
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"{name!r} is not a name for keys; write one word such as server")
    public, secret = folder / f"{name}.key", folder / f"{name}.key_secret"
    for path in (public, secret):
        if path.exists():
            raise InputError(f"{path} is there already; choose another name or folder")
    before = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        auth.create_certificates(folder, name)
    except OSError as error:
        raise InputError(f"cannot write keys into {folder}: {error.strerror}") from error
    finally:
        os.umask(before)
    return public, secret


def answer_gate(frames: Frames, clients: frozenset[bytes]) -> tuple[Frames, bool]:
    """Return the answer to libzmq's question about somebody who knocks, and whether they may."""
    if len(frames) != _ZAP_FRAMES:
        return [*frames[:2], b"1.0", b"", b"500", b"not understood", b"", b""], False
    number, mechanism, key = frames[3], frames[7], frames[8]
    known = mechanism == b"CURVE" and key in clients
    status, text = (b"200", b"OK") if known else (b"400", b"unknown key")
    user = z85.encode(key) if known else b""
    return [*frames[:2], b"1.0", number, status, text, user, b""], known


def _load_pair(path: Path) -> CurveKeys:
    public, secret = _load(path)
    if secret is None:
        raise ConfigError(f"{path} holds no secret key; name the file that ends in .key_secret")
    return CurveKeys(public, secret)


def _load(path: Path) -> tuple[bytes, bytes | None]:
    if not zmq.has("curve"):
        raise ConfigError("this libzmq was built without CURVE; install another pyzmq")
    try:
        public, secret = auth.load_certificate(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot read the key {path}: {reason}") from error
    if not all(_is_key(key) for key in (public, secret) if key is not None):
        raise ConfigError(
            f"cannot read the key {path}: {_KEY_CHARACTERS} characters of Z85 are expected; "
            "`gossamer service keys` makes such"
        )
    return public, secret


def _is_key(text: bytes) -> bool:
    if len(text) != _KEY_CHARACTERS:
        return False
    try:
        z85.decode(text)
    except (KeyError, ValueError, struct.error):
        return False
    return True
