"""Files of moments in place of DATA: what ``tenfold fit --from-moments`` learns from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenfold.cli.data_options import DataOptions
from tenfold.cli.errors import BadInput
from tenfold.cli.method_options import MethodOptions

SAMPLES_NEEDED = (
    "moments hold no single samples to hold out; {remedy}, or fit where the samples are"
)


@dataclass(frozen=True)
class Gathered:
    """Moments that stand for a data set, with what the commands ask of one."""

    moments: Any
    folded: Any  # of classes in folds, or None
    reading: dict[str, Any]

    @classmethod
    def load(
        cls,
        paths: list[Path],
        data_options: DataOptions,
        method_options: MethodOptions,
        positive: str | None,
    ) -> Gathered:
        """The sum of files of moments; options that need samples are refused."""
        from tenfold.files.moment_files import read_moments

        words = [*data_options.words(), *(["--rows"] if data_options.rows is not None else [])]
        if words:
            raise BadInput(
                f"{words[0]} says how samples are read, but --from-moments reads none; pass it to "
                "tenfold moments instead"
            )
        if positive is not None:
            remedy = "leave out --positive for a bank, which needs no threshold"
            raise BadInput(
                f"--positive sets a threshold, but {SAMPLES_NEEDED.format(remedy=remedy)}"
            )
        if method_options.searches:
            remedy = "name the ranks, as with --ranks 7,7"
            raise BadInput(
                f"--ranks auto compares ranks, but {SAMPLES_NEEDED.format(remedy=remedy)}"
            )
        for path in paths:
            if not path.exists():
                raise BadInput(
                    f"{path} does not exist; expected moments that tenfold moments wrote"
                )
        stored = read_moments(*paths)
        return cls(stored.moments, stored.folded, stored.reading)

    def __len__(self) -> int:
        return round(self.moments.count)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape (I_1, ..., I_K) of one sample."""
        return tuple(self.moments.shape)

    @property
    def classes(self) -> Any:
        """The labels of classes that have samples, sorted."""
        return self.moments.present().classes

    @property
    def y(self) -> Any:
        """The labels, if there is more than one; there is no label per sample."""
        return self.classes if len(self.classes) > 1 else None

    def fit(self, estimator: Any) -> Any:
        """The estimator, fitted to the moments."""
        from tenfold.decisions.probabilistic import ProbabilisticLDA

        by_folds = self.folded is not None and isinstance(estimator, ProbabilisticLDA)
        return estimator.fit_moments(self.folded if by_folds else self.moments)
