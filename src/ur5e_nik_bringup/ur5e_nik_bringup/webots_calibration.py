"""The calibration of the Webots camera, computed from its pose in the scene description.

It is a file as `ros2 run ur5e_nik_vision calibrate` writes it; a calibration run replaces it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ur5e_nik_bringup.scene_file import load_scene

HEADER = (
    "# Made by: ros2 run ur5e_nik_bringup webots_calibration, from the camera's pose in the scene description.\n"
    "# Nothing was measured, so the residuals count 0 points. Metres in frame_id, pixels from the centre of the\n"
    "# first one. homography: pixel to (x, y) at plane_z.\n"
)


def calibration(scene: Mapping[str, Any], plane_z: float = 0.0) -> dict[str, Any]:
    """Content of the calibration file of a camera that looks straight down, image up = +x, image right = -y.

    The principal point is the picture's centre; the centre of the first pixel is (0, 0), so that is
    ((width - 1) / 2, (height - 1) / 2). Webots' own camera_info says half a pixel more: it counts from the corner.
    """
    camera = scene["overhead_camera"]
    width, height = camera["width"], camera["height"]
    x, y, z = map(float, camera["position"])
    focal = width / (2 * math.tan(math.radians(camera["horizontal_fov"]) / 2))
    center_x, center_y = (width - 1) / 2, (height - 1) / 2
    scale = (z - plane_z) / focal  # metres a pixel
    unmeasured = {"count": 0, "median": 0.0, "mean": 0.0, "max": 0.0}
    return {
        "image_size": [width, height],
        "frame_id": "base_link",
        "plane_z": plane_z,
        "homography": [[0.0, -scale, x + scale * center_y], [-scale, 0.0, y + scale * center_x], [0.0, 0.0, 1.0]],
        "camera_matrix": [[focal, 0.0, center_x], [0.0, focal, center_y], [0.0, 0.0, 1.0]],
        "distortion_model": "plumb_bob",
        "distortion": [0.0] * 5,
        "camera_position": [x, y, z],
        # Columns: the picture's right, its down, and where the camera looks.
        "camera_rotation": [[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]],
        "residuals_mm": {"fit": dict(unmeasured), "held_out": dict(unmeasured)},
    }


def file_text(scene: Mapping[str, Any]) -> str:
    """The calibration file."""
    return HEADER + yaml.safe_dump(calibration(scene), sort_keys=False, default_flow_style=None, width=100)


def main() -> int:
    """Write the file; 1 with one line when that cannot be done."""
    parser = argparse.ArgumentParser(
        prog="webots_calibration", description="Compute the Webots camera's calibration from the scene description."
    )
    parser.add_argument("--scene", type=Path, help="scene description (default: the installed one)")
    parser.add_argument("--output", type=Path, required=True, help="the .yaml file to write")
    arguments = parser.parse_args()
    try:
        arguments.output.write_text(file_text(load_scene(arguments.scene)))
    except OSError as error:
        print(f"webots_calibration: {error}", file=sys.stderr)
        return 1
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
