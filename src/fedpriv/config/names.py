"""The names of files that runs share."""

import hashlib
import json

from fedpriv.config.run import Run


def arrays_id(run: Run) -> str:
    """Return the name of the file of arrays that a run trains on: its dataset's, or that of its features."""
    photos, words = run.photos, [run.data, run.model.features]
    if run.learn_from == "public":
        words.append("public")
    if run.model.features and run.model.reads == "images":
        return "-".join(words)
    # Features of one's own are read as they are.
    if not run.model.features or not isinstance(run.dataset, str):
        return run.data
    words += [f"c{photos.copies}", f"s{photos.seed}", photos.dedup]
    return "-".join(words if photos.unreadable == "refuse" else [*words, photos.unreadable])


def partition_id(run: Run) -> str:
    """Return a readable name, the same for exactly the runs that may share a partition file."""
    law = run.partition
    words = [arrays_id(run), getattr(law, "law", ""), f"n{law.clients}"]
    if run.validation:
        words.append(f"v{run.validation}")
    others = law.model_dump(mode="json", exclude_defaults=True, exclude={"law", "clients"})
    if others:
        words.append(hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()[:6])
    return "-".join(words)
