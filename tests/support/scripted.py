"""A server that answers with the bytes it is told, whether they are HTTP or not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat


class Scripted:
    """A loopback server: `answers` are what it sends to one request after the other, the last one for ever.

    An answer is bytes, or yields them; it ends with the connection.
    """

    def __init__(self, *answers: bytes | Callable[[], Iterator[bytes]]) -> None:
        self.answers, self.asked = list(answers), list[str]()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.url = f"http://{self.address}"

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:  # it was closed
                return
            threading.Thread(target=self.answer, args=(client,), daemon=True).start()

    def answer(self, client: socket.socket) -> None:
        with client:
            self.asked.append(client.recv(2**16).decode("latin-1"))
            said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            try:
                for part in said() if callable(said) else (said,):
                    client.sendall(part)
            except OSError:  # nobody listens any more
                pass


@contextmanager
def scripted(*answers: bytes | Callable[[], Iterator[bytes]]) -> Iterator[Scripted]:
    """Yield a server that gives these answers."""
    server = Scripted(*answers)
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        yield server
    finally:
        server.socket.shutdown(socket.SHUT_RDWR)
        server.socket.close()


def http(body: bytes = b"evil", status: str = "200 OK", **headers: str) -> bytes:
    """Return an answer; `Content_Length="4"` is a header, and there are no others."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def endless(beginning: bytes, block: bytes) -> Callable[[], Iterator[bytes]]:
    """Return an answer that never ends."""

    def answer() -> Iterator[bytes]:
        yield beginning
        yield from repeat(block)

    return answer


def dripping(beginning: bytes, drop: bytes, seconds: float = 0.05) -> Callable[[], Iterator[bytes]]:
    """Return an answer that never ends and hardly ever says anything."""
    wait = threading.Event().wait

    def answer() -> Iterator[bytes]:
        yield beginning
        while not wait(seconds):
            yield drop

    return answer
