"""Papers from any folder, and from installed packages."""

import pytest
import yaml
from support.tiny_paper import tiny_paper
from support.workflow import PAPER, PRESET

from fedpriv.config.plan import load_preset, make_plan
from fedpriv.errors import BadInput
from fedpriv.paper import paper


@pytest.fixture
def elsewhere(tmp_path):
    """A folder of papers that no preset is beside."""
    folder = tmp_path / "elsewhere"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny/paper.yaml").write_text(yaml.safe_dump(PAPER))
    return folder


@pytest.fixture
def preset(tmp_path):
    """Return a function that writes a preset, which may name folders of papers."""

    def write(*folders):
        path = tmp_path / "test.yaml"
        path.write_text(yaml.safe_dump(PRESET | {"paper_folders": list(map(str, folders))}))
        return path

    return write


def test_an_installed_package_may_bring_a_paper(elsewhere, preset, monkeypatch):
    monkeypatch.setitem(paper.PAPERS, "tiny", elsewhere / "tiny")
    assert list(load_preset(preset()).runs["tiny"]) == ["plain", "private"]


def test_a_paper_in_two_places_is_refused_with_both(elsewhere, preset, tmp_path):
    (tmp_path / "papers").symlink_to(elsewhere)
    assert load_preset(preset(elsewhere, elsewhere))  # the same place by two names
    (tmp_path / "papers").unlink()
    (tmp_path / "papers/tiny").mkdir(parents=True)
    (tmp_path / "papers/tiny/paper.yaml").write_text(yaml.safe_dump(tiny_paper("tiny", {})))
    with pytest.raises(
        BadInput, match=f"papers: found tiny in {elsewhere} and in {tmp_path / 'papers'}, allowed"
    ):
        load_preset(preset(elsewhere))


def test_a_paper_that_is_nowhere_is_refused_with_those_that_are_there(elsewhere, tmp_path):
    asked = PRESET | {"papers": ["other"], "paper_folders": [str(elsewhere)]}
    with pytest.raises(BadInput, match=r"papers, in .*papers and installed packages: found other"):
        make_plan(asked, tmp_path / "papers")
