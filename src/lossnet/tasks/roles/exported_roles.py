"""What is exported of a role labeler: a tagger that also reads the predicate's position."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from lossnet.exporting import Exported
from lossnet.tasks.roles.predicates import MARK, NO_MARK, PREDICATE, VERB
from lossnet.tasks.sequence.tagging import TaggingEstimator

_READS = "lines INDEX WORDS, the predicate's position from 0 and the words: 2 the dog barks"


class RoleExports(TaggingEstimator):
    """A tagger whose exported folder knows of predicates."""

    # Its valid tags of least energy are found in one step, with the predicate.
    exports_exact: ClassVar[bool] = False

    def _exported(self) -> Exported:
        found = super()._exported()
        facts = {"marked": PREDICATE, "marks": [MARK, NO_MARK], "verb": self.tags_.index(VERB)}
        return replace(found, model="tags:RoleModel", facts={**found.facts, **facts}, reads=_READS)
