"""The control_msgs in use speaks to the real package: DDS matches types by these hashes."""

import json
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory

REAL = {
    "control_msgs/action/FollowJointTrajectory": "738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6",
    "control_msgs/msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
    "control_msgs/msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
}


@pytest.mark.parametrize("name", REAL)
def test_type_hash_is_the_real_package_s(name):
    package, kind, short = name.split("/")
    file = Path(get_package_share_directory(package), kind, f"{short}.json")
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(file.read_text())["type_hashes"]}
    assert hashes[name] == f"RIHS01_{REAL[name]}"
