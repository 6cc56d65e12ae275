"""Draw docs/architecture.png: the four floors of the package. Run it where the picture belongs."""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

#: From the top down: name, what it is, colour, rows of boxes, and how it stands on the next floor.
FLOORS = [
    (
        "Fronts",
        "what users run",
        "#dbe7f5",
        [["cli (commands)", "comparison", "searching", "reports"]],
        "know a task by its contract",
    ),
    (
        "Tasks",
        "one folder per\nkind of output",
        "#dff0dc",
        [
            ["multilabel", "sequence", "image", "yours"],
            ["Task · StructuredEstimator", "data/ formats"],
        ],
        "provide what a method needs",
    ),
    (
        "Methods",
        "parts assembled,\nand the one loop",
        "#fdf0d0",
        [["recipes", "training", "LearnedLoss"]],
        "put parts together",
    ),
    (
        "Parts",
        "mathematics: no\ndata, no files",
        "#f8dfdc",
        [
            ["nets", "encoders", "energies", "spaces", "proposals"],
            ["costs, terms", "contrasts", "objectives", "gradients", "decisions"],
        ],
        "",
    ),
]
LEFT, WIDTH, ROW, GAP, MARGIN = 2.3, 7.4, 0.62, 0.6, 0.17


def draw(path: str) -> None:
    """Draw the floors, an arrow from each to the one below."""
    figure, axes = plt.subplots(figsize=(8, 5.4))
    top = 0.0
    for name, what, colour, rows, stands_on in FLOORS:
        height = ROW * len(rows) + 2 * MARGIN
        axes.add_patch(plt.Rectangle((0, top - height), LEFT + WIDTH + 0.1, height, color=colour))
        middle = top - height / 2
        axes.text(0.2, middle, name, fontsize=13, weight="bold", va="bottom")
        axes.text(0.2, middle, what, fontsize=8, va="top", color="#444444")
        for number, boxes in enumerate(rows):
            draw_row(axes, boxes, top - MARGIN - ROW * number)
        top -= height
        if stands_on:
            arrow = {"arrowstyle": "-|>", "lw": 1.8, "color": "#444444"}
            axes.annotate("", (5.9, top - GAP), (5.9, top), arrowprops=arrow)
            axes.text(6.1, top - GAP / 2, stands_on, fontsize=9, va="center", style="italic")
        top -= GAP
    axes.set(xlim=(0, LEFT + WIDTH + 0.1), ylim=(top + GAP, 0))
    axes.axis("off")
    figure.savefig(path, dpi=130, bbox_inches="tight", pad_inches=0.08)


def draw_row(axes: plt.Axes, boxes: list[str], top: float) -> None:
    """Boxes of equal width next to each other."""
    width = WIDTH / len(boxes)
    for number, text in enumerate(boxes):
        left = LEFT + width * number
        style = "--" if text == "yours" else "-"
        axes.add_patch(
            plt.Rectangle(
                (left + 0.07, top - ROW + 0.06),
                width - 0.14,
                ROW - 0.12,
                facecolor="white",
                edgecolor="#666666",
                linestyle=style,
            )
        )
        axes.text(left + width / 2, top - ROW / 2, text, fontsize=9.5, ha="center", va="center")


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "architecture.png")
