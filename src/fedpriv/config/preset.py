"""A preset: what is built, and how large."""

from typing import Any

from pydantic import Field

from fedpriv.frozen import Frozen, Name, Thousands
from fedpriv.local.work import Speed


class Preset(Frozen):
    """What is built, and how large: the file that Snakemake takes as its config."""

    preset: Name  # its name; what it makes is in results/<preset>
    papers: tuple[Name, ...] = Field(min_length=1)  # folders of config/papers
    paper_folders: tuple[str, ...] = ()  # where papers are beside config/papers, from the current folder
    seeds: Thousands = 5  # so many of each run: 0, 1, ...
    mirrors: tuple[str, ...] = ()  # folders or base URLs that are tried before the public sources
    # globs; runs that match none are left out: `*_n100_*` of any paper, `bdp2019/*_n100_*` of one
    only: tuple[str, ...] = ("*",)
    show: tuple[str, ...] = ()  # only these tables and figures, PAPER/NAME, and the runs they read
    stand_ins: dict[str, str] = {}  # dataset of a paper -> the one that is used instead, which its tables say
    # glob of runs, as in `only` -> keys that are laid over theirs, the later over the earlier
    patches: dict[str, dict[str, Any]] = {}
    speed: Speed = Speed()  # how fast, never what
    again: bool = False  # train runs that are stored in results/reference, too
