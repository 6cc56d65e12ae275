"""Search of settings on validation data: spaces, studies that several workers share, results."""

from lossnet.ranges import Around, Choice, Range
from lossnet.searching.pictures import draw_search
from lossnet.searching.results import SearchResult, TrialRow
from lossnet.searching.search import search
from lossnet.searching.space import space_of

__all__ = [
    "Around",
    "Choice",
    "Range",
    "SearchResult",
    "TrialRow",
    "draw_search",
    "search",
    "space_of",
]
