"""Kaggle: where kagglehub will find credentials; what they are is never shown."""

from __future__ import annotations

import json
import os
from pathlib import Path

from fedpriv.data.kaggle import CREDENTIALS
from fedpriv.doctor import disk, mirrors
from fedpriv.doctor.finding import Finding

# GB of the photographs of APTOS 2019; while kagglehub unpacks them, twice that.
PHOTOGRAPHS = 10.0


def config() -> Path:
    """Return where kaggle.json is looked for."""
    return Path(os.environ.get("KAGGLE_CONFIG_DIR") or Path.home() / ".kaggle") / "kaggle.json"


def whole(path: Path) -> bool:
    """Return whether a kaggle.json has a user and a key."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"username", "key"} <= set(found)


def credentials() -> tuple[str, Path | None, str]:
    """Return the place of the credentials, its file if it is one, and what is wrong there.

    Places are looked at in kagglehub's order. All are empty where there are no credentials.
    """
    if os.environ.get("KAGGLE_API_TOKEN"):
        return "KAGGLE_API_TOKEN", None, ""
    for path in (Path.home() / ".kaggle" / name for name in ("access_token", "access_token.txt")):
        if path.exists() and path.stat().st_size:
            return str(path), path, ""
    user, key = (bool(os.environ.get(name)) for name in ("KAGGLE_USERNAME", "KAGGLE_KEY"))
    if user and key:
        return "KAGGLE_USERNAME and KAGGLE_KEY", None, ""
    if config().exists():
        wrong = "" if whole(config()) else "it is not JSON with username and key; download it anew"
        return str(config()), config(), wrong
    if user or key:
        given, needed = ("KAGGLE_USERNAME", "KAGGLE_KEY") if user else ("KAGGLE_KEY", "KAGGLE_USERNAME")
        return given, None, f"set {needed} too"
    return "", None, ""


def kaggle(resources: Path) -> Finding:
    """Say whether APTOS 2019 could be downloaded, or that it need not be."""
    place, file, wrong = credentials()
    if wrong:
        return Finding("kaggle", "to do", f"credentials in {place}: {wrong}")
    if file and file.stat().st_mode & 0o077:
        return Finding("kaggle", "to do", f"credentials in {place}, which others can read: chmod 600 {place}")
    if mirrors.photographs_in_a_mirror("aptos") or (resources / "aptos/images.json").exists():
        return Finding("kaggle", "ok", f"not needed: aptos is here; credentials: {place or 'none'}")
    if not place:
        return Finding("kaggle", "to do", f"no credentials, only aptos needs them; {CREDENTIALS}")
    cache = Path(os.environ.get("KAGGLEHUB_CACHE") or Path.home() / ".cache/kagglehub")
    room = disk.free(cache)
    if room < 2 * PHOTOGRAPHS:
        takes = f"aptos takes {disk.size(PHOTOGRAPHS)}, twice that while it is unpacked"
        said = f"{disk.size(room)} free for {cache}, {takes}: make room, or set KAGGLEHUB_CACHE"
        return Finding("kaggle", "to do", f"credentials in {place}; {said}")
    rules = "accept the rules of the competition once, in a browser"
    return Finding("kaggle", "ok", f"credentials in {place}, {disk.size(room)} free for {cache}; {rules}")
