"""Files of a Kaggle competition, through kagglehub; what Kaggle refuses is explained in one line."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

from fedpriv.data.source import SourceError
from fedpriv.terminal import aside

CREDENTIALS = (
    "make a token on https://www.kaggle.com/settings and put it into KAGGLE_API_TOKEN, or set "
    "KAGGLE_USERNAME and KAGGLE_KEY, or keep kaggle.json in ~/.kaggle"
)


def competition(name: str, competition: str) -> Path:
    """Return kagglehub's folder of the competition's files, downloading what is not there yet.

    Raises SourceError: without credentials, when they or the competition's rules are not accepted, when
    Kaggle cannot be reached. Credentials are read by kagglehub alone, and no word of its own is passed on:
    what it prints and raises may hold them.
    """
    aside(f"{name}: from the Kaggle competition {competition}")
    with redirect_stdout(io.StringIO()):
        import kagglehub
        from kagglehub.exceptions import KaggleApiHTTPError, UnauthenticatedError

        try:
            return Path(kagglehub.competition_download(competition))
        except UnauthenticatedError:
            reason = f"Kaggle wants to know who asks; {CREDENTIALS}"
        except KaggleApiHTTPError as error:
            status = error.response.status_code if error.response is not None else "an error"
            reason = f"Kaggle answered {status}"
            if status == 401:
                reason += f": it does not accept these credentials; {CREDENTIALS}"
            if status == 403:
                reason += (
                    ": the rules of the competition are not accepted yet (or the account is not verified by "
                    f"phone); accept them and rerun: https://www.kaggle.com/competitions/{competition}/rules"
                )
        except ValueError as error:  # a kaggle.json that is none, a token that is no header
            reason = f"the Kaggle credentials cannot be used ({type(error).__name__}); {CREDENTIALS}"
        except Exception as error:
            reason = f"Kaggle cannot be reached, or the download broke off ({system(error)})"
    # Outside of `except`, so that no traceback leads back to kagglehub's words.
    raise SourceError(
        f"{name}: {reason}. Or put train.csv and train_images/ into a folder {name}, and set FEDPRIV_MIRROR, "
        "or `mirrors:` in the config, to the folder that holds it"
    )


def system(error: Exception) -> str:
    """Return the kind of an error, and the system's words on its cause if there are some."""
    root: BaseException = error
    while root.__context__:
        root = root.__context__
    said = f": {root.strerror}" if isinstance(root, OSError) and root.strerror else ""
    return type(error).__name__ + said
