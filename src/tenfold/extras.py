"""Libraries that come with an extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Say how to install a library, where its import inside of this fails.

    Parameters
    ----------
    what : str
        What needs which library.
    extra : str
        The extra that brings it.

    Examples
    --------
    >>> from tenfold.extras import require_extra
    >>> with require_extra("clouds need a sky", "weather"):
    ...     import a_sky
    Traceback (most recent call last):
    ImportError: clouds need a sky: pip install "tenfold[weather]"
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f'{what}: pip install "tenfold[{extra}]"') from error
