"""A compiled kernel that is torn: to load half a library is no error that could be caught."""

import subprocess
import sys
from pathlib import Path

import pytest
from fedpriv_engines import native

REPORT = "from fedpriv_engines import native; print(native.available('cnn5'))"


@pytest.fixture(scope="module")
def library():
    """The library of `cnn5` as the usual compiler makes it."""
    if not native.available("cnn5"):
        pytest.skip(native.why_not("cnn5"))
    return Path(native.library("cnn5")._name)


def test_a_torn_library_is_compiled_again_and_never_loaded(library, tmp_path, monkeypatch):
    content = library.read_bytes()
    kept = tmp_path / "fedpriv" / library.name
    kept.parent.mkdir()
    kept.write_bytes(content[: len(content) // 2])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", REPORT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    assert [path.read_bytes() for path in kept.parent.iterdir()] == [content]
