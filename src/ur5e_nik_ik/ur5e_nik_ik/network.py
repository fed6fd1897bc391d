"""A trained inverse of the UR5e at run time: numpy and numba, no torch.

A network never learns what the arm's symmetries give for nothing: turning the target about the
base axis adds that angle to joint 1, and turning it about the tool's own axis only moves joint 6.
`canonicalise` takes both out of the target and leaves the features; `uncanonicalise` puts them
back into the joints. One small multilayer perceptron a branch stands in between.
"""

import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from ur5e_nik_ik.closed_form import BRANCHES
from ur5e_nik_ik.dh import DhParameters

FORMAT_VERSION = 1

# What a network may be asked, and how its features and outputs are to be read.
TOOL_DOWN = 0
KINDS = {"tool_down": TOOL_DOWN}
FEATURES = {"tool_down": 2}
OUTPUTS = {"tool_down": 6}

# Far above any network here; keeps a hostile file from filling the memory.
_MAX_BYTES = 64 * 2**20


class NetworkError(ValueError):
    """The file is not a network that can be used; the message says why."""


@njit(cache=True, error_model="numpy")
def canonicalise(kind, target, features):
    """Fill the features of one pose (4, 4); return the angles that joints 1 and 6 are turned by.

    TOOL_DOWN: features are the radius of tool0 from the base axis and its height [m].
    """
    x, y = target[0, 3], target[1, 3]
    features[0] = math.sqrt(x * x + y * y)
    features[1] = target[2, 3]
    azimuth = math.atan2(y, x)
    yaw = math.atan2(target[1, 0], target[0, 0])
    return azimuth, azimuth - yaw


@njit(cache=True, error_model="numpy")
def forward(weights, sizes, values, spare):
    """Run one perceptron on `values`; the outputs are in the array that is returned.

    Args:
        weights: (P,) layer after layer: matrix (inputs, outputs) in C order, then bias.
        sizes: (L + 1,) width of the features, of every hidden layer, and of the outputs.
        values, spare: two arrays at least as long as the widest layer; both are overwritten.
    """
    start = 0
    layers = len(sizes) - 1
    for layer in range(layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        bias = start + inputs * outputs
        for j in range(outputs):
            spare[j] = weights[bias + j]
        for i in range(inputs):
            value = values[i]
            row = start + i * outputs
            for j in range(outputs):
                spare[j] += value * weights[row + j]
        if layer < layers - 1:
            # x / sqrt(1 + x^2): smooth, and vectorised where tanh is not.
            for j in range(outputs):
                spare[j] = spare[j] / math.sqrt(1.0 + spare[j] * spare[j])
        start = bias + outputs
        values, spare = spare, values
    return values


@njit(cache=True, error_model="numpy")
def wrap(angle):
    """Wrap one angle [rad] to (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2.0 * math.pi)


@njit(cache=True, error_model="numpy")
def predict_pose(kind, weights, sizes, target, work, joints):
    """Fill `joints` (6,) [rad] for one pose of tool0 in base_link (4, 4). Allocates nothing.

    Args:
        kind: TOOL_DOWN.
        weights: (P,) of the branch that is wanted: `Network.weights[Network.slots[branch]]`.
        sizes: `Network.sizes`.
        work: (2, Network.width) scratch.
    """
    turn1, turn6 = canonicalise(kind, target, work[0])
    outputs = forward(weights, sizes, work[0], work[1])
    for k in range(6):
        joints[k] = outputs[k]
    joints[0] = wrap(joints[0] + turn1)
    joints[5] = wrap(joints[5] + turn6)


@njit(cache=True, error_model="numpy")
def _predict(kind, weights, sizes, slots, width, target, branch, joints):
    work = np.empty((2, width))
    for n in range(target.shape[0]):
        predict_pose(kind, weights[slots[branch[n]]], sizes, target[n], work, joints[n])


@dataclass(frozen=True)
class Network:
    """One small perceptron a branch, with the card that says what it was trained for.

    Attributes:
        card: the model card, as in the .json file beside the weights.
        kind: TOOL_DOWN.
        branches: codes it answers (see closed_form).
        weights: (branches, P), float64.
        sizes: (L + 1,) int64 width of the features, of every hidden layer and of the outputs.
        slots: (8,) int64 row of the weights for a branch code, -1 where it has none.
    """

    card: dict
    kind: int
    branches: tuple[int, ...]
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
        except (KeyError, TypeError, ValueError, IndexError) as error:
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
        sizes = np.array([FEATURES[kind], *card["hidden"], OUTPUTS[kind]], dtype=np.int64)
        if (sizes < 1).any() or (sizes > 4096).any():
            raise NetworkError("layers must be 1 to 4096 wide")
        parameters = int(((sizes[:-1] + 1) * sizes[1:]).sum())
        if weights.shape != (len(branches), parameters) or weights.dtype.kind != "f":
            raise NetworkError(
                f"weights are {weights.dtype} {weights.shape}, the card says floats {(len(branches), parameters)}"
            )
        if not np.isfinite(weights).all():
            raise NetworkError("weights hold NaN or Inf: the training diverged")
        _check_domain(kind, card["domain"])
        slots = np.full(BRANCHES, -1, dtype=np.int64)
        slots[list(branches)] = np.arange(len(branches))
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        for array in (weights, sizes, slots):
            array.flags.writeable = False
        return cls(card, KINDS[kind], branches, weights, sizes, slots)

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
        target = np.asarray(target, dtype=float)
        domain = self.card["domain"]
        radius = np.hypot(target[:, 0, 3], target[:, 1, 3])
        height = target[:, 2, 3]
        tilt = np.hypot(target[:, 0, 2], target[:, 1, 2])
        return (
            (radius >= domain["radius"][0])
            & (radius <= domain["radius"][1])
            & (height >= domain["height"][0])
            & (height <= domain["height"][1])
            & (tilt <= domain["tilt"])
            & (target[:, 2, 2] < 0.0)
        )

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
        _predict(self.kind, self.weights, self.sizes, self.slots, self.width, target, branch, joints)
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


def _check_domain(kind: str, domain: dict) -> None:
    if kind == "tool_down":
        values = [*domain["radius"], *domain["height"], domain["tilt"]]
        if len(values) != 5 or not np.isfinite(np.array(values, dtype=float)).all():
            raise NetworkError("the domain needs radius and height (two numbers each) and tilt")
