from lossnet import (
    comparison as comparison,
)
from lossnet import (
    constraints as constraints,
)
from lossnet import (
    contrasts as contrasts,
)
from lossnet import (
    costs as costs,
)
from lossnet import (
    data as data,
)
from lossnet import (
    decisions as decisions,
)
from lossnet import (
    encoders as encoders,
)
from lossnet import (
    energies as energies,
)
from lossnet import (
    gradients as gradients,
)
from lossnet import (
    nets as nets,
)
from lossnet import (
    objectives as objectives,
)
from lossnet import (
    proposals as proposals,
)
from lossnet import (
    recipes as recipes,
)
from lossnet import (
    reports as reports,
)
from lossnet import (
    searching as searching,
)
from lossnet import (
    spaces as spaces,
)
from lossnet import (
    structure as structure,
)
from lossnet import (
    tasks as tasks,
)
from lossnet import (
    terms as terms,
)
from lossnet import (
    testing as testing,
)
from lossnet import (
    training as training,
)
from lossnet.comparison.api import (
    compare as compare,
)
from lossnet.context import (
    Batch as Batch,
)
from lossnet.context import (
    Context as Context,
)
from lossnet.learned_loss import (
    LearnedLoss as LearnedLoss,
)
from lossnet.method import (
    Method as Method,
)
from lossnet.method import (
    Optimiser as Optimiser,
)
from lossnet.method import (
    Phase as Phase,
)
from lossnet.method import (
    Update as Update,
)
from lossnet.objectives import (
    Compare as Compare,
)
from lossnet.objectives import (
    Compound as Compound,
)
from lossnet.objectives import (
    Judge as Judge,
)
from lossnet.objectives import (
    Part as Part,
)
from lossnet.recipes import (
    build as build,
)
from lossnet.searching import (
    search as search,
)
from lossnet.spaces import (
    Binary as Binary,
)
from lossnet.spaces import (
    Categorical as Categorical,
)
from lossnet.tasks.image.segmenter import (
    ImageSegmenter as ImageSegmenter,
)
from lossnet.tasks.multilabel.classifier import (
    MultiLabelClassifier as MultiLabelClassifier,
)
from lossnet.tasks.multilabel.structured import (
    StructuredClassifier as StructuredClassifier,
)
from lossnet.tasks.roles.labeler import (
    SemanticRoleLabeler as SemanticRoleLabeler,
)
from lossnet.tasks.sequence.structured_tagger import (
    StructuredTagger as StructuredTagger,
)
from lossnet.tasks.sequence.tagger import (
    SequenceTagger as SequenceTagger,
)
from lossnet.tasks.text.classifier import (
    TextClassifier as TextClassifier,
)
from lossnet.training import (
    Callback as Callback,
)
from lossnet.training import (
    Trainer as Trainer,
)

__version__: str
