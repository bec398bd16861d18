import pytest

from fedpriv.store import machine


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """A machine where nothing is set: no mirror, no credentials, no Slurm."""
    if engines := machine.engines():
        engines.why_not()  # found once a process, and the compiler is about to be out of sight
    names = ("FEDPRIV_MIRROR", "KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    home, programs = tmp_path / "home", tmp_path / "programs"
    (home / ".kaggle").mkdir(parents=True)
    programs.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.chdir(tmp_path)
