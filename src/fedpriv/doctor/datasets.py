"""How far every dataset is prepared."""

from __future__ import annotations

import zipfile
from pathlib import Path

from fedpriv.data import DATASETS, manifest
from fedpriv.data.photographs import Photographs
from fedpriv.doctor.finding import Finding
from fedpriv.errors import BadInput


def findings(resources: Path) -> list[Finding]:
    """Return a line for every dataset."""
    return [prepared(name, resources) for name in sorted(DATASETS)]


def prepared(name: str, resources: Path) -> Finding:
    """Say how far a dataset is prepared."""
    dataset, label = DATASETS[name], f"data {name}"
    if isinstance(dataset, Photographs):
        return looked_at(dataset, resources)
    made = resources / f"{name}.npz"
    if made.exists():
        if not zipfile.is_zipfile(made):
            return Finding(label, "to do", f"{made} is damaged; delete it, the workflow makes it anew")
        return Finding(label, "ok", f"ready: {made}")
    if not dataset.files:
        return Finding(label, "ok", "bundled, nothing to download")
    there = sum((resources / name / "raw" / file.name).exists() for file in dataset.files)
    said = f"{there} of {len(dataset.files)} files fetched"
    if there < len(dataset.files):
        return Finding(label, "to do", f"{said}; the workflow fetches them, or now: fedpriv fetch {name}")
    return Finding(label, "ok", said)


def looked_at(dataset: Photographs, resources: Path) -> Finding:
    """Say whether photographs have been found, and which features have been made of them."""
    path, label = resources / dataset.name / "images.json", f"data {dataset.name}"
    if not path.exists():
        if not dataset.network:
            return Finding(label, "ok", "made when needed")
        later = f"the workflow looks for them, or now: fedpriv fetch {dataset.name}"
        return Finding(label, "to do", f"not looked for yet; {later}")
    try:
        listed = manifest.load(path)
    except BadInput as error:
        return Finding(label, "to do", f"{error}; delete {path}")
    made = ", ".join(sorted(file.name for file in resources.glob(f"{dataset.name}-*.npz"))) or "none yet"
    said = f"{len(listed.images):,} images in {listed.folder}"
    if not Path(listed.folder).is_dir():
        gone = f"{listed.folder}, where {path} has its images, is not there; bring it back or delete {path}"
        return Finding(label, "to do", f"{gone}; features: {made}")
    if wrong := manifest.wrong(listed):
        return Finding(label, "to do", f"{said} ({wrong}); repair them and delete {path}; features: {made}")
    return Finding(label, "ok", f"{said}; features: {made}")
