"""Why MDA lies above the printed row at k = 0.35: the number of training images per person.

Ten images times 0.35 is three and a half. Run it as ``python docs/explain_table1.py DATA``; it
prints the best mean mAP of five splits with three or four images per person, with three, and with
a plain random 35 % of all images.
"""

import sys

import numpy as np

from tenfold.experiments.face_models import Candidate, FaceMethod, map_of_candidates
from tenfold.experiments.faces import face_images
from tenfold.experiments.splits import stratified_split

DIMENSIONS = [Candidate(r * r) for r in range(2, 28)]
RANKS = [Candidate(rank) for rank in (10, 14, 18, 20)]


def dice(split):
    return np.random.default_rng([0, 350, split])


def plain_split(y, split):
    shuffled = dice(split).permutation(len(y))
    return np.sort(shuffled[:140]), np.sort(shuffled[140:])


SPLITS = {
    "three or four images": lambda y, split: stratified_split(y, 0.35, dice(split)),
    "three images": lambda y, split: stratified_split(y, 0.3, dice(split)),
    "35 % of all images": plain_split,
}


def main(data):
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
            print(f"{name:22}{method} on {kind}: {np.mean(scores, axis=0).max():.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the folder with the data: python docs/explain_table1.py DATA")
    main(sys.argv[1])
