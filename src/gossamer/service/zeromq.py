"""The one door to pyzmq: a clear message where it is not installed."""

from gossamer.errors import InputError

try:
    import zmq
    from zmq import auth
    from zmq.utils import z85
except ImportError as error:  # pragma: no cover - what is installed is not up to a test
    raise InputError(
        "the crawling service needs pyzmq, which is not installed; install it with: "
        "pip install 'gossamer[service]'"
    ) from error

__all__ = ["auth", "z85", "zmq"]
