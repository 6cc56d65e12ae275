"""Pictures of sentences with their roles: a row for each predicate, the truth under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from lossnet.checks import check_int
from lossnet.drawing.page import GREY, INK, RED, Page
from lossnet.errors import DataError
from lossnet.tasks.roles.metrics import GIVEN, arguments, is_core, repeated_roles
from lossnet.tasks.roles.predicates import RoleData
from lossnet.tasks.sequence.tags import Span, spans

MARGIN, GAP = 0.3, 0.1
ROW, BOX = 0.235, 0.185
"""Height of a row and of a box in it."""
WORD, ROLE = 9.0, 6.5
"""Sizes of the words' and of the roles' letters."""
COLOURS = {"0": "#8ab6e8", "1": "#f7bb7c", "2": "#96d39b", "3": "#c9a9e0", "4": "#d6b49c"}
OTHERS = ("#f2dd7e", "#9edad6", "#f5b9d6", "#c8d98f", "#c4c9d4", "#b5c8f0", "#e3cfa4", "#a9d9bd")
COLOURS |= dict(zip(["TMP", "LOC", "MNR", "ADV", "NEG", "MOD", "DIS", "ADJ"], OTHERS, strict=True))
TRUTH = "truth"
LONGEST = 30
"""Letters of a word that are shown."""


def draw_roles(
    data: RoleData,
    predictions: Mapping[str, Sequence[Sequence[str]]],
    path: str | Path,
    *,
    sentences: int = 6,
    predicates: int = 3,
    width: float = 11.0,
    title: str = "",
) -> Path:
    """Sentences, and under each a row of roles for every predicate and model, then the truth.

    Shown first are sentences with violations, a core role given twice, which is hatched in red;
    then those with errors; of these the ones nearest to 16 words. A long sentence goes on below.

    Args:
        data: the predicates, with their tags.
        predictions: predicted tags of each predicate, by the model's name.
        path: the picture to write; its suffix is the format.
        sentences: how many sentences at most.
        predicates: how many predicates of a sentence at most, those with violations first.
        width: of the picture, in inches.
        title: above the picture.
    """
    for name, value in (("sentences", sentences), ("predicates", predicates)):
        check_int(name, value)
    if not data.labelled or not predictions:
        raise DataError("a picture of roles needs their truth and predictions by a model's name")
    for name, tags in predictions.items():
        if list(map(len, tags)) != list(map(len, data.tokens)):
            raise DataError(f"{name}: predictions must be tags of the same {len(data)} predicates")
    names = ["predicted"] if len(predictions) == 1 else list(predictions)
    rows = {**dict(zip(names, predictions.values(), strict=True)), TRUTH: data.tags or []}
    page = Page()
    y, end = MARGIN, 3.0
    if title:
        page.text(MARGIN, y, title, size=12, weight="bold")
        y, end = y + 0.4, page.width_of(title, size=12, weight="bold")
    shown = chosen_rows(data, list(predictions.values()), sentences, predicates)
    drawings = [_Drawing(page, data, rows, chosen, width) for chosen in shown]
    verbs = max(drawing.verb_width() for drawing in drawings)
    for drawing in drawings:
        y = drawing.draw(y, verbs) + 2 * GAP
        end = max(end, drawing.end)
    page.box(MARGIN, y, 0.22, 0.13, **_VIOLATION)
    page.text(MARGIN + 0.3, y + 0.065, "a core role given twice", size=7, color=GREY)
    return page.save(path, end + MARGIN, y + MARGIN)


_VIOLATION = {"facecolor": "none", "edgecolor": RED, "hatch": "//////", "linewidth": 1.3}


def chosen_rows(
    data: RoleData, predictions: Sequence[Sequence[Sequence[str]]], sentences: int, predicates: int
) -> list[list[int]]:
    """The rows to show, by sentence: violations first, then errors."""
    groups: dict[int, list[int]] = {}
    for row, number in enumerate(data.documents or ()):
        groups.setdefault(number, []).append(row)

    def rank(row: int) -> tuple[bool, bool]:
        gold = set(arguments((data.tags or [])[row]))
        violating = any(repeated_roles(tags[row]) for tags in predictions)
        return not violating, not any(set(arguments(tags[row])) != gold for tags in predictions)

    ranks = {row: rank(row) for rows in groups.values() for row in rows}

    def order(rows: list[int]) -> tuple[tuple[bool, bool], int]:
        return min(ranks[row] for row in rows), abs(len(data.tokens[rows[0]]) - 16)

    def empty(row: int) -> bool:
        return not any(arguments(tags[row]) for tags in (*predictions, data.tags or []))

    shown = sorted(groups.values(), key=order)[:sentences]
    kept = [[row for row in rows if not empty(row)] or rows[:1] for rows in shown]
    return [sorted(sorted(rows, key=ranks.__getitem__)[:predicates]) for rows in kept]


def colour_of(role: str) -> str:
    """A role's colour; C-X and R-X have that of X."""
    kind = short(role.removeprefix("C-").removeprefix("R-"))
    name = kind[-1] if is_core(kind) else kind
    return COLOURS.get(name) or OTHERS[crc32(name.encode()) % len(OTHERS)]


def short(role: str) -> str:
    """A role's name in its box: modifiers without ARGM."""
    return role.replace("ARGM-", "")


@dataclass
class _Drawing:
    """One sentence on a page."""

    page: Page
    data: RoleData
    rows: Mapping[str, Sequence[Sequence[str]]]
    chosen: Sequence[int]
    width: float

    def __post_init__(self) -> None:
        words = self.data.tokens[self.chosen[0]]
        self.words = [w if len(w) <= LONGEST else f"{w[: LONGEST - 1]}…" for w in words]
        # What stands in a row: its name, its spans, and the roles that it repeats.
        self.bars: list[list[tuple[str, list[Span], list[str]]]] = [
            [(name, spans(tags[k]), repeated_roles(tags[k])) for name, tags in self.rows.items()]
            for k in self.chosen
        ]
        self.verbs = [self.words[self.data.predicates[row]] for row in self.chosen]
        self.slots = self._slots()
        self.end = 0.0

    def verb_width(self) -> float:
        """The width of the column of predicates."""
        return max(self.page.width_of(v, size=8, weight="bold") for v in self.verbs) + GAP

    def _slots(self) -> list[float]:
        """The width of every word, or of what stands below it."""
        measured = {word: self.page.width_of(word, size=WORD) for word in set(self.words)}
        slots = [measured[word] + GAP for word in self.words]
        for role, start, end in (
            span for bars in self.bars for _, found, _ in bars for span in found
        ):
            missing = self.page.width_of(short(role), size=ROLE) + 1.2 * GAP
            slots[start] += max(missing - sum(slots[start:end]), 0.0)
        return slots

    def draw(self, y: float, verbs: float) -> float:
        """Draw it with its upper edge at y, in as many strips as it takes; the y below it.

        ``verbs`` is the width of the column of predicates.
        """
        names = max(self.page.width_of(name, size=7) for name in self.rows)
        self.name_place = MARGIN + verbs
        self.left = self.name_place + names + 1.5 * GAP
        start = 0
        while start < len(self.words):
            end, x = start + 1, self.left + self.slots[start]
            while end < len(self.words) and x + self.slots[end] < self.width - MARGIN:
                x += self.slots[end]
                end += 1
            y = self._strip(start, end, y) + GAP
            self.end, start = max(self.end, x), end
        return y

    def _strip(self, start: int, end: int, y: float) -> float:
        """The words from ``start`` to ``end``, and below them the rows of each predicate."""
        places = [self.left]
        for slot in self.slots[start:end]:
            places.append(places[-1] + slot)
        for word, x in zip(self.words[start:end], places, strict=False):
            self.page.text(x, y + 0.05, word, size=WORD)
        y += 0.22
        for verb, bars in zip(self.verbs, self.bars, strict=True):
            inside = [
                (name, [s for s in found if s.start < end and s.end > start], repeated)
                for name, found, repeated in bars
            ]
            if not any(found for _, found, _ in inside):
                continue
            self.page.text(MARGIN, y + BOX / 2, verb, size=8, weight="bold")
            for name, found, repeated in inside:
                self.page.text(self.name_place, y + BOX / 2, name, size=7, color=GREY)
                middle = (y + BOX / 2, y + BOX / 2)
                line = {"color": "#e4e4e4", "linewidth": 0.6, "zorder": 0}
                self.page.line((self.left, places[-1]), middle, **line)
                for span in found:
                    self._bar(span, (start, end), places, y, span.type in repeated)
                y += ROW
            y += 0.07
        return y

    def _bar(
        self, span: Span, strip: tuple[int, int], places: Sequence[float], y: float, again: bool
    ) -> None:
        """The box of a span, as far as it lies in the strip."""
        start, end = max(span.start, strip[0]) - strip[0], min(span.end, strip[1]) - strip[0]
        x, width = places[start] - 0.03, places[end] - places[start] - 0.04
        verb = span.type.removeprefix("C-") == GIVEN
        fill = "#555555" if verb else colour_of(span.type)
        self.page.box(x, y, width, BOX, facecolor=fill, edgecolor="none")
        if again:
            self.page.box(x, y, width, BOX, **_VIOLATION)
        label = short(span.type) + (" …" if span.end > strip[1] else "")
        style = {"bbox": {"facecolor": fill, "edgecolor": "none", "pad": 1}} if again else {}
        room = self.page.width_of(label, size=ROLE)
        size = ROLE * min(1.0, (width - 0.04) / room)
        x += max((width - room) / 2, 0.02) if width < 1.6 else 0.08
        colour = "white" if verb else INK
        self.page.text(x, y + BOX / 2 + 0.005, label, size=size, color=colour, **style)
