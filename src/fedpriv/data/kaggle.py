"""Files of a Kaggle competition, through kagglehub; what Kaggle refuses is explained in one line."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

from fedpriv.data.source import SourceError

CREDENTIALS = (
    "make a token on https://www.kaggle.com/settings and put it into KAGGLE_API_TOKEN, or set "
    "KAGGLE_USERNAME and KAGGLE_KEY, or keep kaggle.json in ~/.kaggle"
)


def competition(name: str, competition: str) -> Path:
    """Return kagglehub's folder of the competition's files, downloading what is not there yet.

    Raises SourceError: without credentials, when they or the competition's rules are not accepted, when
    Kaggle cannot be reached.
    """
    # kagglehub talks to stdout, where a verb's own answer goes.
    with redirect_stdout(sys.stderr):
        import kagglehub
        from kagglehub.exceptions import DataCorruptionError, KaggleApiHTTPError, UnauthenticatedError
        from requests import RequestException

        print(f"{name}: from the Kaggle competition {competition}", file=sys.stderr)
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
        except (RequestException, DataCorruptionError) as error:
            root: BaseException = error
            while root.__context__:
                root = root.__context__
            reason = f"Kaggle cannot be reached, or the download broke off ({type(error).__name__}: {root})"
    raise SourceError(
        f"{name}: {reason}. Or put train.csv and train_images/ into a folder {name}, and set FEDPRIV_MIRROR, "
        "or `mirrors:` in the config, to the folder that holds it"
    )
