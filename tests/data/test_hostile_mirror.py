"""A mirror that wants its answer written, or fetched, elsewhere."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fedpriv.cli import app
from fedpriv.data import source
from fedpriv.data.arrays import Dataset, RawFile
from fedpriv.progress import aside


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(self.server.status, self.server.reason)
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
        server.reason = "As it says"
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


def test_a_gzip_that_unpacks_without_end_is_refused_before_it_fills_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(source, "LARGEST", 10_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10_001)))
    with pytest.raises(ValueError, match="more than"):
        source.digest(path)
    path.write_bytes(gzip.compress(bytes(10_000)))
    assert source.digest(path)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_the_password_of_a_mirror_is_in_no_message(status, mirror, tmp_path, capsys):
    mirror.status, mirror.headers = status, {}
    url = f"http://somebody:hunter2@127.0.0.1:{mirror.server_port}"
    file = RawFile("toy", "0" * 64)
    toys = Dataset("toys", (file,), (), decode=lambda raw: None, licence="", citation="")
    with pytest.raises(source.SourceError) as refused:
        source.fetch(toys, file, tmp_path, [url], attempts=1)
    said = capsys.readouterr()
    for text in (str(refused.value), said.out, said.err):
        assert "127.0.0.1" in text or text is said.out
        assert "hunter2" not in text and "somebody" not in text


def test_what_a_server_says_is_seen_and_not_obeyed(mirror, tmp_path, capsys):
    mirror.status, mirror.headers, mirror.reason = 404, {}, "gone\x1b[2J\x9b31m\x07"
    with pytest.raises(source.SourceError) as failed:
        fetched(mirror, tmp_path / "raw")
    aside("\n".join(app.explain(failed.value)[0]))
    told, last = [line for line in capsys.readouterr().err.split("\n") if "gone" in line]
    assert "gone\\x1b[2J\\x9b31m\\x07" in told and "gone\\x1b[2J\\x9b31m\\x07" in last
