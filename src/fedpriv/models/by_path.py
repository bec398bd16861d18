"""Python of one's own by import path: `package.file:Name`, and what names the file that it leads to."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from functools import reduce
from pathlib import Path
from typing import Any

from fedpriv.errors import BadInput, plain

PATH = r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*"  # package.file:Name


def imported(key: str, path: str, allowed: str, name: str) -> Any:
    """Return what an import path leads to; the folder that one is in comes last.

    Importing runs the file, which is trusted. Nothing in it is called. A module of Python's own, of
    fedpriv's, or that is run as a program is BadInput that says what is `allowed`: those do things when they
    are imported. `name` is what comes after the colon, in words.
    """
    module, attribute = path.split(":")
    first, *others = module.split(".")
    if first in sys.stdlib_module_names:
        raise BadInput(f"{key}: found {path}, of Python's own library, allowed: {allowed}")
    if "__main__" in others or first == "fedpriv":
        raise BadInput(f"{key}: found {path}, a program and no part of a network, allowed: {allowed}")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        return reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (Exception, SystemExit) as error:  # somebody's code runs here
        raise BadInput(
            f"{key}: found {path}, which cannot be imported ({said(error)}), allowed: FILE:{name}, of "
            "an installed package or in the folder where the program is started"
        ) from error


def code(path: str, found: Any) -> str:
    """Return an import path with a digest of the file of what was found there."""
    try:
        source = inspect.getsourcefile(found)
    except TypeError:  # of a module without a file
        source = None
    digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()[:8] if source else "without source"
    return f"{path} {digest}"


def said(error: BaseException) -> str:
    """Return what an error says, short and on one line."""
    return f"{type(error).__name__}: {plain(' '.join(str(error).split()))}"
