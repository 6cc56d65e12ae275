"""The training, validation and test parts of a data set, whatever its rows are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from lossnet.errors import DataError

PARTS = ("train", "validation", "test")
PART_WORDS = {
    "train": "train",
    "training": "train",
    "valid": "validation",
    "validation": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    # CoNLL-2003's two test files, of which papers use the first to validate.
    "testa": "validation",
    "testb": "test",
}


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
        documents = getattr(self.train, "documents", None)
        rest, held = cut_rows(len(self.train), [fraction], seed, documents)
        return type(self)(self.train.subset(rest), self.train.subset(held), self.test)


def cut_rows(
    rows: int, fractions: list[float], seed: int, documents: Sequence[int] | None = None
) -> list[np.ndarray[Any, Any]]:
    """What is left, then one set of rows for each fraction; each in ascending order.

    Rows of one document stay together, unless there are fewer documents than sets.
    """
    rng = np.random.default_rng(seed)
    if documents is not None and len(set(documents)) > len(fractions):
        return _cut_documents(np.asarray(documents), fractions, rng)
    order = rng.permutation(rows)
    parts, start = [], 0
    for fraction in fractions:
        size = max(1, round(rows * fraction))
        parts.append(np.sort(order[start : start + size]))
        start += size
    if start >= rows:
        raise DataError(f"{rows} rows are too few to cut {fractions} from; give more rows")
    return [np.sort(order[start:]), *parts]


def _cut_documents(
    documents: np.ndarray[Any, Any], fractions: list[float], rng: np.random.Generator
) -> list[np.ndarray[Any, Any]]:
    """The same with documents drawn at random; the longest is always left."""
    groups = [np.flatnonzero(documents == number) for number in np.unique(documents)]
    longest = groups.pop(max(range(len(groups)), key=lambda k: len(groups[k])))
    queue = [longest, *(groups[k] for k in rng.permutation(len(groups)))]
    parts = []
    for number, fraction in enumerate(fractions):
        part, size = queue.pop(), len(documents) * fraction
        # One document at least for each set to come; one more as long as that comes nearer.
        while len(queue) > len(fractions) - number and 2 * (size - len(part)) > len(queue[-1]):
            part = np.concatenate([part, queue.pop()])
        parts.append(np.sort(part))
    return [np.sort(np.concatenate(queue)), *parts]


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first names that are not hidden, and how many more there are; empty without any.

    >>> listed(["c", "a", ".hidden", "b", "d"])
    'a, b, c and 1 more'
    """
    shown = sorted(name for name in names if not Path(name).name.startswith("."))
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def left_out(folder: Path, names: Iterable[str]) -> list[str]:
    """A note that names what is in a folder and was not read."""
    found = listed(names)
    return [f"not read in {folder}: {found}"] if found else []
