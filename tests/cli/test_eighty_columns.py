"""At 80 columns: what every command prints, and that no number, name or path is ever broken."""

import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from fedpriv.cli import app
from fedpriv.cli.table import Table, layout

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("eighty_columns.txt")  # as typed, and what is printed
SAID = {
    typed: shown for typed, _, shown in (one.partition("\n") for one in SNAPSHOT.read_text().split("$ ")[1:])
}
EXAMPLES = {
    name: (verb.epilog or "").splitlines()[-1].strip() for name, verb in get_command(app.app).commands.items()
}
HEAVY = {"torch", "pandas", "matplotlib", "pyarrow", "scipy"}
OF_REFERENCE = [
    "list papers --paper bdp2019",
    "list runs --paper bdp2019",
    "list tables",
    "show bdp2019",
    "show bdp2019 table2 100",
    "show bdp2019 table2 100 dp",
    "show bdp2019 audits",
    "show nbafl sweep",
    "show config/laptop.yaml bdp2019 iid_n100_dp",
    "compare bdp2019",
    "compare results/reference/runs/bdp2019/iid_n100_tight results/reference/runs/bdp2019/iid_n100_dp",
    "compare results/reference/laptop/bdp2019 results/reference/paper/bdp2019",
]


@pytest.fixture
def said(fedpriv, monkeypatch):
    """Return what prints a command typed in the project, as wide as a terminal."""
    monkeypatch.chdir(ROOT)

    def run(typed, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, err = fedpriv(*typed.split())
        assert (code, err) == (0, [])
        return [line.rstrip() for line in out]

    return run


@pytest.mark.parametrize("typed", SAID)
def test_the_output_is_as_it_was(typed, said):
    assert "\n".join(said(typed.removeprefix("fedpriv "), 80)).strip() == SAID[typed].strip()


@pytest.mark.parametrize("typed", OF_REFERENCE)
def test_nothing_is_broken_and_only_one_word_or_a_command_is_wider(typed, said):
    narrow, wide = said(typed, 80), said(typed, 2000)
    for line in narrow:
        assert len(line) <= 80 or len(line.split()) == 1 or line.startswith("    ") or ":" in line
    words, told = (set(" ".join(one).replace(",", " ").split()) for one in (narrow, wide))
    told = {word for word in told if set(word) != {"─"}}
    assert {word.rstrip(":") for word in told} <= {word.rstrip(":") for word in words}


def test_all_tables_of_an_answer_have_one_form():
    small, wide = Table("", [{"a": 1, "b": 2}]), Table("", [{str(number): "x" * 9 for number in range(9)}])
    assert "─" in "".join(layout([small], 50))
    assert "─" not in "".join(layout([small, wide], 50))
    assert [line[:1] for line in layout([small, wide], 200)].count("─") == 2


def test_wide_columns_are_wrapped_between_words_and_a_number_stays_with_its_interval():
    line = {
        "claim": "word " * 12 + "word",
        "numbers": "86.9 ± 1.3 (86)",
        "other": "longer words " * 4,
        "n": 7,
    }
    laid = [*layout([Table("", [line, line], once=False)], 44)]
    assert laid[1] == "─" * len(laid[1]) and max(map(len, laid)) <= 44
    assert any("86.9 ± 1.3 " in text for text in laid)


@pytest.mark.parametrize("typed", ["show bdp2019 table2", "show bdp2019 table2 100"])
def test_a_stored_table_is_a_table_at_fifty_columns_too(typed, said):
    lines = said(typed, 50)
    assert any(line.startswith("─") for line in lines)
    assert all(len(line) <= 50 or line.startswith("    ") for line in lines)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_help_of_a_verb_ends_in_an_example_that_can_be_typed(verb, said, tmp_path, monkeypatch):
    assert EXAMPLES[verb] in [line.strip() for line in said(f"{verb} --help", 80)]
    project = tmp_path / "project"  # as after `make laptop`
    (project / "results/laptop").mkdir(parents=True)
    for name in ("config", "examples", "results/reference"):
        (project / name).symlink_to(ROOT / name)
    monkeypatch.chdir(project)
    name, typed, *words = EXAMPLES[verb].split()
    assert (name, typed) == ("fedpriv", verb)
    get_command(app.app).commands[verb].make_context(verb, words)


def test_the_help_has_every_verb_in_a_group_and_on_one_line(said):
    shown = said("--help", 80)
    assert [line for line in shown if line in ("Reproduce:", "Account:", "Maintain:")]
    assert all(sum(line.startswith(f"  {verb} ") for line in shown) == 1 for verb in EXAMPLES)
    verbs = shown[shown.index("Reproduce:") : shown.index("  Examples:")]
    assert all(not line.startswith("      ") for line in verbs)


def test_without_a_word_and_as_a_verb_help_is_help(said, fedpriv):
    assert said("help", 80) == [line.rstrip() for line in fedpriv()[1]] == said("--help", 80)
    assert said("help show", 80) == said("show --help", 80)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_no_help_shows_a_type_of_python(verb, said):
    assert not re.search(
        r"<(int|float|str|list|path|dir|file|text)\b|\[\[", " ".join(said(f"help {verb}", 80))
    )


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("show bdp", "bdp2019"),
        ("show bdp2019 tab", "table2"),
        ("show laptop/nb", "laptop/nbafl"),
        ("show config/laptop.yaml bdp2019 iid_n100_t", "iid_n100_tight"),
        ("compare bdp2019 laptop/n", "laptop/nbafl"),
        ("run config/lap", "config/laptop.yaml"),
        ("run config/laptop.yaml --paper bdp2019 --run iid_n100_d", "iid_n100_dp"),
    ],
)
def test_a_shell_completes_names_without_anything_heavy(typed, offered, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    words = f"fedpriv {typed}"
    for name, value in {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("_FEDPRIV_COMPLETE", "complete_bash")
    heavy = HEAVY - set(sys.modules)
    with pytest.raises(SystemExit):
        app.app(prog_name="fedpriv")
    assert offered in capsys.readouterr().out.splitlines()
    assert not heavy & set(sys.modules)
