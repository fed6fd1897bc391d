"""The arm as a URDF, for the solvers that want one."""

import math

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.joints import JOINT_LIMITS, JOINT_NAMES


def urdf(dh: DhParameters) -> str:
    """Return joints and frames without shapes: base_link, link_1 to link_6 and tool0.

    A URDF turns after the offset of its joint, a DH link before it: the fixed part of a DH link goes to the next joint.
    """
    lines = ['<?xml version="1.0"?>', f'<robot name="{dh.name}">', '  <link name="base_link"/>']
    origin = (0.0, 0.0, 0.0), (0.0, 0.0, dh.offset[0])
    parent = "base_link"
    for k, name in enumerate(JOINT_NAMES):
        child, limit = f"link_{k + 1}", JOINT_LIMITS[k]
        lines += [
            f'  <link name="{child}"/>',
            f'  <joint name="{name}" type="revolute">',
            *_place(parent, child, origin),
            '    <axis xyz="0 0 1"/>',
            f'    <limit lower="{-limit:.17g}" upper="{limit:.17g}" velocity="{math.pi:.17g}" effort="150"/>',
            "  </joint>",
        ]
        parent, origin = child, ((dh.a[k], 0.0, dh.d[k]), (dh.alpha[k], 0.0, 0.0))
    lines += [
        '  <link name="tool0"/>',
        '  <joint name="tool0_joint" type="fixed">',
        *_place(parent, "tool0", origin),
        "  </joint>",
        "</robot>",
    ]
    return "\n".join(lines)


def _place(parent: str, child: str, origin: tuple[tuple[float, ...], tuple[float, ...]]) -> list[str]:
    xyz, rpy = (" ".join(f"{value:.17g}" for value in values) for values in origin)
    return [f'    <parent link="{parent}"/>', f'    <child link="{child}"/>', f'    <origin xyz="{xyz}" rpy="{rpy}"/>']
