"""The page in a real browser: it sorts, loads, fetches nothing, and fits a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_comparisons import of_labels, of_masks, of_tags, with_failures

from lossnet.comparison.data_page import write_data_page
from lossnet.comparison.page import write_page
from lossnet.tasks.description import Description, Listing

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")

LOADED = """
() => Promise.all(
  [...document.querySelectorAll("img, image")].map((found) => {
    const picture = new Image();
    picture.src = found.getAttribute("src") || found.getAttribute("href");
    return picture.decode().then(() => picture.naturalWidth > 0, () => false);
  }),
)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {"labels": with_failures(of_labels()), "tags": of_tags(), "masks": of_masks()}
    found = {name: write_page(one, folder / name) for name, one in made.items()}
    long = {f"a rather long name of the label with number {k}": 100.0 / (k + 1) for k in range(60)}
    description = Description(
        "data",
        [["rows", "3"], ["a fact", "with a value that is long enough to need a second line"]],
        ["a note"],
        [Listing("commonest labels", [["label", "rows"], ["a", "1,000"], ["b", "20"]], (1,))],
        {"labels": long},
        {"words": [1, 2, 2, 40]},
        (["a", "b"], of_labels().runs[1].energy.ties[:2, :2] + 5),
        10,
    )
    return found | {"data": write_data_page(description, folder / "data.html", command="lossnet")}


def opened(browser: Any, path: Path, width: int) -> tuple[Any, list[str]]:
    """The page, and everything it should not do."""
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else wrong.append(request.url)
        ),
    )
    page.goto(path.as_uri())
    return page, wrong


@pytest.mark.parametrize("name", ["labels", "tags", "masks", "data"])
def test_it_loads_and_fits_a_phone(browser: Any, pages: dict[str, Path], name: str) -> None:
    page, wrong = opened(browser, pages[name], 390)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 390
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate(width) <= 390
    loaded = page.evaluate(LOADED)
    assert all(loaded)
    assert bool(loaded) == (name != "tags")
    drawn = page.evaluate("[...document.querySelectorAll('svg')].map((one) => one.clientHeight)")
    assert min(drawn) > 0
    assert wrong == []
    page.close()


def test_the_table_sorts_by_click_and_by_key(browser: Any, pages: dict[str, Path]) -> None:
    page, wrong = opened(browser, pages["labels"], 1200)
    rows = page.locator("#results tbody tr")

    def names() -> list[str]:
        return [text.split()[0] for text in rows.locator("th").all_inner_texts()]

    best_first = ["dvn", "seal-nce", "cross-entropy", "logistic-regression"]
    assert names() == best_first
    head = page.locator("#results thead th", has_text="subset-accuracy")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert names() == best_first
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert names() == best_first[::-1]
    page.locator("#results thead th button").first.click()
    page.locator("#results thead th button").first.click()
    assert names() == sorted(best_first)
    # What is not known comes last, whichever way.
    epochs = page.locator("#cost thead th", has_text="epochs").locator("button")
    for _ in range(2):
        epochs.click()
        last = page.locator("#cost tbody tr").last.locator("th").inner_text()
        assert last.startswith("logistic-regression")
    assert wrong == []
    page.close()


def test_it_follows_dark_mode_and_prints_in_light(browser: Any, pages: dict[str, Path]) -> None:
    page, wrong = opened(browser, pages["labels"], 1200)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == "rgb(20, 23, 27)"
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000
    assert wrong == []
    page.close()
