"""What is trained: one dataclass, one entry a network."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingConfig:
    """Everything a training run depends on, besides the DH set.

    Attributes:
        name: of the network and of its files.
        kind: what the network may be asked (network.KINDS).
        branches: branch codes that get a perceptron each (closed_form's order).
        hidden: width of every hidden layer.
        domain: where it answers, kept in the model card; metres and radians.
        margin: how far beyond the domain the training targets reach [m].
        samples: training targets a branch in one set; every set is drawn anew.
        adam_steps: steps of Adam, each on a set of its own.
        learning_rate: of Adam at the start; it falls to zero along a cosine.
        newton_steps: steps of Levenberg-Marquardt after Adam, in float64.
        refresh: Levenberg-Marquardt steps after which a new set is drawn.
        position_weight: residual for a position error of 1 m.
        orientation_weight: residual for an orientation error of 1 rad.
        data_weight: residual for a joint error of 1 rad; only has to hold the branch.
        goal_mm: a mean position error above it means that the run did not work [mm].
        seed: of the weights and of the training targets.
    """

    name: str
    kind: str
    branches: tuple[int, ...]
    hidden: tuple[int, ...]
    domain: dict
    margin: float
    samples: int
    adam_steps: int
    learning_rate: float
    newton_steps: int
    refresh: int
    position_weight: float = 1000.0
    orientation_weight: float = 300.0
    data_weight: float = 1.0
    goal_mm: float = 10.0
    seed: int = 0


TOOL_DOWN = TrainingConfig(
    name="tool-down",
    kind="tool_down",
    # The wrist that reaches outwards, both shoulders, both elbows: they exist in the whole domain.
    branches=(0, 1, 6, 7),
    hidden=(24, 24),
    domain={"radius": [0.25, 0.80], "height": [-0.05, 0.45], "tilt": math.radians(1.0)},
    margin=0.005,
    samples=2000,
    adam_steps=1000,
    learning_rate=1e-2,
    newton_steps=200,
    refresh=20,
)

CONFIGS = {config.name: config for config in (TOOL_DOWN,)}
