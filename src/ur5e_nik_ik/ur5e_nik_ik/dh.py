"""Denavit-Hartenberg parameters of the UR5e: named sets, or a calibrated set from a file."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

# base_link is the DH base turned by pi about z (REP-103: x forward). Rz(pi) in front of joint 1
# is an offset of joint 1, so this offset is the only place where the two frames meet.
BASE_LINK_OFFSET = math.pi

_ALPHA = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)


@dataclass(frozen=True)
class DhParameters:
    """Standard DH parameters, six of each: link k is Rz(q + offset) Tz(d) Tx(a) Rx(alpha).

    Lengths in metres, angles in radians. The chain starts in base_link: offset[0] holds the turn
    by pi between base_link and the DH base.
    """

    name: str
    d: tuple[float, ...]
    a: tuple[float, ...]
    alpha: tuple[float, ...] = _ALPHA
    offset: tuple[float, ...] = (BASE_LINK_OFFSET, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for field in ("d", "a", "alpha", "offset"):
            values = np.asarray(getattr(self, field), dtype=float)
            if values.shape != (6,) or not np.isfinite(values).all():
                raise ValueError(f"DH set {self.name!r}: {field} must be six finite numbers")
        d, a = np.asarray(self.d), np.asarray(self.a)
        zero = np.concatenate([d[[1, 2]], a[[0, 3, 4, 5]]])
        if zero.any() or not np.allclose(self.alpha, _ALPHA, rtol=0.0, atol=1e-12):
            raise ValueError(
                f"DH set {self.name!r}: not a UR arm: d2, d3, a1, a4, a5 and a6 must be 0 and "
                "alpha (pi/2, 0, 0, pi/2, -pi/2, 0)"
            )
        if not (a[1] < 0.0 and a[2] < 0.0 and (d[[0, 3, 4, 5]] > 0.0).all()):
            raise ValueError(
                f"DH set {self.name!r}: not a UR arm: a2 and a3 must be negative and d1, d4, d5 and d6 positive"
            )


UR5E = DhParameters(
    "ur5e",
    d=(0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996),
    a=(0.0, -0.425, -0.3922, 0.0, 0.0, 0.0),
)

# The rounded lengths of Webots' UR5e model.
UR5E_WEBOTS = DhParameters(
    "ur5e_webots",
    d=(0.163, 0.0, 0.0, 0.134, 0.1, 0.1),
    a=(0.0, -0.425, -0.392, 0.0, 0.0, 0.0),
)

DH_SETS = {dh.name: dh for dh in (UR5E, UR5E_WEBOTS)}


def load_dh(name_or_path: str | Path) -> DhParameters:
    """Return the DH set of that name, or the one in that YAML file.

    A file holds `d` and `a`, six lengths each in metres, and perhaps `name`. Only lengths can be
    calibrated: with other angles the arm has no closed form.

    Raises:
        ValueError: no such set or file, or the file is no DH set of a UR arm.
    """
    if str(name_or_path) in DH_SETS:
        return DH_SETS[str(name_or_path)]
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(
            f"no DH set named {str(name_or_path)!r}: use one of {', '.join(DH_SETS)} or the path of a .yaml file"
        )
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"cannot read the DH file {path}: {error}") from error
    if not isinstance(content, dict) or not {"d", "a"} <= content.keys():
        raise ValueError(f"the DH file {path} must hold d and a, six lengths each")
    others = content.keys() - {"name", "d", "a"}
    if others:
        names = ", ".join(sorted(map(str, others)))
        raise ValueError(f"the DH file {path} holds {names}: only name, d and a are used, angles are those of the UR5e")
    return DhParameters(str(content.get("name", path.stem)), _six(content["d"], path), _six(content["a"], path))


def _six(values: object, path: Path) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ValueError(f"the DH file {path} must hold d and a, six lengths each") from error
