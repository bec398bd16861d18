"""The mirrors that FEDPRIV_MIRROR names, and which datasets they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fedpriv.data import DATASETS, source
from fedpriv.data.photographs import Photographs
from fedpriv.doctor.finding import Finding

SECONDS = 5  # for a server to answer


def expected() -> Iterator[tuple[str, list[str]]]:
    """Yield the datasets that a mirror can hold and their files; of photographs the table."""
    for name, dataset in sorted(DATASETS.items()):
        files = ["train.csv"] if isinstance(dataset, Photographs) else [file.name for file in dataset.files]
        if files and dataset.network:
            yield name, files


def there(place: str, name: str, file: str) -> bool:
    """Return whether a mirror has a file; a server that does not answer is an OSError."""
    if not source.is_url(place):
        folder = Path(place).expanduser()
        return (folder / name / file).is_file() or (
            folder.resolve().name == name and (folder / file).is_file()
        )
    import requests

    url = f"{place.rstrip('/')}/{name}/{file}"
    return requests.head(url, timeout=SECONDS, allow_redirects=True).ok


def held(place: str) -> dict[str, str]:
    """Return the datasets of which a mirror has files, and how many in words if not all."""
    found = {}
    for name, files in expected():
        if source.is_url(place) and isinstance(DATASETS[name], Photographs):
            continue  # they are read from folders only
        count = sum(there(place, name, file) for file in files)
        if count:
            found[name] = "" if count == len(files) else f" ({count} of {len(files)} files)"
    return found


def photographs_in_a_mirror(name: str) -> bool:
    """Return whether a mirror's folder has these photographs."""
    return any(there(place, name, "train.csv") for place in source.mirrors() if not source.is_url(place))


def mirror(name: str, place: str) -> Finding:
    """Say which datasets one mirror holds; hashes are checked when they are fetched."""
    if not source.is_url(place) and not Path(place).expanduser().is_dir():
        return Finding(name, "to do", f"{place}: no such folder; mend FEDPRIV_MIRROR, fetching stops at it")
    try:
        found = held(place)
    except OSError as error:
        said = f"does not answer ({type(error).__name__}); the next source is asked instead"
        return Finding(name, "to do", f"{source.shown(place)}: {said}")
    if not found:
        wanted = f"{', '.join(dict(expected()))}, each in a folder of that name"
        return Finding(name, "to do", f"{source.shown(place)}: holds nothing that is looked for: {wanted}")
    said = ", ".join(dataset + part for dataset, part in found.items())
    return Finding(name, "to do" if any(found.values()) else "ok", f"{source.shown(place)}: {said}")


def findings() -> list[Finding]:
    """Return a line for every mirror."""
    places = source.mirrors()
    if not places:
        return [Finding("mirrors", "ok", "none set (FEDPRIV_MIRROR); the public sources are asked")]
    return [mirror(f"mirror {number}", place) for number, place in enumerate(places, 1)]
