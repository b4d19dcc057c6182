"""Why MDA lies above the printed row at k = 0.35: the number of training images per person.

0.35 of ten images is three and a half. Run it as ``python -m paper.explain_table1 DATA``; it
prints the best mean mAP of five splits with three or four images per person, with three, and with
a plain random 35 % of all images.
"""

import sys

import numpy as np

from paper.face_models import Candidate, FaceMethod, map_of_candidates
from paper.faces import face_images, stratified_split

DIMENSIONS = [Candidate(r * r) for r in range(2, 28)]
RANKS = [Candidate(rank) for rank in (10, 14, 18, 20)]


def generator(split: int) -> np.random.Generator:
    """Random numbers of a split, the same for every way to split."""
    return np.random.default_rng([0, 350, split])


def plain_split(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """35 % of all images, whoever is on them."""
    shuffled = generator(split).permutation(len(y))
    return np.sort(shuffled[:140]), np.sort(shuffled[140:])


SPLITS = {
    "three or four images": lambda y, split: stratified_split(y, 0.35, generator(split)),
    "three images": lambda y, split: stratified_split(y, 0.3, generator(split)),
    "35 % of all images": plain_split,
}


def main(data: str) -> None:
    """Print the best mean mAP of every way to split."""
    for name, split_of in SPLITS.items():
        for method, kind, options in (
            ("CSDA", "pixels", DIMENSIONS),
            ("MDA", "pixels", RANKS),
            ("MDA", "hog", RANKS),
        ):
            X, y = face_images("orl", data, kind)
            scores = []
            for split in range(5):
                train, test = split_of(y, split)
                parts = (X[train], y[train]), (X[test], y[test])
                scores.append(map_of_candidates(FaceMethod(method), options, *parts))
            best = np.mean(scores, axis=0).max()
            sys.stdout.write(f"{name:22}{method} on {kind}: {best:.2f}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the folder with the data: python -m paper.explain_table1 DATA")
    main(sys.argv[1])
