"""A Store Server as a process that can be killed: writes results down, then says SAVED.

python spider_store_process.py PORT FILE SECONDS_BETWEEN_RESULTS
"""

import socket
import struct
import sys
import time


def read(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = peer.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def main(port: int, path: str, pause: float) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    print("ready", flush=True)
    peer, _ = listener.accept()
    peer.sendall(b"STORE gossamer 1\n")
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123
        saved = 0
        while True:
            header = struct.unpack("!IBBBBIHHI", read(peer, 20))
            read(peer, sum(header[6:]))
            file.write(b"%d\n" % header[0])
            saved += 1
            peer.sendall(b"SAVED %d\n" % saved)
            time.sleep(pause)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
