"""A local server in place of Kaggle."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Kaggle(ThreadingHTTPServer):
    """A server that speaks to kagglehub as Kaggle does, and answers every request with one status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.asked = 200, b"", []


class Handler(BaseHTTPRequestHandler):
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
