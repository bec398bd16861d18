import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server(ThreadingHTTPServer):
    """A loopback mirror that misbehaves as told: `faults[path]` holds one fault per request to come."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.asked: list[str] = []  # the path of each request
        self.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Nobody minds a client that hangs up."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        fault = (self.server.faults.get(self.path) or [""]).pop(0)
        body = self.server.files.get(self.path)
        if body is None or fault == "500":
            self.send_error(404 if body is None else 500)
            return
        self.send_response(200)
        if fault != "endless":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # until nobody listens
            while fault == "endless":
                self.wfile.write(body)
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
