"""A preset: what is built, and how large."""

from typing import Any

from pydantic import Field

from fedpriv.frozen import Frozen, Name, Thousands
from fedpriv.local.work import Speed


class Preset(Frozen):
    """What is built, and how large: the file that Snakemake takes as its config."""

    preset: Name
    """Its name; what it makes is in results/<preset>."""
    papers: tuple[Name, ...] = Field(min_length=1)
    """Folders of config/papers."""
    paper_folders: tuple[str, ...] = ()
    """Where papers are beside config/papers, from the current folder."""
    seeds: Thousands = 5
    """So many of each run: 0, 1, ..."""
    mirrors: tuple[str, ...] = ()
    """Folders or base URLs that are tried before the public sources."""
    only: tuple[str, ...] = ("*",)
    """Globs; runs that match none are left out: `*_n100_*` of any paper, `bdp2019/*_n100_*` of one."""
    show: tuple[str, ...] = ()
    """Only these tables and figures, PAPER/NAME, and the runs they read."""
    stand_ins: dict[str, str] = {}
    """Dataset of a paper -> the one that is used instead, which its tables say."""
    patches: dict[str, dict[str, Any]] = {}
    """Glob of runs, as in `only` -> keys that are laid over theirs, the later over the earlier."""
    speed: Speed = Speed()
    """How fast, never what."""
    again: bool = False
    """Train runs that are stored in results/reference, too."""
