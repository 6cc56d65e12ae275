"""What the papers set for rows of features: ``preset="paper"`` of ``MultiLabelClassifier``.

SEAL (papers 000 and 001) is as its authors released it: a line of the table below for every data
set and method, read off their configurations, rounded to four digits. Plain ``"paper"`` is bibtex.

How the released runs differ from these, and why:

- The released loss of the loss-net is a sum over the batch, ours a mean: with AdamW that changes
  nothing but the gradient clip of energy networks, which is divided by the batch size here.
- torch's ``patience=5`` lowers a rate at the sixth epoch without improvement: ``plateau=6``.
- Faults of the released code are not reproduced: in SEAL-static most of the loss-net stayed random;
  in seal-margin the cost-augmented output was dropped and outputs passed sigmoid twice; SPEN's cost
  had no gradient; a frozen loss-net kept its dropout. So expect other numbers for these rows.
- The task-net's pass, with its dropout, serves all loss-net steps of a round; the released code
  made a new one for each.
- eurlexev's released ranking run subtracts log q, as NCE does, and is left out.
- nce-energy stops by its own validation loss, not by the F1 of its predictions.
- Their spo_fun and expr_fun count the hierarchy's root as a label: ``MultiLabelData.with_root``.
- In seal-static the net that supplies noise learns at the task-net's rate; the released one was a
  cross-entropy model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lossnet.tasks.presets import Papers, Row

#: nets: layers and their width; p: dropout; g: width of the global energy; steps per batch, 9+1x5
#: being five rounds of 9 loss-net steps and 1 task-net step; E_lr, F_lr: learning rates of loss-net
#: and task-net, decay: their weight decay; l1, l2: weights of energy and cross-entropy, λ1 and λ2;
#: K: candidates; size: of the noise (regression-s), or of the steps of inference.
_SEAL = """
method                 nets  p   g   steps  E_lr     F_lr     decay    l1       l2     K   size
[bibtex]
cross-entropy          2x400 0.4 200 -      -        0.005    1e-5     -        -      -   -
spen                   2x400 0.5 200 -      1.704e-5 -        1e-5     -        -      -   0.006768
dvn                    1x300 0   200 -      0.00239  -        0.0638   -        -      -   0.04346
nce-energy             2x400 0.5 200 -      9.189e-4 -        1e-5     -        -      80  0.1
seal-static-margin     2x400 0.5 200 0+1x1  -        0.003535 1e-5     0.001074 -      -   -
seal-static-regression 2x400 0.3 200 0+1x10 -        0.002651 0.008538 0.04361  -      -   -
seal-static-nce        2x400 0.5 200 0+1x10 -        0.001518 1e-5     0.00678  -      -   -
seal-margin            2x400 0.5 200 1+6x1  6.882e-5 0.001594 1e-5     0.001525 3.89   -   -
seal-regression        2x400 0.5 200 9+1x1  0.005631 0.003087 3.372e-6 3.235    -      -   -
seal-regression-s      2x200 0.5 200 5+1x5  0.006602 0.001051 1e-5     9.936    -      10  1.124
seal-nce               2x400 0.5 200 12+1x5 4.513e-5 0.001168 1e-5     5.515    -      20  -
seal-ranking           2x400 0.5 200 9+1x10 4.477e-5 0.001443 1e-5     9.214    -      40  -
[cal500]
cross-entropy          5x500 0.2 200 -      -        0.009861 1e-5     -        -      -   -
spen                   5x500 0.2 200 -      1.08e-5  -        1e-5     -        -      -   0.0169
dvn                    5x500 0.3 200 -      6.518e-5 -        8.227e-6 -        -      -   0.1074
nce-energy             5x500 0.2 400 -      0.003538 -        1e-5     -        -      100 0.1
seal-static-margin     5x500 0.2 400 0+1x1  -        0.007144 1e-5     0.04146  -      -   -
seal-static-regression 5x500 0.3 200 0+1x10 -        0.01023  0.001372 0.1172   -      -   -
seal-static-nce        5x500 0.2 400 0+1x10 -        0.005596 1e-5     0.1077   -      -   -
seal-margin            5x500 0.2 400 1+10x1 5.102e-4 0.008267 1e-5     0.004897 3.992  -   -
seal-regression        5x500 0.2 400 3+1x10 0.005993 0.006913 1e-5     1.379    -      -   -
seal-regression-s      5x500 0.2 400 9+1x5  0.008659 0.006228 1e-5     8.893    -      30  2.852
seal-nce               5x500 0.2 400 9+1x10 0.007793 0.004911 1e-5     0.4781   -      20  -
seal-ranking           5x500 0.2 400 6+1x5  0.002441 4.575e-5 1e-5     8.715    -      40  -
[delicious]
cross-entropy          2x500 0.1 200 -      -        0.003281 1e-5     -        -      -   -
spen                   2x400 0.1 200 -      0.002946 -        1e-5     -        -      -   0.006777
dvn                    2x500 0   200 -      0.001152 -        0.003905 -        -      -   0.1351
nce-energy             2x400 0.1 200 -      0.002046 -        1e-5     -        -      80  0.1
seal-static-margin     2x400 0.5 200 0+1x1  -        0.005556 1e-5     0.001366 -      -   -
seal-static-regression 2x500 0   200 0+1x5  -        0.001124 0.003956 2.514    -      -   -
seal-static-nce        2x400 0.1 200 0+1x5  -        6.3e-4   1e-5     0.002915 -      -   -
seal-margin            2x400 0.2 200 1+1x1  0.002697 0.004973 1e-5     0.001177 5.603  -   -
seal-regression        2x400 0.5 200 3+1x5  1.137e-4 0.001757 1e-5     9.266    -      -   -
seal-regression-s      2x400 0.5 200 6+1x1  1.289e-4 0.003305 1e-5     9.848    -      5   0.6029
seal-nce               2x400 0.5 200 6+1x5  0.003732 8.478e-4 1e-5     0.9102   -      20  -
seal-ranking           2x400 0.5 200 3+1x10 8.593e-4 9.949e-5 1e-5     1.005    -      80  -
[eurlexev]
cross-entropy          2x500 0.1 200 -      -        0.005    1e-5     -        -      -   -
spen                   2x500 0.1 200 -      1.295e-5 -        1e-5     -        -      -   0.006851
dvn                    2x500 0.2 200 -      1.603e-4 -        0.03959  -        -      -   0.05492
nce-energy             2x500 0.1 300 -      1.147e-5 -        1e-5     -        -      40  0.1
seal-static-margin     2x500 0.1 200 0+1x1  -        0.004568 1e-5     0.0042   -      -   -
seal-static-regression 2x500 0.2 200 0+1x1  -        0.003619 0.001449 2.429    -      -   -
seal-static-nce        2x500 0.1 300 0+1x1  -        0.003194 1e-5     0.07121  -      -   -
seal-margin            2x500 0.2 300 1+5x1  3.401e-4 0.002088 1e-5     0.001641 0.8189 -   -
seal-regression        2x500 0.1 300 6+1x5  2.215e-4 0.002325 1e-5     0.001102 -      -   -
seal-regression-s      2x500 0.1 300 12+1x1 5.263e-5 0.006438 1e-5     0.07781  -      35  0.06001
seal-nce               2x500 0.1 300 6+1x5  4.985e-4 0.0025   1e-5     1.497    -      40  -
[expr_fun]
cross-entropy          4x200 0.2 200 -      -        0.005    1e-5     -        -      -   -
spen                   4x200 0.2 200 -      1.016e-5 -        1e-5     -        -      -   0.007178
dvn                    4x200 0.2 400 -      2.843e-4 -        1.022e-4 -        -      -   0.5726
nce-energy             4x200 0.2 400 -      2.366e-4 -        1e-5     -        -      100 0.1
seal-static-margin     4x200 0.2 200 0+1x1  -        0.002092 1e-5     0.001131 -      -   -
seal-static-regression 4x200 0.2 400 0+1x1  -        0.001663 0.001254 0.02646  -      -   -
seal-static-nce        4x200 0.2 400 0+1x5  -        0.00131  1e-5     0.00137  -      -   -
seal-margin            4x200 0.2 400 1+5x1  1.03e-4  0.001217 1e-5     0.001121 4.04   -   -
seal-regression        4x200 0.2 400 9+1x5  3.269e-4 5.899e-4 1e-5     0.1378   -      -   -
seal-regression-s      4x200 0.2 400 9+1x5  3.164e-5 8.778e-4 1e-5     0.0212   -      5   0.2171
seal-nce               4x200 0.2 400 6+1x10 5.252e-5 2.164e-4 1e-5     4.141    -      80  -
seal-ranking           4x200 0.2 400 6+1x5  0.01022  5.224e-4 1e-5     1.046    -      40  -
[genbase]
cross-entropy          1x400 0   200 -      -        0.001981 1e-5     -        -      -   -
spen                   1x400 0   200 -      4.229e-4 -        1e-5     -        -      -   0.01055
dvn                    1x400 0   200 -      8.456e-4 -        0.02363  -        -      -   0.1094
nce-energy             1x400 0   200 -      3.223e-4 -        1e-5     -        -      80  0.1
seal-static-margin     1x400 0   200 0+1x1  -        0.002259 1e-5     0.03362  -      -   -
seal-static-regression 1x400 0   200 0+1x10 -        0.001014 0.001961 0.454    -      -   -
seal-static-nce        1x400 0   200 0+1x10 -        7.947e-4 1e-5     0.004078 -      -   -
seal-margin            1x400 0   400 1+10x1 2.697e-4 7.418e-4 1e-5     0.01014  7.529  -   -
seal-regression        1x400 0   200 6+1x10 3.66e-4  0.001365 1e-5     0.002435 -      -   -
seal-regression-s      1x400 0   200 3+1x10 4.636e-4 9.966e-4 1e-5     0.02758  -      20  3.996
seal-nce               1x400 0   200 9+1x10 5.472e-4 0.001246 1e-5     0.002031 -      100 -
seal-ranking           1x400 0   200 3+1x10 1.691e-5 0.001663 1e-5     0.001927 -      100 -
[spo_fun]
cross-entropy          4x300 0.1 200 -      -        0.01     1e-5     -        -      -   -
spen                   4x300 0.1 200 -      1.037e-5 -        1e-5     -        -      -   0.008152
dvn                    4x300 0.3 200 -      2.033e-4 -        7.538e-4 -        -      -   0.3464
nce-energy             4x300 0.1 300 -      2.611e-4 -        1e-5     -        -      100 0.1
seal-static-margin     4x300 0.1 200 0+1x1  -        0.01001  1e-5     0.005083 -      -   -
seal-static-regression 4x300 0.3 200 0+1x10 -        0.001646 5.91e-4  0.1107   -      -   -
seal-static-nce        4x300 0.1 300 0+1x1  -        0.005691 1e-5     0.002295 -      -   -
seal-margin            4x300 0.2 300 1+10x1 7.931e-5 0.002243 1e-5     0.00521  0.6304 -   -
seal-regression        4x300 0.1 300 12+1x5 0.00139  1.549e-4 1e-5     9.049    -      -   -
seal-regression-s      5x500 0.2 400 9+1x10 2.121e-4 9.355e-4 1e-5     0.01938  -      10  0.09103
seal-nce               4x300 0.1 300 3+1x10 0.008205 5.437e-4 1e-5     1        -      40  -
seal-ranking           4x300 0.1 300 3+1x5  0.00612  0.001089 1e-5     1.19     -      40  -
"""
#: Data whose real-valued columns are mapped to [0, 1]. The released files of these and of expr_fun
#: and spo_fun are normalised, how is not said; cross-entropy has the paper's F1 on cal500 in this
#: way, on spo_fun with centred and scaled columns, which are the default.
_NORMALISED = ("cal500", "eurlexev")
_BATCH = 32
_CUT: dict[str, Any] = {"threshold": 0.5, "decode": "threshold", "metric": "example-f1"}
_COMMON: dict[str, Any] = {
    **{**_CUT, "batch_size": _BATCH, "max_epochs": 300, "patience": 20},
    "constraints": (),  # not those of a hierarchy
}
_TASK = {"clip": 10.0, "plateau": 6}
_ENERGY = {"clip": None, "plateau": None}
#: Energy networks alone; their loss is a sum over the batch, but for SPEN's.
_ALONE = {"clip": 10.0 / _BATCH, "plateau": 6, "decay": False}

_SEARCHED = "the paper's is the best of a search on each data set, for its schedule"
_FEWER = "the paper's schedule takes an hour on bibtex, with early stopping"
_NETS = "one size for every data set"
WHY = {
    **dict.fromkeys(["hidden", "dropout", "global_hidden"], _NETS),
    **dict.fromkeys(["lr", "weight_decay", "energy_weight", "xent_weight", "samples"], _SEARCHED),
    **dict.fromkeys(["candidates"], _SEARCHED),
    **dict.fromkeys(["energy_steps", "task_steps", "rounds", "max_epochs", "patience"], _FEWER),
    "standardise": "the released files were normalised",
    "energy_dropout": "inference descends without dropout",
    "threshold": "a tuned cut predicts better; the paper cuts at 0.5",
    "decode": "the default leaves the threshold where validation data show a gain",
    "constraints": "the paper predicts without the hierarchy's rules",
    "entropy_weight": "not in the paper; keeps probabilities useful",
    "clip": "the length of AdamW's steps depends little on the gradient's",
    "plateau": "the paper lowers the rate of one net only, an epoch later",
    "decay": "rates that end at 0 serve plain steps of inference",
    "cost": "the metric's own cost; the paper's counts wrong labels",
    "first": "the other methods have the loss-net first",
    "inference": "plain steps on the value, as in the DVN paper; SEAL's code takes Adam's",
    "others": "as in DVN's code; SEAL's learns from adversarial outputs and the truth",
    "predict_steps": "as many as in training",
    "path": "followed through energies, the energy gains by bad outputs of the task-net",
    "start": "the net's output is nearer than three random points",
}


class _Line(NamedTuple):
    """One line of the table, as text; ``-`` where it has nothing to say."""

    data: str
    method: str
    layers: str
    dropout: str
    global_hidden: str
    steps: str
    energy_lr: str
    task_lr: str
    decay: str
    energy_weight: str
    xent_weight: str
    samples: str
    size: str

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        depth, width = map(int, self.layers.split("x"))
        dropout = float(self.dropout)
        nets = {"hidden": (width,) * depth, "dropout": dropout, "energy_dropout": dropout}
        columns = {"standardise": "min-max"} if self.data in _NORMALISED else {}
        return {**_COMMON, **columns, **nets, "global_hidden": int(self.global_hidden)}

    def rate(self, net: str) -> dict[str, float]:
        """Learning rate and weight decay of a net."""
        return {"lr": float(getattr(self, f"{net}_lr")), "weight_decay": float(self.decay)}

    @property
    def schedule(self) -> dict[str, int]:
        """Steps per batch."""
        energy, task, rounds = map(int, self.steps.replace("x", "+").split("+"))
        return {"energy_steps": energy, "task_steps": task, "rounds": rounds}


def _lines() -> dict[tuple[str, str], _Line]:
    found, data = {}, ""
    for text in _SEAL.strip().splitlines()[1:]:
        if text.startswith("["):
            data = text.strip("[]")
        else:
            line = _Line(data, *text.split())
            found[data, line.method] = line
    return found


_LINES = _lines()
#: The energy network that a static loss-net is trained as.
_STATIC = {
    "seal-static-margin": "spen",
    "seal-static-regression": "dvn",
    "seal-static-nce": "nce-energy",
}


def _method_params(line: _Line) -> dict[str, Any]:
    if line.method == "cross-entropy":
        return {"task_optimiser": {**line.rate("task"), **_TASK}}
    if line.method in _STATIC:
        return _static(line)
    if not line.method.startswith("seal"):
        return _alone(line)
    found: dict[str, Any] = {
        **{"energy_weight": float(line.energy_weight), **line.schedule},
        "energy_optimiser": {**line.rate("energy"), **_ENERGY},
        "task_optimiser": {**line.rate("task"), **_TASK},
    }
    if line.method == "seal-margin":
        found |= {"xent_weight": float(line.xent_weight), "cost": "l1", "first": "task"}
    elif line.method == "seal-regression-s":
        found["candidates"] = {"k": int(line.samples), "std": float(line.size)}
    elif line.method != "seal-regression":
        found["samples"] = int(line.samples)
    return found | ({"entropy_weight": 0.0} if line.method == "seal-nce" else {})


def _alone(line: _Line) -> dict[str, Any]:
    """An energy network that predicts by inference."""
    inference: dict[str, Any] = {"steps": 20, "lr": float(line.size)}
    optimiser = {**line.rate("energy"), **_ALONE}
    if line.method == "dvn":
        inference |= {"adam": True, "keep": "best", "on": "value"}
        chosen = {"others": "adversarial", "predict_steps": 30}
        return {"inference": inference, "energy_optimiser": optimiser, **chosen}
    start = _method_params(_LINES[line.data, "cross-entropy"])
    found = {"inference": inference, "energy_optimiser": optimiser, **start}
    if line.method == "nce-energy":
        return {**found, "samples": int(line.samples), "start": "random"}
    optimiser["clip"] = _TASK["clip"]
    return found


def _static(line: _Line) -> dict[str, Any]:
    """A loss-net as an energy network has it, and the task-net against it."""
    taken = ("inference", "energy_optimiser", "samples")
    energy = _alone(_LINES[line.data, _STATIC[line.method]])
    found: dict[str, Any] = {key: energy[key] for key in taken if key in energy}
    if line.method == "seal-static-nce":
        del found["inference"]
        found["entropy_weight"] = 0.0
    return {
        **found,
        **{"energy_weight": float(line.energy_weight), "task_steps": line.schedule["rounds"]},
        "task_optimiser": {**line.rate("task"), **_TASK},
    }


#: ALEN (paper 004, experiments): DVN's energy network, and a net of two layers. The paper found
#: learning rates and weights by a grid search and does not print them.
_ALEN = Row({**_CUT, "hidden": (150,), "global_hidden": 16})
#: Paper 002 (section 3.3 and Eq. 3) prints no sizes, rates or steps, and its Hessian is indefinite
#: early in training: nets, schedule, damping and curvature stay.
_IMPLICIT = Row(_CUT, {"path": "all"})
_IMPLICIT_NCE = Row(_CUT, {"path": "all", "entropy_weight": 0.0})


def _rows() -> dict[str, dict[str, Row]]:
    rows: dict[str, dict[str, Row]] = {}
    for (data, method), line in _LINES.items():
        rows.setdefault(method, {})[data] = Row(line.parameters, _method_params(line))
    rows |= {method: {"bibtex": _ALEN, "bookmarks": _ALEN} for method in ("alen", "aen")}
    for method in ("ssvm", "dvn", "cd", "nce"):
        row = _IMPLICIT_NCE if method == "nce" else _IMPLICIT
        rows[f"implicit-{method}"] = dict.fromkeys(("bibtex", "delicious", "eurlexev"), row)
    return rows


PAPERS = Papers(_rows(), WHY)
