from lossnet.data.brackets import (
    Bracket as Bracket,
)
from lossnet.data.brackets import (
    Tree as Tree,
)
from lossnet.tasks.sequence.bracket_metrics import (
    BracketScores as BracketScores,
)
from lossnet.tasks.sequence.bracket_metrics import (
    bracket_scores as bracket_scores,
)
from lossnet.tasks.sequence.conll import (
    ConllFormat as ConllFormat,
)
from lossnet.tasks.sequence.conll import (
    read_conll as read_conll,
)
from lossnet.tasks.sequence.conll import (
    write_conll as write_conll,
)
from lossnet.tasks.sequence.folders import (
    load_sequence_splits as load_sequence_splits,
)
from lossnet.tasks.sequence.folders import (
    load_sequences as load_sequences,
)
from lossnet.tasks.sequence.references import (
    read_references as read_references,
)
from lossnet.tasks.sequence.references import (
    tokenise_reference as tokenise_reference,
)
from lossnet.tasks.sequence.rewards import (
    Reward as Reward,
)
from lossnet.tasks.sequence.rewards import (
    Rewarded as Rewarded,
)
from lossnet.tasks.sequence.rewards import (
    RewardFunction as RewardFunction,
)
from lossnet.tasks.sequence.sentences import (
    SequenceData as SequenceData,
)
from lossnet.tasks.sequence.span_metrics import (
    SpanScore as SpanScore,
)
from lossnet.tasks.sequence.span_metrics import (
    SpanScores as SpanScores,
)
from lossnet.tasks.sequence.span_metrics import (
    span_scores as span_scores,
)
from lossnet.tasks.sequence.span_metrics import (
    token_accuracy as token_accuracy,
)
from lossnet.tasks.sequence.structured_tagger import (
    StructuredTagger as StructuredTagger,
)
from lossnet.tasks.sequence.tagger import (
    SequenceTagger as SequenceTagger,
)
from lossnet.tasks.sequence.tags import (
    Span as Span,
)
from lossnet.tasks.sequence.tags import (
    detect_scheme as detect_scheme,
)
from lossnet.tasks.sequence.tags import (
    from_spans as from_spans,
)
from lossnet.tasks.sequence.tags import (
    spans as spans,
)
from lossnet.tasks.sequence.tags import (
    to_scheme as to_scheme,
)
from lossnet.tasks.sequence.tree_coding import (
    decode_tree as decode_tree,
)
from lossnet.tasks.sequence.tree_coding import (
    encode_tree as encode_tree,
)
from lossnet.tasks.sequence.trees import (
    TreeData as TreeData,
)
from lossnet.tasks.sequence.trees import (
    read_trees as read_trees,
)
from lossnet.tasks.sequence.trees import (
    write_trees as write_trees,
)
