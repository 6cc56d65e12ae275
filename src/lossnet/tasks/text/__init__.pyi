from lossnet.tasks.text.classifier import (
    TextClassifier as TextClassifier,
)
from lossnet.tasks.text.reading import (
    load_text_splits as load_text_splits,
)
from lossnet.tasks.text.reading import (
    load_texts as load_texts,
)
from lossnet.tasks.text.records import (
    TextFormat as TextFormat,
)
from lossnet.tasks.text.texts import (
    TextData as TextData,
)
