"""Output that is safe for any terminal, whatever names the data holds."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import unicodedata
from collections.abc import Iterator

from lossnet.errors import SettingError
from lossnet.launch import process_rank

#: Categories of characters that control a terminal: controls, bidirectional overrides, lone
#: surrogates, line separators.
_CONTROL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LONGEST = 2000


def printable(text: str) -> str:
    r"""The text with terminal control characters escaped, except line ends and tabs.

    >>> print(printable("\x1b[31mred"))
    \u001b[31mred
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        _escaped(c) if c not in "\n\t" and unicodedata.category(c) in _CONTROL else c for c in text
    )


def one_line(message: object) -> str:
    """A message as one line, shortened in the middle where it is very long."""
    text = " ".join(str(message).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    return printable(text)


def to_stderr(message: object) -> None:
    """Print one line to standard error; a closed stream is no error."""
    with contextlib.suppress(OSError, ValueError):
        print(one_line(message), file=sys.stderr, flush=True)


def note(message: object) -> None:
    """Print a note for the user to standard error; of several processes, the first does."""
    if process_rank() == 0:
        to_stderr(f"lossnet: note: {message}")


def _escaped(character: str) -> str:
    """As JSON writes it, so that JSON lines stay JSON."""
    number = ord(character)
    if number < 0x10000:
        return f"\\u{number:04x}"
    high, low = divmod(number - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _escape_error(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


class _Screen(io.TextIOBase):
    """Standard output, with every text made printable."""

    def __init__(self, stream: io.TextIOBase) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(printable(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True


class _Closed(io.TextIOBase):
    """Standard output that was closed before the program began."""

    def write(self, text: str) -> int:
        raise SettingError("standard output is closed; redirect it to a file or to /dev/null")


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Escape what the terminal cannot show or must not receive; survive closed streams."""
    codecs.register_error("lossnet-escape", _escape_error)
    out, err = sys.stdout, sys.stderr
    if out is None or err is None:
        # Keeps the free descriptor from a file that is opened next.
        os.open(os.devnull, os.O_RDWR)
    for stream in (out, err):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="lossnet-escape")
    sys.stdout = _Closed() if out is None else _Screen(out)  # type: ignore[arg-type]
    if err is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def abandon_stdout() -> None:
    """Discard what standard output cannot write, so that no error follows at exit."""
    stream = sys.stdout
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
