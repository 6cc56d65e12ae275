"""What a label matrix says of its rows, whatever the inputs are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from lossnet.constraints import LabelRule
from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import known_of, sets_of


class LabelSets:
    """Rows with a set of labels each, whatever the inputs are: what ``Y`` says of them.

    Y is (n, L) uint8, 0 or 1; or float32, with NaN where a label is not known; or CSR of uint8,
    on disk if it was there, where it was given sparse and has more than 2^26 entries.
    """

    Y: Any
    label_names: list[str]
    name: str
    groups: ClassVar[None] = None  # rows do not belong together

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self)

    @property
    def labelled(self) -> bool:
        """Whether the labels are known."""
        return self.n_labels > 0

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @property
    def known(self) -> np.ndarray[Any, Any] | None:
        """Where labels are known, (n, L); None where all are."""
        return known_of(self.Y) if self.has_dense_labels else None

    @property
    def has_dense_labels(self) -> bool:
        """Whether Y is a numpy array, not a CSR matrix."""
        return isinstance(self.Y, np.ndarray)

    @property
    def n_unknown(self) -> int:
        """Number of entries of Y that are not known."""
        return 0 if (known := self.known) is None else int(known.size - known.sum())

    @property
    def on(self) -> Any:
        """Where labels are known to be on, (n, L) bool, CSR where Y is."""
        return np.asarray(self.Y == 1) if self.has_dense_labels else self.Y.astype(bool)

    @property
    def complete(self) -> Any:
        """Label sets of the rows whose labels are all known, uint8, CSR where Y is."""
        known = self.known
        return (self.Y if known is None else self.Y[known.all(axis=1)]).astype(np.uint8)

    @property
    def constraints(self) -> tuple[LabelRule, ...]:
        """Rules about the labels that came with the data."""
        return ()

    @property
    def cardinality(self) -> float:
        """Mean number of labels that are known to be on in a row."""
        return float(self.on.sum()) / self.n_rows if self.n_rows else 0.0

    @property
    def density(self) -> float:
        """Share of the known labels that are on."""
        known = self.n_rows * self.n_labels - self.n_unknown
        return float(self.on.sum()) / known if known else 0.0

    @property
    def diversity(self) -> int:
        """Number of different label sets, of rows whose labels are all known."""
        if not self.has_dense_labels:
            return len(set(sets_of(self.Y)))
        return len({row.tobytes() for row in np.packbits(self.complete, axis=1)})

    def _numbers(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Row numbers, of indices or a mask of booleans."""
        index = np.asarray(rows).reshape(-1)
        try:
            return np.arange(len(self))[index if index.dtype == bool else index.astype(np.int64)]
        except IndexError as error:
            rule = f"rows are counted from 0 to {len(self) - 1}"
            raise DataError(f"{self.name}: {error}; {rule}") from None
