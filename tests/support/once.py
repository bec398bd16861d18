"""What is made once for all workers of a test run."""

import os
import shutil

from filelock import FileLock


def once(tmp_path_factory, name, make):
    """Return the folder of that name, which `make(folder)` has filled for whoever asked first."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # that of all workers
    folder, made = root / name, root / f"{name}.made"
    with FileLock(root / f"{name}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder
