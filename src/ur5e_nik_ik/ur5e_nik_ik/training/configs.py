"""What is trained: one dataclass, one entry a network."""

import math
from dataclasses import dataclass

from ur5e_nik_ik.network import DOMAINS


@dataclass(frozen=True)
class TrainingConfig:
    """Everything a training run depends on, besides the DH set.

    Attributes:
        name: of the network and of its files.
        kind: what the network may be asked (network.KINDS).
        branches: branch codes that it answers (closed_form's order).
        hidden: width of every hidden layer.
        domain: where it answers, kept in the model card; metres and radians.
        samples: targets of one set, for each perceptron.
        adam_steps: steps of Adam in float32, each on a set of its own.
        learning_rate: of Adam at the start; it falls to zero along a cosine.
        newton_steps: steps of Levenberg-Marquardt in float64 after that.
        refresh: Levenberg-Marquardt steps after which a new set is drawn.
        single: the weights are stored as float32.
        margin: how far beyond the domain the training targets reach [m].
        position_weight: residual for a position error of 1 m.
        orientation_weight: residual for an orientation error of 1 rad.
        data_weight: residual for an error of 1 in an output; it only has to hold the branch.
        goal_mm: a mean position error above it means that the run did not work [mm].
        seed: of the weights and of the training targets.
    """

    name: str
    kind: str
    branches: tuple[int, ...]
    hidden: tuple[int, ...]
    domain: dict
    samples: int
    adam_steps: int
    learning_rate: float
    newton_steps: int
    refresh: int
    single: bool = False
    margin: float = 0.005
    position_weight: float = 1000.0
    orientation_weight: float = 300.0
    data_weight: float = 1.0
    goal_mm: float = 10.0
    seed: int = 0

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Bounds of what the targets are drawn from [m]; none where any pose goes."""
        return [tuple(self.domain[axis]) for axis in DOMAINS[self.kind]]


TOOL_DOWN = TrainingConfig(
    name="tool-down",
    kind="tool_down",
    # The wrist that reaches outwards, both shoulders, both elbows: they exist in the whole domain.
    branches=(0, 1, 6, 7),
    hidden=(24, 24),
    domain={"radius": [0.25, 0.80], "height": [-0.05, 0.45], "tilt": math.radians(1.0)},
    samples=1200,
    adam_steps=1000,
    learning_rate=1e-2,
    newton_steps=200,
    refresh=20,
)

ANY_POSE = TrainingConfig(
    name="any-pose",
    kind="any_pose",
    branches=tuple(range(8)),
    hidden=(40, 40),
    domain={},
    samples=6000,
    adam_steps=1000,
    learning_rate=1e-2,
    newton_steps=300,
    refresh=20,
    goal_mm=30.0,
    data_weight=5.0,
)

# The network that the project began with.
REFERENCE = TrainingConfig(
    name="reference",
    kind="position",
    branches=(0,),
    hidden=(512, 512, 512),
    domain={
        "x": [0.30, 0.70],
        "y": [-0.35, 0.35],
        "z": [0.05, 0.45],
        "tilt": math.radians(1.0),
        "yaw": math.radians(1.0),
    },
    samples=500,
    adam_steps=4000,
    learning_rate=1e-3,
    newton_steps=100,
    refresh=1,
    single=True,
    goal_mm=50.0,
)

CONFIGS = {config.name: config for config in (TOOL_DOWN, ANY_POSE, REFERENCE)}
