"""Where finished results are: by their folder, or in the reference by the name of their paper."""

from collections.abc import Sequence
from pathlib import Path

from fedpriv.errors import BadInput, unknown

FULL = ("paper", "laptop")  # presets, of which the first that renders a paper shows it


def elements(folder: Path) -> list[Path]:
    """Return the texts of the rendered tables of RESULTS/PAPER, and then those of its figures."""
    return [path for kind in ("tables", "figures") for path in sorted((folder / kind).glob("*.md"))]


def names(folder: Path) -> list[str]:
    """Return what the rendered tables and figures of RESULTS/PAPER are called."""
    return [path.stem for path in elements(folder)]


def rendered(reference: Path) -> dict[str, list[Path]]:
    """Return by paper the folders of its reference results, that which shows it first."""
    found: dict[str, list[Path]] = {}
    for path in sorted(reference.glob("*/*/tables"), key=lambda path: ranked(path.parent)):
        found.setdefault(path.parent.name, []).append(path.parent)
    return found


def ranked(folder: Path) -> tuple[int, str, str]:
    """Return what sorts reference results: the fullest first."""
    preset = folder.parent.name
    return (FULL.index(preset) if preset in FULL else len(FULL), preset, folder.name)


def results_of(word: str, reference: Path) -> Path:
    """Return RESULTS/PAPER that a word means, a folder or the name of a paper, or BadInput."""
    if elements(Path(word)) or (Path(word) / "claims.csv").exists():
        return Path(word)
    there = rendered(reference)
    if word in there:
        return there[word][0]
    if Path(word).is_dir():
        raise unknown(
            word, "no results of a paper", [f"{path.parent}" for path in Path(word).glob("*/tables")]
        )
    raise unknown("results", word, there)


def located(words: Sequence[str], reference: Path) -> tuple[Path, list[str]]:
    """Return RESULTS/PAPER and the words after it.

    A table or figure that stands first is that of the one paper which has it at the fullest size.
    """
    first, *others = words
    there = rendered(reference)
    having = [folders[0] for folders in there.values() if first in names(folders[0])]
    if Path(first).exists() or first in there or not having:
        return results_of(first, reference), others
    first_of_all = min(ranked(folder)[0] for folder in having)
    best = [folder for folder in having if ranked(folder)[0] == first_of_all]
    if len(best) > 1:
        said = " or ".join(f"fedpriv show {folder.name} {first}" for folder in best)
        raise BadInput(f"{first}: found in {len(best)} papers, allowed: {said}")
    return best[0], [*words]
