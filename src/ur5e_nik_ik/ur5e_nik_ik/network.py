"""A trained inverse of the UR5e at run time: numpy and numba, no torch.

A network never learns what the arm's symmetries give for nothing. `canonicalise` takes them out of
the target and leaves the features, `uncanonicalise` puts them back into the joints, and a multilayer
perceptron stands in between. What is taken out depends on the kind:

TOOL_DOWN: the base azimuth and the tool's yaw. Features: radius and height of tool0. Outputs: the
    six joints of one branch, a perceptron a branch.
ANY_POSE: all of the wrist and of the shoulder. Joint 1 turns the plane of the arm through the
    wrist centre, d4 beside the base axis; seen in that plane, the angle between the tool's axis and
    its normal is joint 5, and the direction of the tool's axis is the sum of joints 2, 3 and 4.
    Two mirror images (of the plane about its vertical and its horizontal) bring all eight branches
    to one, so one perceptron serves them all. Features: the wrist centre, the direction of the
    tool's axis, and how far the elbow is from straight and from folded, as the square roots in
    which the joints are smooth there. Outputs: cosine and sine of joint 2, and joint 3.
POSITION: nothing. Features: x, y and z of tool0, tool down at yaw 0. Outputs: the six joints.
"""

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ur5e_nik_ik.closed_form import BRANCHES
from ur5e_nik_ik.compiled.affine import affine
from ur5e_nik_ik.compiled.arm import pack
from ur5e_nik_ik.compiled.kernel import kernel
from ur5e_nik_ik.dh import DhParameters

FORMAT_VERSION = 1

TOOL_DOWN, ANY_POSE, POSITION = range(3)
KINDS = {"tool_down": TOOL_DOWN, "any_pose": ANY_POSE, "position": POSITION}
_JOINTS = ("q1", "q2", "q3", "q4", "q5", "q6")
FEATURES: dict[str, tuple[str, ...]] = {
    "tool_down": ("radius", "height"),
    "any_pose": ("along", "up", "cos(q2+q3+q4)", "sin(q2+q3+q4)", "sqrt(far)", "sqrt(near)"),
    "position": ("x", "y", "z"),
}
OUTPUTS: dict[str, tuple[str, ...]] = {
    "tool_down": _JOINTS,
    "any_pose": ("cos(q2)", "sin(q2)", "q3"),
    "position": _JOINTS,
}

# Intervals of a model card's domain, by kind, and then the greatest tilt and yaw where they matter.
DOMAINS: dict[str, tuple[str, ...]] = {
    "tool_down": ("radius", "height"),
    "any_pose": (),
    "position": ("x", "y", "z"),
}

# Far above any network here; keeps a hostile file from filling the memory.
_MAX_BYTES = 64 * 2**20


class NetworkError(ValueError):
    """The file is not a network that can be used; the message says why."""


@kernel
def wrap(angle: float) -> float:
    """Wrap one angle [rad] to (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2.0 * math.pi)


@kernel
def covers_pose(kind: int, limits: np.ndarray, target: np.ndarray) -> bool:
    """Tell whether one pose of tool0 (4, 4) lies in a network's domain, `Network.limits`."""
    if kind == ANY_POSE:
        return True
    x, y, z = target[0, 3], target[1, 3], target[2, 3]
    tilt = math.sqrt(target[0, 2] * target[0, 2] + target[1, 2] * target[1, 2])
    if not (target[2, 2] < 0.0 and tilt <= limits[6]):
        return False
    if kind == TOOL_DOWN:
        radius = math.sqrt(x * x + y * y)
        return limits[0] <= radius <= limits[1] and limits[2] <= z <= limits[3]
    yaw = math.atan2(target[1, 0], target[0, 0])
    inside = limits[0] <= x <= limits[1] and limits[2] <= y <= limits[3] and limits[4] <= z <= limits[5]
    return inside and abs(yaw) <= limits[7]


@kernel
def canonicalise(
    kind: int, branch: int, arm: np.ndarray, target: np.ndarray, features: np.ndarray
) -> tuple[float, float, float, float, bool, bool]:
    """Fill the features of one pose (4, 4) in one branch; return what `uncanonicalise` needs of it."""
    x, y, z = target[0, 3], target[1, 3], target[2, 3]
    if kind == TOOL_DOWN:
        features[0], features[1] = math.sqrt(x * x + y * y), z
        azimuth = math.atan2(y, x)
        return azimuth, azimuth - math.atan2(target[1, 0], target[0, 0]), 0.0, 0.0, False, False
    if kind == POSITION:
        features[0], features[1], features[2] = x, y, z
        return 0.0, 0.0, 0.0, 0.0, False, False

    d1, a2, a3, d4, d5, d6 = arm[0], arm[1], arm[2], arm[3], arm[4], arm[5]
    # The wrist centre: `along` in the plane of the arm, d4 beside it, `up` from the shoulder.
    x, y, up = x - d6 * target[0, 2], y - d6 * target[1, 2], z - d6 * target[2, 2] - d1
    radius = math.sqrt(x * x + y * y)
    along = math.sqrt(max(0.0, radius * radius - d4 * d4))
    side = 1.0 if branch & 4 else -1.0
    theta1 = math.atan2(y * side * along + x * d4, x * side * along - y * d4)
    c1, s1 = math.cos(theta1), math.sin(theta1)
    # The axis of joint 2 seen from tool0 is (s5 c6, -s5 s6, c5).
    sign5 = 1.0 if branch & 2 else -1.0
    nx = s1 * target[0, 0] - c1 * target[1, 0]
    ny = s1 * target[0, 1] - c1 * target[1, 1]
    nz = s1 * target[0, 2] - c1 * target[1, 2]
    s5 = math.sqrt(nx * nx + ny * ny)
    theta5 = math.atan2(sign5 * s5, nz)
    theta6 = math.atan2(-sign5 * ny, sign5 * nx)
    # The tool's axis in the plane of the arm is -s5 (c234, s234).
    c234, s234 = -sign5 * (c1 * target[0, 2] + s1 * target[1, 2]), -sign5 * target[2, 2]
    norm = math.sqrt(c234 * c234 + s234 * s234)
    if norm > 0.0:
        c234, s234 = c234 / norm, s234 / norm
    else:
        c234, s234 = 1.0, 0.0
    theta234 = math.atan2(s234, c234)
    # Each mirror image also turns the elbow over.
    flip_along = side < 0.0
    flip_up = (branch & 1 == 1) != flip_along
    if flip_along:
        s234 = -s234
    if flip_up:
        up, c234 = -up, -c234
    p, q = along - d5 * s234, up + d5 * c234
    reach2 = p * p + q * q
    features[0], features[1], features[2], features[3] = along, up, c234, s234
    features[4] = math.sqrt(max(0.0, (a2 + a3) * (a2 + a3) - reach2))
    features[5] = math.sqrt(max(0.0, reach2 - (a2 - a3) * (a2 - a3)))
    return theta1, theta6, theta234, theta5, flip_along, flip_up


@kernel
def uncanonicalise(
    kind: int,
    arm: np.ndarray,
    taken: tuple[float, float, float, float, bool, bool],
    outputs: np.ndarray,
    joints: np.ndarray,
) -> None:
    """Fill joints (6,) [rad] from the outputs of a perceptron and from what `canonicalise` took."""
    turn1, turn6, theta234, theta5, flip_along, flip_up = taken
    if kind != ANY_POSE:
        for k in range(6):
            joints[k] = outputs[k]
        joints[0] = wrap(joints[0] + turn1)
        joints[5] = wrap(joints[5] + turn6)
        return
    theta2, theta3 = math.atan2(outputs[1], outputs[0]), outputs[2]
    if flip_up:
        theta2, theta3 = -theta2, -theta3
    if flip_along:
        theta2, theta3 = math.pi - theta2, -theta3
    joints[0] = wrap(turn1 - arm[6])
    joints[1] = wrap(theta2 - arm[7])
    joints[2] = wrap(theta3 - arm[8])
    joints[3] = wrap(theta234 - theta2 - theta3 - arm[9])
    joints[4] = wrap(theta5 - arm[10])
    joints[5] = wrap(turn6 - arm[11])


@kernel
def forward(kind: int, weights: np.ndarray, sizes: np.ndarray, values: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """Run one perceptron; return the one of the two scratch arrays that holds the outputs.

    Args:
        kind: POSITION has the activation x / (1 + exp(-x)), the others x / sqrt(1 + x^2).
        weights: (P,) layer after layer: matrix (inputs, outputs) in C order, then bias.
        sizes: (L + 1,) width of the features, of every hidden layer, and of the outputs.
        values: the features, in an array at least as long as the widest layer; overwritten.
        spare: another such array; overwritten.
    """
    start = 0
    layers = len(sizes) - 1
    for layer in range(layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        out = spare[:outputs]
        affine(weights[start:], values, inputs, out)
        if layer < layers - 1:
            if kind == POSITION:
                for j in range(outputs):
                    out[j] = out[j] / (1.0 + math.exp(-out[j]))
            else:
                # Smooth, and vectorised by the compiler where tanh is not.
                for j in range(outputs):
                    out[j] = out[j] / math.sqrt(1.0 + out[j] * out[j])
        start += (inputs + 1) * outputs
        values, spare = spare, values
    return values


@kernel
def predict_pose(
    kind: int,
    branch: int,
    arm: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    target: np.ndarray,
    work: np.ndarray,
    joints: np.ndarray,
) -> None:
    """Fill joints (6,) [rad] for one pose of tool0 in base_link. Allocates nothing.

    Args:
        kind: `Network.kind`.
        branch: the code wanted; it must be one of `Network.branches`.
        arm: `Network.arm`.
        weights: (P,) for that branch, `Network.weights[Network.slots[branch]]`.
        sizes: `Network.sizes`.
        target: the pose (4, 4).
        work: scratch (2, `Network.width`) of the weights' type.
        joints: the answer (6,), each in (-pi, pi]; raw, neither checked nor polished.
    """
    taken = canonicalise(kind, branch, arm, target, work[0])
    outputs = forward(kind, weights, sizes, work[0], work[1])
    uncanonicalise(kind, arm, taken, outputs, joints)


@kernel
def _predict(
    kind: int,
    arm: np.ndarray,
    weights: np.ndarray,
    sizes: np.ndarray,
    slots: np.ndarray,
    work: np.ndarray,
    target: np.ndarray,
    branch: np.ndarray,
    joints: np.ndarray,
) -> None:
    for n in range(len(target)):
        code = branch[n]
        predict_pose(kind, code, arm, weights[slots[code]], sizes, target[n], work, joints[n])


@kernel
def _features(kind: int, arm: np.ndarray, target: np.ndarray, branch: np.ndarray, features: np.ndarray) -> None:
    for n in range(len(target)):
        canonicalise(kind, branch[n], arm, target[n], features[n])


@kernel
def _covers(kind: int, limits: np.ndarray, target: np.ndarray, covered: np.ndarray) -> None:
    for n in range(len(target)):
        covered[n] = covers_pose(kind, limits, target[n])


def features_of(kind: int, target: np.ndarray, branch: np.ndarray, dh: DhParameters) -> np.ndarray:
    """Return the features (N, F) of poses (N, 4, 4) in the branches (N,), as a network sees them."""
    name = list(KINDS)[kind]
    features = np.empty((len(target), len(FEATURES[name])))
    _features(kind, pack(dh), target, branch, features)
    return features


@dataclass(frozen=True)
class Network:
    """Trained perceptrons with the card that says what they were trained for.

    Attributes:
        card: the model card, as in the .json file beside the weights.
        kind: TOOL_DOWN, ANY_POSE or POSITION.
        branches: codes it answers (see closed_form).
        arm: (12,) as arm.pack makes it.
        weights: (perceptrons, P), float64 or float32.
        sizes: (L + 1,) int64 width of the features, of every hidden layer and of the outputs.
        slots: (8,) int64 row of the weights for a branch code, -1 where it has none.
    """

    card: dict
    kind: int
    branches: tuple[int, ...]
    arm: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    slots: np.ndarray

    @classmethod
    def load(cls, path: str | Path, dh: DhParameters) -> "Network":
        """Read a .npz file that training wrote. Nothing in the file is executed.

        Raises:
            NetworkError: no file, not a network, other version, NaN, or not trained for dh.
        """
        arrays = _read(Path(path))
        try:
            card = json.loads(str(arrays["card"]))
            return cls.from_arrays(card, arrays["weights"], dh)
        except NetworkError as error:
            raise NetworkError(f"{path}: {error}") from None
        except Exception as error:  # as nearly anything can stand in a hostile card
            raise NetworkError(f"{path} is not a network of this project: {error!r}") from None

    @classmethod
    def from_arrays(cls, card: dict, weights: np.ndarray, dh: DhParameters) -> "Network":
        """Check a card and weights (branches, P) and make a network of them."""
        if card["version"] != FORMAT_VERSION:
            raise NetworkError(
                f"format version {card['version']!r}, this release reads {FORMAT_VERSION}: train it again"
            )
        kind = card["kind"]
        if kind not in KINDS:
            raise NetworkError(f"kind {kind!r} is none of {', '.join(KINDS)}")
        trained = np.array([card["dh"]["d"], card["dh"]["a"]], dtype=float)
        if not np.allclose(trained, [dh.d, dh.a], rtol=0.0, atol=1e-9):
            raise NetworkError(
                f"trained for the DH set {card['dh']['name']!r}, the arm is {dh.name!r}: train one with --dh {dh.name}"
            )
        branches = tuple(int(code) for code in card["branches"])
        if not branches or len(set(branches)) != len(branches):
            raise NetworkError("the branches must be named once each")
        if min(branches) < 0 or max(branches) >= BRANCHES:
            raise NetworkError(f"branch codes must be in 0..{BRANCHES - 1}")
        sizes = np.array([len(FEATURES[kind]), *card["hidden"], len(OUTPUTS[kind])], dtype=np.int64)
        if (sizes < 1).any() or (sizes > 4096).any():
            raise NetworkError("layers must be 1 to 4096 wide")
        parameters = int(((sizes[:-1] + 1) * sizes[1:]).sum())
        perceptrons = 1 if kind == "any_pose" else len(branches)
        if weights.shape != (perceptrons, parameters) or weights.dtype not in (np.float32, np.float64):
            raise NetworkError(
                f"weights are {weights.dtype} {weights.shape}, the card says floats {(perceptrons, parameters)}"
            )
        if not np.isfinite(weights).all():
            raise NetworkError("weights hold NaN or Inf: the training diverged")
        slots = np.full(BRANCHES, -1, dtype=np.int64)
        slots[list(branches)] = np.arange(len(branches)) if perceptrons > 1 else 0
        weights = np.array(weights, order="C")
        for array in (weights, sizes, slots):
            array.flags.writeable = False
        network = cls(card, KINDS[kind], branches, pack(dh), weights, sizes, slots)
        if not np.isfinite(network.limits).all():
            raise NetworkError("the domain holds NaN or Inf")
        return network

    @property
    def limits(self) -> np.ndarray:
        """The domain as covers_pose wants it (8,): three intervals, greatest tilt and yaw [m, rad]."""
        axes, domain = DOMAINS[self.card["kind"]], self.card["domain"]
        limits = np.zeros(8)
        for k, axis in enumerate(axes):
            limits[2 * k : 2 * k + 2] = domain[axis]
        if axes:
            limits[6], limits[7] = domain["tilt"], domain.get("yaw", 0.0)
        return limits

    @property
    def parameters(self) -> int:
        """Number of trained parameters, all branches together."""
        return self.weights.size

    @property
    def width(self) -> int:
        """Width of the widest layer: what scratch for predict_pose must hold."""
        return int(self.sizes.max())

    def covers(self, target: np.ndarray) -> np.ndarray:
        """Tell which poses of tool0 (N, 4, 4) lie in the domain of the training -> (N,) bool."""
        target = np.ascontiguousarray(target, dtype=float)
        covered = np.empty(len(target), dtype=bool)
        _covers(self.kind, self.limits, target, covered)
        return covered

    def predict(self, target: np.ndarray, branch: np.ndarray) -> np.ndarray:
        """Return joints (N, 6) [rad], each in (-pi, pi], raw: neither checked nor polished.

        Args:
            target: poses of tool0 in base_link (N, 4, 4).
            branch: the code wanted for each (N,).

        Raises:
            ValueError: a branch that this network was not trained for.
        """
        target = np.ascontiguousarray(target, dtype=float)
        branch = np.ascontiguousarray(branch, dtype=np.int64)
        if not np.isin(branch, self.branches).all():
            raise ValueError(f"this network answers the branches {self.branches} only")
        joints = np.empty((len(target), 6))
        work = np.zeros((2, self.width), dtype=self.weights.dtype)
        _predict(self.kind, self.arm, self.weights, self.sizes, self.slots, work, target, branch, joints)
        return joints


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise NetworkError(f"there is no network file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MAX_BYTES:
            raise NetworkError(f"{path} unpacks to {size} bytes, more than any network here")
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in ("card", "weights")}
    except NetworkError:
        raise
    except Exception as error:  # a damaged or hostile archive can raise nearly anything
        reason = str(error) or type(error).__name__
        raise NetworkError(f"{path} is not a network file (.npz): {reason}") from None
