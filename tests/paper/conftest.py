"""What several tests of the experiments lean on."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def write_book(tmp_path_factory):
    """Write days of five stocks, each from samples (n, 144) and a step per block, as FI-2010."""

    def write(per_stock, one_day, wide):
        arrays = {}
        for day in (1, 2, 3):
            X, step = one_day(5 * per_stock, day)
            y = np.where(step > wide, 1, np.where(step < -wide, 3, 2))
            arrays |= {
                f"X{day}": X.astype(np.float32),
                f"y{day}": np.repeat(y[:, None], 5, axis=1),
                f"stock_offsets{day}": np.arange(0, 5 * per_stock + 1, per_stock),
            }
        folder = tmp_path_factory.mktemp("book")
        np.savez(folder / "fi2010_days_1-3.npz", **arrays)
        return str(folder)

    return write
