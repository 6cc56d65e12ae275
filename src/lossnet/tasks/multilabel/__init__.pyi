from lossnet.data.disk_csr import (
    open_csr as open_csr,
)
from lossnet.tasks.multilabel.builtin import (
    BUILTIN as BUILTIN,
)
from lossnet.tasks.multilabel.classifier import (
    MultiLabelClassifier as MultiLabelClassifier,
)
from lossnet.tasks.multilabel.dataset import (
    MultiLabelData as MultiLabelData,
)
from lossnet.tasks.multilabel.digits import (
    contradicts as contradicts,
)
from lossnet.tasks.multilabel.digits import (
    digits_attributes as digits_attributes,
)
from lossnet.tasks.multilabel.digits import (
    digits_completion as digits_completion,
)
from lossnet.tasks.multilabel.formats.readers import (
    load_files as load_files,
)
from lossnet.tasks.multilabel.formats.sparse_writer import (
    write_sparse as write_sparse,
)
from lossnet.tasks.multilabel.inference_report import (
    InferenceGap as InferenceGap,
)
from lossnet.tasks.multilabel.inference_report import (
    inference_gap as inference_gap,
)
from lossnet.tasks.multilabel.inference_report import (
    refinement_curve as refinement_curve,
)
from lossnet.tasks.multilabel.ising_model import (
    Ising as Ising,
)
from lossnet.tasks.multilabel.ising_model import (
    ising as ising,
)
from lossnet.tasks.multilabel.loading import (
    load as load,
)
from lossnet.tasks.multilabel.loading import (
    load_splits as load_splits,
)
from lossnet.tasks.multilabel.metrics import (
    METRICS as METRICS,
)
from lossnet.tasks.multilabel.metrics import (
    Metric as Metric,
)
from lossnet.tasks.multilabel.metrics import (
    apply_threshold as apply_threshold,
)
from lossnet.tasks.multilabel.metrics import (
    evaluate as evaluate,
)
from lossnet.tasks.multilabel.metrics import (
    example_f1 as example_f1,
)
from lossnet.tasks.multilabel.metrics import (
    get_metric as get_metric,
)
from lossnet.tasks.multilabel.metrics import (
    hamming as hamming,
)
from lossnet.tasks.multilabel.metrics import (
    hamming_loss as hamming_loss,
)
from lossnet.tasks.multilabel.metrics import (
    jaccard as jaccard,
)
from lossnet.tasks.multilabel.metrics import (
    macro_f1 as macro_f1,
)
from lossnet.tasks.multilabel.metrics import (
    micro_f1 as micro_f1,
)
from lossnet.tasks.multilabel.metrics import (
    subset_accuracy as subset_accuracy,
)
from lossnet.tasks.multilabel.probability_metrics import (
    mean_average_precision as mean_average_precision,
)
from lossnet.tasks.multilabel.probability_metrics import (
    neg_log_loss as neg_log_loss,
)
from lossnet.tasks.multilabel.reliability_report import (
    Reliability as Reliability,
)
from lossnet.tasks.multilabel.reliability_report import (
    draw_reliability as draw_reliability,
)
from lossnet.tasks.multilabel.reliability_report import (
    reliability as reliability,
)
from lossnet.tasks.multilabel.sklearn_checks import (
    EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS,
)
from lossnet.tasks.multilabel.stratified import (
    stratified_folds as stratified_folds,
)
from lossnet.tasks.multilabel.stratified import (
    stratified_split as stratified_split,
)
from lossnet.tasks.multilabel.structured import (
    StructuredClassifier as StructuredClassifier,
)
from lossnet.tasks.multilabel.thresholds import (
    default_grid as default_grid,
)
from lossnet.tasks.multilabel.thresholds import (
    tune_threshold as tune_threshold,
)
