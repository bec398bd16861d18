"""The report is one page with everything on it, and nothing on it comes from elsewhere."""

import base64
import html
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from support import made_page

from fedpriv.cli.compare import published_tables
from fedpriv.cli.table import Table
from fedpriv.config.jobs import figure_names, report_files
from fedpriv.config.plan import load_preset
from fedpriv.errors import BadInput
from fedpriv.report import page
from fedpriv.report.compared import published_and_reproduced
from fedpriv.report.render import read_table


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the folder of a preset's results, its page among them."""
    return made_page.write_results(tmp_path_factory.mktemp("test")).parent


@pytest.fixture(scope="module")
def text(results):
    return (results / "report.html").read_text(encoding="utf-8")


def words(text):
    """Return a piece of HTML without its tags, as it is read."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.replace("<wbr>", ""))).split())


def part(text, name):
    """Return what the page has from the element of this id on."""
    return text[text.index(f'id="{name}"') :]


def table(text, name):
    """Return the first table in the element of this id."""
    return part(text, name).partition("</table>")[0]


def judged(text):
    """Return (verdict, claim) of every claim of `small`, as its section says it."""
    section = part(text, "small-claims").partition("</section>")[0]
    return re.findall(r'<summary><span class="verdict [\w-]+">([\w ,():-]+)</span> (.+?)</summary>', section)


def test_every_verdict_stands_once_the_claims_of_the_paper_apart_from_our_questions(text):
    assert [verdict for verdict, _ in judged(text)] == [
        *("reproduced", "reproduced", "reproduced, interpretation unsound", "not run"),
        "not judged: substitute data",
    ]
    for _, claim in judged(text):
        assert text.count(f"{claim}</summary>") == text.count(claim) == 1
    section = part(text, "small-claims").partition("</section>")[0]
    whose = [re.findall(r"<h3>(.+?)</h3>", one) for one in section.split("<ol")]
    ours = [claim["id"].startswith("ours_") for claim in made_page.SMALL["claims"]]
    assert [one for some in whose for one in some] == ["Claims of the paper"] * (not all(ours)) + [
        "Our questions"
    ] * any(ours)


def test_what_is_published_stands_beside_what_was_reproduced(text, results):
    top = words(text.partition("</header>")[0])
    found = pd.concat(published_and_reproduced(results / name) for name in ("small", "wide"))["verdict"]
    counts = found.value_counts()
    assert all(f"{counts[one]} {one}" in top for one in ("reached", "not reached", "undecided"))
    assert 'alt="Published accuracies beside reproduced ones' in text


def test_a_page_of_other_data_opens_with_the_stored_results_if_there_are_any(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "copy")
    for there, said in ((results, 1), (tmp_path / "nowhere", 0)):
        text = page.write_report(made_page.plan(), copy / "report.html", there).read_text(encoding="utf-8")
        top = text.partition("</header>")[0]
        assert top.count("The stored results at full size") == said
        if said:
            assert top.index("The stored results") < top.index("The runs of this preset")


def test_every_claim_says_what_was_tested_and_measured(text, results):
    for claim in pd.read_csv(results / "small/claims.csv").fillna("").to_dict("records"):
        said = words(part(text, f"small-claim-{claim['id']}").partition("</dl>")[0])
        assert claim["test"] in said and claim["reason"] in said
        assert all(one in said for one in claim["measured"].split("; "))


def test_page_and_terminal_say_the_same_verdicts(text, results):
    for name in ("small", "wide"):
        *accuracies, claims = [one for one in published_tables(results / name) if isinstance(one, Table)]
        if name == "small":
            told = [(one["verdict"], one["claim"]) for one in claims.lines]
            assert told == [(verdict, html.unescape(claim)) for verdict, claim in judged(text)]
        lines = [" ".join(filter(None, line.values())) for one in accuracies for line in one.lines]
        shown = [words(row) for row in re.findall(r"<tr>(.+?)</tr>", table(text, f"{name}-accuracies"))][1:]
        assert [row.partition(" ")[2] for row in shown] == lines
        assert len(shown) == len(published_and_reproduced(results / name)) > 0


def test_every_table_has_its_title_all_its_cells_and_its_notes(text, results):
    for name, paper in made_page.plan().papers.items():
        for one, spec in paper.tables.items():
            said = words(part(text, f"{name}-table-{one}").partition("</figure>")[0])
            lines = (results / f"{name}/tables/{one}.md").read_text().splitlines()
            rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
            notes = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
            notes += read_table(results / f"{name}/tables/{one}.json").details
            assert spec.title in said and len(rows) > 2 and notes
            assert all(" ".join(cell.split()) in said for row in rows[1:] for cell in row)
            assert all(note in said for note in notes)


def test_what_the_paper_has_is_open_and_what_is_ours_is_folded(text):
    section = part(text, "small").partition('id="small-claims"')[0]
    folded = " ".join(re.findall(r"<summary>\d+ more, ours</summary>(.+?)</section>", section, re.DOTALL))
    for name in ("table-table1", "figure-curves"):
        assert f'id="small-{name}"' in section and f'id="small-{name}"' not in folded
    for name in ("table-table1_epsilons", "figure-epsilons"):
        assert f'id="small-{name}"' in folded


def test_every_figure_is_there_with_its_caption_its_notes_and_a_description(text, results):
    for name, spec in figure_names(made_page.plan(), "small").items():
        shown = part(text, f"small-figure-{name}").partition("</figure>")[0]
        ((image, described),) = re.findall(r'src="data:image/png;base64,([^"]+)" alt="([^"]+)"', shown)
        files = io.BytesIO(base64.b64decode(image)), results / f"small/figures/{name}.png"
        small, whole = (np.int16(Image.open(file).convert("RGB")) for file in files)
        difference = np.abs(small - whole)
        assert difference.mean() < 0.2 and np.quantile(difference, 0.999) < 48
        assert spec.title in words(shown.partition("<figcaption>")[2])
        assert html.unescape(described).startswith(f"{spec.title}. 100 clients: ")
        heading, _, *told = (results / f"small/figures/{name}.md").read_text().split("\n\n")
        notes = [line.removeprefix("- ") for line in told[-1].splitlines()]
        assert heading.removeprefix("# ") in words(shown) and told[0] in words(shown)
        assert notes and all(" ".join(note.split()) in words(shown) for note in notes)


def test_the_workflow_asks_for_no_figure_of_which_a_preset_runs_nothing():
    plan = load_preset(Path(__file__).parents[2] / "config/demo.yaml")
    asked = {Path(file).stem for file in report_files(plan) if "dpfl_bnn2023/figures/" in file}
    assert asked == {"figure2", "figure3_signs", "figure3_code"}
    assert asked == set(figure_names(plan, "dpfl_bnn2023"))


def test_every_run_says_how_accurate_it_was_what_it_took_and_on_what(text):
    rows = [words(row) for row in re.findall(r"<tr.*?>(.+?)</tr>", table(text, "small-runs"), re.DOTALL)]
    assert rows[1] == "n100_none digits 2 20 97.0 ± 0.6 2.0 1 server.learning_rate 0.97"
    assert [row.split()[0] for row in rows if "diverged" in row] == ["burst"]
    assert "Machine 1: hardware a processor, 2 cores" in words(part(text, "small-runs"))


def test_what_stands_in_is_said_at_its_paper_and_what_the_preset_changes_at_the_top(text):
    assert "small/* {rounds: 20}" in words(text.partition("</header>")[0])
    said = "These are not the paper’s data: digits in place of mnist."
    small, wide = (words(part(text, name).partition("</article>")[0]) for name in ("small", "wide"))
    assert said in small and "not the paper’s data" not in wide


def test_every_link_of_the_contents_leads_somewhere_and_no_name_is_given_twice(text):
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(names)) == len(names)
    links = set(re.findall(r'href="#([^"]+)"', text))
    assert links <= set(names)
    wanted = {f"small-{kind}" for kind in ("claims", "accuracies", "table-table1", "figure-curves", "runs")}
    assert wanted <= links


def test_the_page_loads_nothing(text):
    assert all(url.startswith("data:image/png;base64,") for url in re.findall(r'\bsrc="([^"]*)"', text))
    assert re.findall(r"<link[^>]*>", text) == ['<link rel="icon" href="data:,">']
    assert not re.search(r"@import|url\(|<iframe|<object|fetch\(", text)


def test_text_is_text_and_never_markup(text):
    assert "A &lt;small&gt; paper" in text and "<small>" not in text
    assert "Nobody &amp; Co" in text and "Read &lt;as&gt; printed." in text
    assert "&lt;b&gt;reached&lt;/b&gt; [red] holds." in text and "<b>reached" not in text


def test_the_same_files_give_the_same_page(results, text, tmp_path):
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "report.html").unlink()
    assert page.write_report(made_page.plan(), copy / "report.html").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "file", ["rounds.parquet", "claims.csv", "tables/table1.json", "figures/curves.json"]
)
def test_a_missing_file_is_named_and_nothing_is_written(results, tmp_path, file):
    copy = shutil.copytree(results, tmp_path / "copy")
    (copy / "report.html").unlink()
    (copy / "small" / file).unlink()
    with pytest.raises(BadInput, match=file):
        page.write_report(made_page.plan(), copy / "report.html")
    assert not (copy / "report.html").exists()


def test_every_file_and_page_that_is_named_is_a_link_to_it(text, results):
    links = set(re.findall(r'href="([^"#:]+)"', text)) - {"data:,"}
    assert all((results / link).is_file() for link in links if not link.startswith("https://"))
    rendered = {Path(file).relative_to("results/test") for file in report_files(made_page.plan())}
    for_readers = [file for file in rendered if len(file.parts) == 3 and file.suffix != ".json"]
    assert {str(file) for file in for_readers if not file.stem.endswith("_seeds")} <= links
    assert "<code>docs/accounting.md</code>" in text and not any(".." in link for link in links)


def test_what_was_trained_here_and_what_was_stored_is_said_and_no_raw_revision(results, text, tmp_path):
    runs = sum(len(pd.read_parquet(path)) for path in results.glob("*/runs.parquet"))
    assert f"0 of {runs} runs are of trees with uncommitted changes" in words(text)
    assert page.code_words(["1+a", "1+a-dirty", "1+b"]).startswith("2 versions; 1 of 3 runs")
    for seed, stored in enumerate(({}, {"stored": "elsewhere"}, {"stored": "elsewhere"})):
        summary = tmp_path / f"small/runs/dp/seed{seed}/summary.json"
        summary.parent.mkdir(parents=True)
        summary.write_text(json.dumps(stored))
    assert page.trained_words(["small"], tmp_path).startswith(
        "Trained here: 1 of 3 runs; the others are stored"
    )
