"""A preset: what is built, and how large."""

from typing import Any

from pydantic import Field

from fedpriv.frozen import Frozen, Name, Thousands
from fedpriv.local.work import Speed


class Preset(Frozen):
    """What is built, and how large: the file that Snakemake takes as its config."""

    preset: Name
    papers: tuple[Name, ...] = Field(min_length=1)
    paper_folders: tuple[str, ...] = ()  # where papers are beside config/papers, from the current folder
    seeds: Thousands = 5
    mirrors: tuple[str, ...] = ()
    only: tuple[str, ...] = ("*",)
    show: tuple[str, ...] = ()  # only these tables and figures, PAPER/NAME, and the runs they read
    stand_ins: dict[str, str] = {}
    patches: dict[str, dict[str, Any]] = {}
    speed: Speed = Speed()
    again: bool = False  # train runs that are kept in results/reference, too
