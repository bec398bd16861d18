"""No line of ours runs what a file says, and no name leads out of a folder."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from fedpriv.cli import app
from fedpriv.config import plan
from fedpriv.data import DATASETS

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("workflow/**/*.py")])

# What turns bytes into code or objects, whatever its arguments. An exception of pickle's is only a name.
NEVER = re.compile(
    r"(pickle|cPickle|dill|cloudpickle|shelve|marshal|joblib)(\.(?!UnpicklingError$).*)?"
    r"|eval|exec|compile|builtins\.(eval|exec|compile)"
    r"|yaml\.(load|load_all|full_load|full_load_all|unsafe_load|unsafe_load_all)"
    r"|pandas\.(read_pickle|read_hdf)|torch\.(save|jit\.load|package\..*)"
    r"|os\.(system|popen)|subprocess\.(getoutput|getstatusoutput)|shutil\.unpack_archive"
    r"|.*\.(extractall|to_pickle|read_pickle)"
)
# Call -> the argument that makes it harmless, and the value that it must have.
ONLY_WITH = {
    "torch.load": ("weights_only", True),
    "torch.hub.load_state_dict_from_url": ("weights_only", True),
    "get_state_dict": ("weights_only", True),  # of torchvision's weights, by whatever name
}
ONLY_WITHOUT = ("allow_pickle", "shell")  # arguments that must be false, of whatever is called


def imported(tree: ast.AST) -> dict[str, str]:
    """Return what the names of a module stand for that its imports bring in."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def modules(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield everything that is imported, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{one.name}") for one in node.names)


def called(node: ast.expr, names: dict[str, str]) -> str:
    """Return the dotted name of what is called, its first word as it was imported; `.name` of a value."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{called(node.value, names)}.{node.attr}"
    return ""


def unsafe(source: str) -> list[str]:
    """Return every line of Python that loads code or objects, or that asks a shell."""
    tree = ast.parse(source)
    names = imported(tree)
    found = [f"{line}: import of {name}" for line, name in modules(tree) if NEVER.fullmatch(name)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node.func, names)
        given = {one.arg: getattr(one.value, "value", None) for one in node.keywords}
        if NEVER.fullmatch(name):
            found.append(f"{node.lineno}: {name}")
        for call, (argument, value) in ONLY_WITH.items():
            if (name == call or name.endswith(f".{call}")) and given.get(argument) is not value:
                found.append(f"{node.lineno}: {name} without {argument}={value}")
        found += [
            f"{node.lineno}: {name} with {one}" for one in ONLY_WITHOUT if given.get(one, False) is not False
        ]
        if name in ("numpy.load", "np.load") and len(node.args) > 2:
            found.append(f"{node.lineno}: {name} with allow_pickle")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_loads_objects_or_asks_a_shell(path):
    assert unsafe(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "import pickle",
        "import pickle as harmless",
        "from pickle import loads",
        "from pickle import UnpicklingError, Unpickler",
        "import joblib.numpy_pickle",
        "import torch\ntorch.load(path)",
        "import torch as t\nt.load(path, weights_only=False)",
        "from torch import load as read\nread(path)",
        "import torch\ntorch.hub.load_state_dict_from_url(url, check_hash=True)",
        "WEIGHTS.get_state_dict(check_hash=True)",
        "import torch\ntorch.save(state, path)",
        "import numpy as np\nnp.load(path, allow_pickle=True)",
        "import numpy as np\nnp.load(path, allow_pickle=wanted)",
        "import numpy\nnumpy.load(path, None, True)",
        "import numpy as np\nnp.save(path, rows, allow_pickle=True)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "from yaml import unsafe_load as parse\nparse(text)",
        "eval(text)",
        "exec(text)",
        "import builtins\nbuiltins.eval(text)",
        "import pandas as pd\npd.read_pickle(path)",
        "frame.to_pickle(path)",
        "import subprocess\nsubprocess.run(command, shell=True)",
        "import os\nos.system(command)",
        "import tarfile\ntarfile.open(path).extractall(folder)",
        "with zipfile.ZipFile(path) as archive:\n    archive.extractall()",
        "import shutil\nshutil.unpack_archive(path)",
    ],
)
def test_a_planted_line_is_found(planted):
    assert unsafe(planted)


@pytest.mark.parametrize(
    "harmless",
    [
        "# pickle.load(file), eval(text)",
        '"""torch.load is never called; yaml.load neither."""',
        "network.eval()",
        "import numpy as np\nnp.load(path)",
        "import numpy as np\nnp.load(path, allow_pickle=False)",
        "import torch\ntorch.load(path, weights_only=True)",
        "import yaml\nyaml.safe_load(text)",
        "import subprocess\nsubprocess.run([program, word])",
        "from pickle import UnpicklingError",
        "import re\nre.compile(text)",
    ],
)
def test_a_harmless_line_is_not(harmless):
    assert unsafe(harmless) == []


NAMES = ["../evil", "/evil", "a/b", "..", ".", "", "a\n", "a b", "A", "ä", "$(touch evil)", "a;b", "{b}"]
PRESET = {"preset": "tiny", "papers": ["tiny"]}
LINK = "https://example.org"
PAPER = {"paper": "tiny", "title": "", "authors": ["Nobody"], "year": 2026, "url": LINK, "runs": {}}


def refused(model, value):
    """Return the places of what a model refuses, and why."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        return {(*one["loc"], one["type"]) for one in error.errors()}
    return set()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_preset_or_paper_is_a_word(name):
    pattern = "string_pattern_mismatch"
    assert refused(plan.Preset, PRESET | {"preset": name}) == {("preset", pattern)}
    assert ("papers", 0, pattern) in refused(plan.Preset, PRESET | {"papers": [name]})
    assert refused(plan.Paper, PAPER | {"paper": name}) == {("paper", pattern)}
    for kind in ("runs", "tables", "figures"):
        assert (kind, name, "[key]", pattern) in refused(plan.Paper, PAPER | {kind: {name: {}}})


def test_words_are_taken():
    assert not refused(plan.Preset, PRESET)
    assert not refused(plan.Paper, PAPER)
    for kind in ("runs", "tables", "figures"):
        assert not any("[key]" in place for place in refused(plan.Paper, PAPER | {kind: {"a_b2": {}}}))


@pytest.mark.parametrize("words", [["fetch", "../evil"], ["fetch", "/evil"], ["fetch", "mnist/../../evil"]])
def test_a_dataset_by_a_path_is_bad_input(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app.main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", DATASETS)
def test_the_names_of_datasets_and_of_their_files_are_names_alone(name):
    files = [file.name for file in getattr(DATASETS[name], "files", ())]
    assert all(Path(one).name == one and one not in ("", ".", "..") for one in (name, *files))
