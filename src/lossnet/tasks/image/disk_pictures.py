"""Pictures that stay on disk, and are decoded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.disk_items import DiskItems, Items, Together
from lossnet.data.unchanged import Unchanged

Array = np.ndarray[Any, Any]
#: Bytes of pixels, three a pixel, from which pictures stay on disk.
ON_DISK = 1 << 28
#: Bytes of pictures that are decoded at a time where all are needed.
_BLOCK = 1 << 24
#: Pictures that are kept: the mask of one picture is asked for more than once.
_KEPT = 2


class PictureFiles:
    """Files of pictures, each decoded when it is asked for.

    Args:
        paths: the files.
        decode: gives the pixels of a file.
    """

    def __init__(self, paths: Sequence[Path], decode: Callable[[Path], Array]) -> None:
        self._files, self._decode = [Unchanged(path) for path in paths], decode
        self._kept = lru_cache(_KEPT)(self._one)

    def __len__(self) -> int:
        return len(self._files)

    def read(self, numbers: Iterable[int]) -> Iterator[Array]:
        """The pixels of these pictures."""
        for number in numbers:
            self._files[number].check()
            yield self._kept(number)

    def _one(self, number: int) -> Array:
        return self._decode(self._files[number].path)


class DiskPictures(DiskItems):
    """An array of pictures or masks ``(n, H, W, ...)`` of which only those asked for are in memory.

    ``pictures[3]`` decodes one; ``pictures[rows]`` chooses some and decodes nothing;
    ``numpy.asarray`` decodes all.

    Args:
        files: decodes pictures.
        shape: of one.
        dtype: of its pixels.
        values: of masks, the different values of each.
    """

    def __init__(
        self,
        files: Items,
        shape: tuple[int, ...],
        dtype: Any = np.uint8,
        values: Sequence[Array] | None = None,
    ) -> None:
        super().__init__(files)
        self._shape, self.dtype, self._values = tuple(shape), np.dtype(dtype), values

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of an array."""
        return (len(self), *self._shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def values(self) -> list[Array]:
        """The different values of each mask."""
        every = self._values or ()
        return [every[row] for row in (range(len(self)) if self._rows is None else self._rows)]

    def replaced(self, values: Sequence[Array], read: Callable[[Array], Array]) -> DiskPictures:
        """The same masks with other values, which ``read`` gives them when they are decoded."""
        return self.then(read)._with(_values=list(values))

    def blocks(self) -> Iterator[Array]:
        """All pictures in order, some at a time, as arrays ``(k, H, W, ...)``."""
        size = max(1, _BLOCK // (int(np.prod(self._shape)) * self.dtype.itemsize))
        for first in range(0, len(self), size):
            yield np.asarray(self[first : first + size])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        for row, picture in enumerate(self):
            found[row] = picture
        return found

    def astype(self, dtype: Any) -> Array:
        """The pictures in memory."""
        return np.asarray(self, dtype=dtype)


def blocks_of(pictures: Any) -> Iterator[Array]:
    """Arrays ``(k, H, W, ...)`` of all pictures in order: one, or several of those on disk."""
    if isinstance(pictures, DiskPictures):
        yield from pictures.blocks()
    else:
        yield pictures


def in_memory(pictures: Any) -> Any:
    """The pictures as they are; those on disk as an array."""
    return np.asarray(pictures) if isinstance(pictures, DiskPictures) else pictures


def join_pictures(parts: Sequence[Any]) -> Any:
    """The pictures of several parts: an array, or on disk if all of them are."""
    if not all(isinstance(part, DiskPictures) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts])
    values = [value for part in parts for value in part.values] if parts[0]._values else None
    return DiskPictures(Together(parts), parts[0].shape[1:], parts[0].dtype, values)
