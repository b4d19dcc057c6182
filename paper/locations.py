"""Where the data sets of the paper are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tenfold.datasets.locations import existing_path

DATA_VARIABLE = "TENFOLD_DATA"


def data_directory(data: str | os.PathLike[str] | None, wanted: str) -> Path:
    """The directory (or file) to look in: the argument, else the variable TENFOLD_DATA.

    Parameters
    ----------
    data : path or None
        What the user gave.
    wanted : str
        What is looked for, for the message.

    Returns
    -------
    Path
        A path that exists.
    """
    given = data if data is not None else os.environ.get(DATA_VARIABLE)
    if not given:
        raise FileNotFoundError(
            f"no place to look for {wanted}: pass data=DIRECTORY, or set the environment "
            f"variable {DATA_VARIABLE}"
        )
    origin = "data" if data is not None else f"the environment variable {DATA_VARIABLE}"
    return existing_path(given, f"{wanted} ({origin})")


def not_found(wanted: str, names: Iterable[str], place: Path, origin: str) -> FileNotFoundError:
    """The error for a data set that is not in the place looked at.

    Parameters
    ----------
    wanted : str
        The data set.
    names : iterable of str
        File names that would have done.
    place : Path
        The directory looked at.
    origin : str
        Where people get the set.
    """
    return FileNotFoundError(f"{wanted} not found: no {' or '.join(names)} in {place}. {origin}")
