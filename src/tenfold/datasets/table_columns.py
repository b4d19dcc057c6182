"""Which columns of a table are the labels, the numbers, and neither."""

from __future__ import annotations

from pathlib import Path

from tenfold.datasets.label_values import LABEL_NAMES

ROW_NUMBER_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of a column that R or pandas wrote


def label_position(
    source: Path, label_column: str | int | None, header: list[str] | None, width: int
) -> int:
    """Which column holds the labels.

    Parameters
    ----------
    source : Path
        The file, for messages.
    label_column : str, int or None
        What the user says.
    header : list of str or None
        Names of the columns, where there are any.
    width : int
        Number of columns.
    """
    if isinstance(label_column, int) and not isinstance(label_column, bool):
        if not -width <= label_column < width:
            raise ValueError(f"{source} has {width} columns, so there is no column {label_column}")
        return label_column % width
    names = [name.strip() for name in header or []]
    wanted = LABEL_NAMES if label_column is None else (label_column,)
    found = [i for i, n in enumerate(names) if (n.lower() if label_column is None else n) in wanted]
    if len(found) != 1:
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        columns = f"columns {shown}" if names else f"{width} columns without names"
        raise ValueError(
            f"cannot tell which column of {source} holds the labels: it has {columns}; pass "
            "label_column=NAME or a position (-1 is the last), labels=FILE, or labelled=False"
        )
    return found[0]


def feature_positions(
    source: Path, header: list[str] | None, width: int, column: int | None
) -> list[int]:
    """Every column but those of labels and row numbers; by its name, none may hold labels."""
    features = [i for i in range(width) if i != column]
    if header is None:
        return features
    names = [name.strip() for name in header]
    if names[0] in ROW_NUMBER_NAMES and column != 0:
        features = features[1:]
    for i in features:
        if not names[i]:
            raise ValueError(f"{source}: column {i} has no name; give it one, or remove it")
        if names[i].lower() in LABEL_NAMES:
            skip = f"pass label_column={i} (--read label_column={i}) to leave it out"
            raise ValueError(
                f"{source} has a column {names[i]!r} among the numbers, which is a name of labels; "
                f"{skip if column is None else 'remove it'}, or rename it if it is a feature"
            )
    return features
