from lossnet.comparison.page import (
    write_page as write_page,
)
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
from lossnet.comparison.significance import (
    Difference as Difference,
)
from lossnet.comparison.significance import (
    differences as differences,
)
from lossnet.comparison.significance import (
    ratio_scores as ratio_scores,
)
from lossnet.comparison.standing import (
    method_differences as method_differences,
)
from lossnet.comparison.storage import (
    load_comparison as load_comparison,
)
