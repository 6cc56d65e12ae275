"""The training, validation and test parts of a data set, whatever its rows are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from lossnet.errors import DataError, SettingError

PARTS = ("train", "validation", "test")
#: What a part is called in names of files, folders and arrays. Of two test files papers use the
#: first to validate.
PART_WORDS = dict.fromkeys(("valid", "validation", "val", "dev", "testa"), "validation")
PART_WORDS |= {"train": "train", "training": "train", "test": "test", "testb": "test"}
#: The note on a file with such a word.
_MARK = re.compile(r" is marked '(.+)'$")


class Data(Protocol):
    """Data in memory."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> list[str]:
        """What a user should know of how it was read."""
        ...

    @property
    def labelled(self) -> bool:
        """Whether the truth is known."""
        ...

    @property
    def groups(self) -> list[int] | None:
        """A number for each row, equal where rows belong together (a document); None: no groups."""
        ...

    def __len__(self) -> int: ...

    def subset(self, rows: Any) -> Self:
        """The given rows, in the order given."""
        ...

    def without_labels(self) -> Self:
        """The same rows without the truth."""
        ...

    def checksum(self) -> str:
        """Of all that it holds, equal for equal data."""
        ...

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The rows of several parts, one part after another."""
        ...


D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Parts(Generic[D]):
    """Three parts of one data set with the same columns; two of them may be None."""

    train: D
    validation: D | None = None
    test: D | None = None

    @property
    def name(self) -> str:
        """The data set's name."""
        return self.train.name

    def items(self) -> Iterator[tuple[str, D]]:
        """The parts there are, each with its name."""
        for part in PARTS:
            if (data := getattr(self, part)) is not None:
                yield part, data

    @property
    def marks(self) -> list[str]:
        """What files' names add to a part, ``a.train.reconstructed.arff``; it tags results."""
        notes = [note for _, data in self.items() for note in data.notes]
        return sorted({found[1] for note in notes if (found := _MARK.search(note))})

    def with_validation(self, fraction: float = 0.2, *, seed: int = 0) -> Self:
        """The same, with a validation part cut from the training part where there is none."""
        if self.validation is not None:
            return self
        rest, held = cut(self.train, [fraction], seed)
        return type(self)(rest, held, self.test)


def cut(data: D, fractions: list[float], seed: int) -> list[D]:
    """What is left, then one part for each fraction, drawn at random; groups stay together.

    Data with a method ``cut_rows(fractions, seed)`` chooses the rows itself.
    """
    own = getattr(data, "cut_rows", None)
    rows = own(fractions, seed) if own else cut_rows(len(data), fractions, seed, data.groups)
    return [data.subset(part) for part in rows]


def divide(data: D, *, seed: int = 0) -> Parts[D]:
    """Divide rows at random: three fifths for training, a fifth for each of the others."""
    if len(data) < 3:
        what = f"{data.name} has {len(data)} rows, too few to divide in three"
        raise DataError(f"{what}; use more, or pass validation and test data of their own")
    return Parts(*cut(data, [0.2, 0.2], seed))


def own_parts(read: Mapping[str, D]) -> dict[str, D]:
    """The parts that a data set itself has, empty where it is undivided."""
    return {part: read[part] for part in PARTS if part in read}


def as_parts(read: Mapping[str, D], source: str, *, seed: int = 0) -> Parts[D]:
    """The parts that were read, or those that undivided data (``""``) is divided into."""
    parts = own_parts(read)
    if not parts:
        return divide(read[""], seed=seed)
    if "train" not in parts:
        only = f"{source} has no training part, only {', '.join(parts)}"
        raise DataError(f"{only}; name the file to train on")
    return Parts(**parts)


def joined(read: Mapping[str, D]) -> D:
    """All rows of the parts that were read."""
    return read[""] if "" in read else type(next(iter(read.values()))).join(read)


def part_of(read: Mapping[str, D], split: str, source: str) -> D:
    """One part of the data that was read, or ``"all"`` of it."""
    if split == "all":
        return joined(read)
    found = own_parts(read) or dict(divide(read[""]).items())
    if split not in found:
        known = f"it has {', '.join(found)} (--split all takes all rows)"
        raise SettingError(f"{source} has no {split} part; {known}")
    return found[split]


def cut_rows(
    rows: int, fractions: list[float], seed: int, groups: Sequence[int] | None = None
) -> list[np.ndarray[Any, Any]]:
    """What is left, then one set of rows for each fraction; each in ascending order.

    Rows of one group stay together, unless there are fewer groups than sets.
    """
    rng = np.random.default_rng(seed)
    if groups is not None and len(set(groups)) > len(fractions):
        return _cut_groups(np.asarray(groups), fractions, rng)
    ends = np.cumsum([max(1, round(rows * fraction)) for fraction in fractions])
    if ends[-1] >= rows:
        raise DataError(f"{rows} rows are too few to cut {fractions} from; use more rows")
    *parts, left = map(np.sort, np.split(rng.permutation(rows), ends))
    return [left, *parts]


def _cut_groups(
    numbers: np.ndarray[Any, Any], fractions: list[float], rng: np.random.Generator
) -> list[np.ndarray[Any, Any]]:
    """The same with groups drawn at random; the largest is always left."""
    groups = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    largest = groups.pop(max(range(len(groups)), key=lambda k: len(groups[k])))
    queue = [largest, *(groups[k] for k in rng.permutation(len(groups)))]
    parts = []
    for number, fraction in enumerate(fractions):
        part, size = queue.pop(), len(numbers) * fraction
        # One group at least for each set to come; one more as long as that comes nearer.
        while len(queue) > len(fractions) - number and 2 * (size - len(part)) > len(queue[-1]):
            part = np.concatenate([part, queue.pop()])
        parts.append(np.sort(part))
    return [np.sort(np.concatenate(queue)), *parts]


def digest(*arrays: Any) -> str:
    """SHA-256, in hex, of arrays; None counts as nothing."""
    total = hashlib.sha256()
    for array in arrays:
        if array is not None:
            total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


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
