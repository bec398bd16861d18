"""A mirror that wants its answer written, or fetched, elsewhere."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fedpriv.data import source
from fedpriv.data.dataset import Dataset, RawFile


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"evil")

    def log_message(self, *_: object) -> None:
        """Keep the test output quiet."""


@pytest.fixture
def mirror(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetched(mirror, folder, sha256=None):
    file = RawFile("toy", sha256)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    return source.fetch(toys, file, folder, [f"http://127.0.0.1:{mirror.server_port}"], attempts=1)


@pytest.mark.parametrize("name", ["../../evil", "/evil", "..\\evil"])
def test_the_name_that_a_server_gives_its_answer_is_not_used(name, mirror, tmp_path):
    mirror.status, mirror.headers = 200, {"Content-Disposition": f'attachment; filename="{name}"'}
    assert fetched(mirror, tmp_path / "a/b/raw") == tmp_path / "a/b/raw/toy"
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"a/b/raw/toy", "a/b/raw/toy.sha256"}


def test_a_server_cannot_lead_to_a_file_of_this_machine(mirror, tmp_path):
    (tmp_path / "secret").write_text("secret")
    mirror.status, mirror.headers = 302, {"Location": f"file://{tmp_path / 'secret'}"}
    with pytest.raises(source.SourceError, match=r"InvalidSchema"):
        fetched(mirror, tmp_path / "raw")
    assert list((tmp_path / "raw").iterdir()) == []


def test_a_wrong_answer_leaves_nothing_behind(mirror, tmp_path):
    mirror.status, mirror.headers = 200, {}
    with pytest.raises(source.SourceError, match=r"found sha256"):
        fetched(mirror, tmp_path / "raw", 64 * "0")
    assert list((tmp_path / "raw").iterdir()) == []
