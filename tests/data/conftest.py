import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server(ThreadingHTTPServer):
    """A loopback mirror that misbehaves as told: `faults[path]` holds one fault per request to come."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.asked: list[str] = []  # the path of each request
        self.url = f"http://127.0.0.1:{self.server_port}"


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
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
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


class Kaggle(ThreadingHTTPServer):
    """A server that speaks to kagglehub as Kaggle does, and answers every request with one status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), KaggleHandler)
        self.status, self.body, self.asked = 200, b"", []


class KaggleHandler(BaseHTTPRequestHandler):
    server: Kaggle

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    """A user without Kaggle credentials, with an own cache."""
    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_API_TOKEN", "KAGGLE_API_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def somebody(nobody, monkeypatch):
    monkeypatch.setenv("KAGGLE_USERNAME", "somebody")
    monkeypatch.setenv("KAGGLE_KEY", "a key")


@pytest.fixture
def kaggle(somebody, monkeypatch) -> Iterator[Kaggle]:
    from kagglesdk import kaggle_env

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Kaggle() as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setitem(kaggle_env._env_to_endpoint, kaggle_env.KaggleEnv.PROD, url)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
