"""A learned loss in a scikit-learn pipeline, with its weight chosen by cross-validation."""

from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from lossnet import MultiLabelClassifier
from lossnet.tasks.multilabel import example_f1, load_splits

splits = load_splits("digits-attributes")
model = make_pipeline(
    MinMaxScaler(),
    MultiLabelClassifier("seal-nce", hidden=(64,), max_epochs=10, random_state=0),
)
search = GridSearchCV(
    model,
    {"multilabelclassifier__method__energy_weight": [0.3, 1.0]},
    scoring=make_scorer(example_f1),
    cv=2,
)
search.fit(splits.train.X, splits.train.Y)
print("best:", search.best_params_)
print("test F1:", round(search.score(splits.test.X, splits.test.Y), 3))
