"""A Store Server as a process that can be killed: writes results down, then says SAVED.

python spider_store_process.py PORT FILE RESULTS

After so many results it reads no more. When all it has said has arrived, it prints "full" and waits
to be killed in the middle of the work.
"""

import fcntl
import signal
import socket
import struct
import sys
import termios
import time


def read(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = peer.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def main(port: int, path: str, results: int) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    print("ready", flush=True)
    peer, _ = listener.accept()
    peer.sendall(b"STORE gossamer 1\n")
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123
        for saved in range(1, results + 1):
            header = struct.unpack("!IBBBBIHHI", read(peer, 20))
            read(peer, sum(header[6:]))
            file.write(b"%d\n" % header[0])
            peer.sendall(b"SAVED %d\n" % saved)
    while any(fcntl.ioctl(peer, termios.TIOCOUTQ, bytes(4))):
        time.sleep(0.001)
    print("full", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
