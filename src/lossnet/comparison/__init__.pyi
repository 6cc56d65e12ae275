from lossnet.comparison.result import (
    Comparison as Comparison,
)
from lossnet.comparison.result import (
    EnergyFigures as EnergyFigures,
)
from lossnet.comparison.result import (
    MeasuredRun as MeasuredRun,
)
from lossnet.comparison.result import (
    Missing as Missing,
)
from lossnet.comparison.storage import (
    load_comparison as load_comparison,
)
