"""The training, validation and test parts of a data set, whatever its rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from lossnet.data.splits import PARTS, cut_rows


class Rows(Protocol):
    """Data that rows can be taken of."""

    @property
    def name(self) -> str: ...

    def __len__(self) -> int: ...

    def subset(self, rows: Any) -> Self:
        """The given rows, in the order given."""
        ...


D = TypeVar("D", bound=Rows)


@dataclass(frozen=True)
class Parts(Generic[D]):
    """Three parts of one data set; ``validation`` and ``test`` may be None."""

    train: D
    validation: D | None = None
    test: D | None = None

    @property
    def name(self) -> str:
        """The data set's name."""
        return self.train.name

    def parts(self) -> Iterator[tuple[str, D]]:
        """The parts there are, each with its name."""
        for part in PARTS:
            data = getattr(self, part)
            if data is not None:
                yield part, data

    def with_validation(self, fraction: float = 0.2, *, seed: int = 0) -> Self:
        """The same, with a validation part cut from the training part where there is none."""
        if self.validation is not None:
            return self
        rest, held = cut_rows(len(self.train), [fraction], seed)
        return type(self)(self.train.subset(rest), self.train.subset(held), self.test)
