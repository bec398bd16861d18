"""The program `fedpriv`: single steps of the workflow, and the calculators.

Every verb calls one function of the package and prints what it returns. Imports are inside the verbs, so that
the calculators start without torch.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from fedpriv.cli import audit, calculators, compare, complete, export, look, plan, traces
from fedpriv.cli.options import (
    CONFIGS,
    REFERENCE,
    RESOURCES,
    AsJson,
    Configs,
    Reference,
    Resources,
    nested,
    preset_file,
    print_result,
    statement_as_dict,
    take_only,
)
from fedpriv.cli.plan import Preset
from fedpriv.cli.table import Table, statement_table
from fedpriv.errors import BadInput, Stopped, is_full, match_name, plain, short_repr
from fedpriv.progress import print_stderr

Verbs = Mapping[str, tuple[Callable[..., None], str]]  # a function and an example by name


class Grouped(TyperGroup):
    """A program whose help lists its verbs by their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, verb in self.commands.items():
            summary = (verb.help or "").partition("\n\n")[0].replace("\n", " ").removesuffix(".")
            groups.setdefault(str(getattr(verb, "rich_help_panel", "")), []).append((name, summary))
        for group, lines in groups.items():
            with formatter.section(group):
                formatter.write_dl(lines)


class Verb(TyperCommand):
    """A verb whose help names a value by what it is, not by its type in Python."""

    def get_params(self, ctx: Any) -> Any:
        params: Any = super().get_params(ctx)
        for param in params:
            kind = param.type_descriptor
            if param.param_type_name == "argument":
                param.display_type = lambda ctx: ""
            elif not (param.metavar or kind.is_choice or getattr(param, "is_flag", False)):
                param.metavar = kind_of_value(kind) or param.name.upper()
        return params


def kind_of_value(kind: Any) -> str:
    """Return what a value is by its type; empty where only its name says it."""
    if kind.is_path:
        return "FOLDER" if kind.path_type == "dir" else "FILE"
    return "NUMBER" if kind.annotation in (int, float) else ""


def add_verbs(app: typer.Typer, groups: Mapping[str, Verbs]) -> None:
    """Add the verbs to a program, in order; the help of each ends in its example."""
    for group, verbs in groups.items():
        for name, (verb, example) in verbs.items():
            app.command(name, cls=Verb, rich_help_panel=group, epilog=f"\b\nExample:\n    {example}")(verb)


EXAMPLES = """\b
Examples:
    fedpriv show bdp2019 table2       # a table, published beside reproduced
    fedpriv compare bdp2019           # which published numbers and claims hold
    fedpriv help epsilon              # what a verb takes, with an example
"""
app = typer.Typer(cls=Grouped, pretty_exceptions_enable=False, rich_markup_mode=None, epilog=EXAMPLES)


def version(flag: bool) -> None:
    """Print which fedpriv this is, with its revision, and whose runs it takes for its own."""
    if flag:
        from fedpriv.frozen import RESULTS_VERSION
        from fedpriv.store.machine import code

        print_result({}, [f"fedpriv {code()} (results version {RESULTS_VERSION})"], as_json=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=version, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Experiments on private federated learning.

    Snakemake builds whole papers; this program serves single steps. Exit codes: 0 done, 1 failed, 2 bad
    input, 128 + n stopped by signal n.
    """


INTERRUPTED = 130
# What an interrupted verb does with what it had done before.
AGAIN = {"run": "goes on from the last saved round", "fetch": "goes on with what it has not fetched yet"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; each thing that goes wrong is one line on stderr."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    words = words_meant(argv)
    try:
        check_words(words)
        code = app(words, prog_name="fedpriv", standalone_mode=False)
    except Stopped as stopped:
        code = stopped.code
        print_stderr(f"fedpriv: {stopped}")
    except Exception as error:
        if "--debug" in argv:
            raise
        messages, code = explain(error, words[0])
        print_stderr(*(f"fedpriv: {message}" for message in messages))
    if code == INTERRUPTED:  # as typer says of Ctrl-C
        again = AGAIN.get(words[0], "starts anew")
        print_stderr(f"fedpriv {words[0]}: interrupted; the same command {again}")
    return code or 0


def words_meant(argv: Sequence[str]) -> list[str]:
    """Return a command line without --debug; `help VERB` is `VERB --help`, and so is no word at all."""
    words = [word for word in argv if word != "--debug"] or ["--help"]
    return [*words[1:2], "--help"] if words[0] == "help" else words


def check_words(words: Sequence[str]) -> None:
    """Raise BadInput for a word that says nothing: an empty path would be the current folder."""
    for before, word in pairwise(("the command line", *words)):
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            name = word.rstrip("=") if word.strip() else before
            raise BadInput(f"{name} is followed by nothing. Give it a value.")


def explain(error: Exception, verb: str = "") -> tuple[list[str], int]:
    """Return the messages and the exit code of what ended a verb."""
    if isinstance(error, BadInput):
        return str(error).splitlines(), 2
    if isinstance(error, ModuleNotFoundError):  # what comes without extras counts and plans alone
        extra = "train" if verb in ("fetch", "run") else "report"
        return [f"{verb} needs the package {error.name}: pip install '.[{extra}]' in a clone"], 1
    if isinstance(error, typer.TyperException):
        see = "fedpriv help" + f" {verb}" * any(verb in group for group in VERBS.values())
        return [f"{usage_fault(error)} See: {see}"], error.exit_code
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return [f"{plain(error.filename)}: found a name that is too long here, allowed: 255 bytes"], 2
    if is_full(error):
        return [f"{error}: make room; the same command {AGAIN.get(verb, 'starts anew')}"], 1
    return [f"{type(error).__name__}: {error} (--debug for the traceback)"], 1


def usage_fault(error: typer.TyperException) -> str:
    """Return the sentence on what is wrong with a command line."""
    from pydantic import ValidationError

    message = error.format_message().rstrip(".")
    # Where another kind of value is allowed typer's own message leaves the value out.
    if isinstance(cause := error.__cause__, ValidationError):
        message += f"; found {short_repr(cause.errors()[0]['input'])}"
    return message if message.endswith("?") else f"{message}."


def fetch(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET", help="As listed.", autocompletion=complete.datasets)
    ],
    mirror: Annotated[list[str] | None, typer.Option(help="Folder or URL to try first; repeatable.")] = None,
    resources: Resources = RESOURCES,
    as_json: AsJson = False,
) -> None:
    """Download datasets and check their hashes.

    Of photographs every one is found and looked at.
    """
    from fedpriv import data

    datasets = [match_name("dataset", name, sorted(data.DATASETS)) for name in datasets]
    mirrors = [*(mirror or ()), *data.source.mirrors()]
    files = {name: list(map(str, data.fetch_dataset(name, resources, mirrors))) for name in datasets}
    text = [f"{name}: {data.describe_files(name, paths)}" for name, paths in files.items()]
    print_result(files, text, as_json)


def run(
    config: Preset,
    paper: Annotated[str, typer.Option(help="A paper of the preset.", autocompletion=complete.papers)],
    run: Annotated[str, typer.Option(help="A run of the paper.", autocompletion=complete.runs)],
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="The run directory; by default results/runs/PAPER/RUN/seedN."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A key of the run, as `fedpriv show` has it; repeatable."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random in it.")] = 0,
    resources: Resources = RESOURCES,
    device: Annotated[Literal["auto", "cpu", "cuda"] | None, typer.Option()] = None,
    threads: Annotated[
        int | None, typer.Option(min=0, help="Worker threads on a CPU; 0: one a core.")
    ] = None,
    dtype: Annotated[
        Literal["float32", "tf32", "bfloat16"] | None, typer.Option(help="Of the arithmetic.")
    ] = None,
    reference: Reference = REFERENCE,
    again: Annotated[bool, typer.Option("--again", help="Train it even where it is stored.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train one run of a preset, unless it is stored.

    A killed run goes on where it was. What is --set is checked as any config; the run keeps its name and
    its streams of randomness, so that it can be compared by seed, and has an identity and folder of its own.
    """
    from fedpriv.cli.run import default_folder, last_metrics, spent_texts, statements_of, train_run

    settings = settings or []
    out = out or default_folder(paper, run, settings, seed)
    faster = {"device": device, "threads": threads, "dtype": dtype}
    there = None if again else reference
    done = train_run(config, paper, run, seed, out, resources, faster, there, nested(settings))
    from fedpriv.store.rundir import RunDir

    summary = RunDir(out).summary
    diverged = summary["diverged"] is not None
    end = "diverged" if diverged else last_metrics(RunDir(out))
    rounds = f"{summary['rounds']} round{'' if summary['rounds'] == 1 else 's'}"
    statements = statements_of(out, summary)
    stated, cost = spent_texts(out, statements)
    facts = summary | {"statements": statements and [*map(statement_as_dict, statements)]}
    print_result(facts, [*stated, f"{out}: {done}, {end} after {rounds}{cost}"], as_json)
    if diverged:
        print_stderr(f"{out}: diverged in round {summary['rounds']}: weights or losses are no finite numbers")


def account(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A run directory, a stored run, or a plain trace, TRACE.csv; several on the same data: "
            "what they cost together.",
        ),
    ],
    delta: Annotated[
        float | None,
        typer.Option(help="δ of clients; the run's own if not given. Of a trace, of every unit."),
    ] = None,
    instance_delta: Annotated[
        float | None, typer.Option(help="δ of examples; the run's own if not given.")
    ] = None,
    ignore: traces.Ignored = None,
    configs: Configs = CONFIGS,
    as_json: AsJson = False,
) -> None:
    """Count the ε of a finished run or a trace, by every accountant.

    The ledger of a run directory is written. Its preset says at which δ, or its summary; what neither says
    has to be given. Of several runs nothing is written, and the same clients must be in each.
    """
    if all(map(traces.is_trace, paths)):
        epsilons = traces.spent(paths, traces.deltas(paths[0], delta, instance_delta), ignore or ())
    else:
        take_only("account RUN", ["--ignore"] * bool(ignore), ["--delta", "--instance-delta"])
        for path in paths:
            traces.require_run(path)
        from fedpriv.cli.account import account_run, account_together
        from fedpriv.store.rundir import run_directory

        if len(paths) > 1:
            epsilons = account_together(paths, delta, instance_delta, configs)
        else:
            with run_directory(paths[0]) as there:
                epsilons = account_run(there, delta, instance_delta, configs)
    notes = [TOGETHER.format(count=len(paths))] if len(paths) > 1 else []
    facts = {"statements": list(map(statement_as_dict, epsilons))}
    print_result(facts, statement_table(epsilons, notes=notes), as_json)


TOGETHER = (
    "All {count} together, after the last round of each: who has seen all of them has seen this much. It "
    "holds for the same data and clients in each, whatever of one was used to choose the next."
)


def doctor(
    resources: Resources = RESOURCES,
    time: Annotated[
        Path | None,
        typer.Option(
            metavar="CONFIG",
            help="A preset: how long it trains, by stored runs.",
            callback=lambda path: path and preset_file(path),
            autocompletion=complete.presets,
        ),
    ] = None,
    reference: Reference = REFERENCE,
    as_json: AsJson = False,
) -> None:
    """Look at this machine: what works, and what to do about the rest.

    Exit code 1 if nothing can work.
    """
    from fedpriv.config.files import stored_runs
    from fedpriv.doctor import diagnose

    findings = diagnose(
        resources,
        time,
        lambda plan: (
            () if plan.preset.again else {key.identity for key in stored_runs(plan, reference, plan.papers)}
        ),
    )
    facts = {finding.name: {"state": finding.state, "text": finding.text} for finding in findings}
    lines = [{"": finding.name} | facts[finding.name] for finding in findings]
    print_result(facts, [Table("", lines)], as_json)
    raise typer.Exit(1 if any(finding.state == "missing" for finding in findings) else 0)


def step(
    step: Annotated[str, typer.Argument(metavar="STEP")],
    config: Preset,
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", help="What is to be made.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A key of the preset; repeatable.")
    ] = None,
    root: Annotated[
        Path, typer.Option(file_okay=False, help="The folder that resources and results are in.")
    ] = Path(),
) -> None:
    """Do one step of the workflow, as its rules call it.

    Its papers are in config/papers. On stdout it says what it begins, on stderr all else.
    """
    from fedpriv.workflow import steps

    steps.do_step(step, config, words or (), nested(settings or []), root)


VERBS = {
    "Reproduce": {
        "list": (look.list_table, "fedpriv list runs --paper bdp2019"),
        "plan": (plan.plan, "fedpriv plan config/laptop.yaml"),
        "fetch": (fetch, "fedpriv fetch mnist"),
        "run": (
            run,
            "fedpriv run config/laptop.yaml --paper bdp2019 --run iid_n100_dp --set server.learning_rate=0.2",
        ),
        "show": (look.show, "fedpriv show bdp2019 table2 100 dp"),
        "compare": (compare.compare, "fedpriv compare bdp2019"),
        "export": (export.export, "fedpriv export bdp2019 table2 figure2 --to my/paper"),
    },
    "Account": {
        "epsilon": (
            calculators.epsilon,
            "fedpriv epsilon -q .3 --sigma 3 --rounds 300 --delta 1e-3 --accountant all",
        ),
        "calibrate": (
            calculators.calibrate,
            "fedpriv calibrate --epsilon 8 --delta 1e-3 -q .3 --rounds 300",
        ),
        "account": (account, "fedpriv account results/laptop/bdp2019/runs/iid_n100_dp/seed0"),
        "audit": (
            audit.audit,
            "fedpriv audit --mechanism client_dp -q .3 --sigma 3 --rounds 300 --delta 1e-3",
        ),
        "rr-epsilon": (
            calculators.rr_epsilon,
            "fedpriv rr-epsilon --gamma .1 --rounds 100 --delta 1e-5",
        ),
    },
    "Maintain": {
        "doctor": (doctor, "fedpriv doctor --time config/laptop.yaml"),
        "keep": (look.keep, "fedpriv keep results/laptop"),
        "rerender": (look.rerender, "fedpriv rerender laptop/bdp2019"),
        "step": (step, "fedpriv step tables config/demo.yaml bdp2019"),
    },
}
add_verbs(app, VERBS)
