"""What a release says of itself is one thing, and what an image is built from is there."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import fedpriv

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, ROOT / "packages/fedpriv-engines", ROOT / "packages/fedpriv-studies"]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/*/README.md"))]


def project(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_distribution_and_the_citation_have_one_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    versions = {project(folder)["version"] for folder in PROJECTS}
    assert versions == {fedpriv.__version__, cited["version"]}


def test_what_the_changelog_has_on_top_is_unreleased_or_the_version_with_its_day():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", heading) for heading in headings[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_an_address_that_is_not_ours_yet_or_installs_from_an_index_that_has_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert "OWNER" not in text and not re.search(r"pip install '?fedpriv", text)


def steps(recipe: str) -> tuple[set[str], list[str]]:
    """Return what a recipe copies into an image, and the words of its installation."""
    lines = (ROOT / recipe).read_text().replace("\\\n", " ").splitlines()
    copies = [line.split()[:-1] for line in lines if line.split()[-1:] and "/opt/fedpriv" in line.split()[-1]]
    (install,) = (line.partition("pip install ")[2].split() for line in lines if "pip install" in line)
    return {name for words in copies if "install" not in words for name in words} - {"COPY"}, install


def test_both_recipes_copy_and_install_the_same():
    assert steps("Dockerfile") == steps("apptainer.def")
    copied, install = steps("Dockerfile")
    assert {"src", "packages", "constraints.txt"} <= copied and '"/opt/fedpriv[all]"' in install
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_what_an_image_copies_is_enough_to_build_the_three_distributions(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    for name in steps("Dockerfile")[0]:
        here = ROOT / name
        there = tmp_path / name
        shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)
    for folder in PROJECTS:
        build = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "--target",
            "wheel",
            "--directory",
            str(tmp_path / "dist"),
        ]
        subprocess.run(build, cwd=tmp_path / folder.relative_to(ROOT), check=True, capture_output=True)
    for wheel in (wheels := sorted((tmp_path / "dist").glob("*.whl"))):
        (metadata,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA"))
        assert "Description-Content-Type: text/markdown" in zipfile.ZipFile(wheel).read(metadata).decode()
    assert len(wheels) == 3
