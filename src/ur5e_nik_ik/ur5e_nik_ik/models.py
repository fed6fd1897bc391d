"""Where the networks of the package are, wherever it is installed."""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.network import NetworkError


def models_folder() -> Path:
    """Return the folder of the package's networks. Raises NetworkError where the package is not sourced."""
    try:
        return Path(get_package_share_directory("ur5e_nik_ik")) / "models"
    except PackageNotFoundError:
        raise NetworkError("the package ur5e_nik_ik is not sourced: start this with ./run exec") from None


def network_path(name: str, dh: DhParameters) -> Path:
    """Return the file of a network: of a path itself, or of the package's own by its name."""
    if name.endswith(".npz") or "/" in name:
        return Path(name)
    return models_folder() / f"{name}-{dh.name}.npz"
