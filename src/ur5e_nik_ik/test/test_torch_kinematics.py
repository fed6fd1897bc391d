"""The PyTorch forward kinematics is the numpy one, and can be differentiated."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; only training needs it")

from ur5e_nik_ik import kinematics  # noqa: E402
from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS, DhParameters  # noqa: E402
from ur5e_nik_ik.torch_kinematics import fk  # noqa: E402

CALIBRATED = DhParameters(
    "calibrated",
    d=(0.1627, 0.0, 0.0, 0.1331, 0.0999, 0.0995),
    a=(0.0, -0.4253, -0.3919, 0.0, 0.0, 0.0),
)


def joints(count):
    return np.random.default_rng(3).uniform(-2 * np.pi, 2 * np.pi, (count, 6))


@pytest.mark.parametrize("dh", [UR5E, UR5E_WEBOTS, CALIBRATED], ids=lambda dh: dh.name)
def test_is_the_numpy_fk(dh):
    q = joints(2000)
    pose = fk(torch.tensor(q), dh)
    assert pose.dtype == torch.float64
    assert pose.shape == (2000, 4, 4)
    assert np.abs(pose.numpy() - kinematics.fk(q, dh)).max() < 1e-12


def test_takes_any_batch_shape_and_keeps_the_type():
    q = torch.tensor(joints(12), dtype=torch.float32)
    pose = fk(q.view(3, 4, 6), UR5E)
    assert pose.shape == (3, 4, 4, 4)
    assert pose.dtype == torch.float32
    assert torch.allclose(pose.view(12, 4, 4), fk(q, UR5E))
    assert fk(q[0], UR5E).shape == (4, 4)
    assert np.abs(pose.view(12, 4, 4).numpy() - kinematics.fk(q.numpy(), UR5E)).max() < 1e-5


def test_its_derivative_is_the_geometric_jacobian():
    q = joints(20)
    geometric = kinematics.jacobian(q, UR5E)
    for row in range(20):
        by_joint = torch.autograd.functional.jacobian(lambda angles: fk(angles, UR5E), torch.tensor(q[row]))
        assert np.abs(by_joint[:3, 3].numpy() - geometric[row, :3]).max() < 1e-12
        # dR R^T = [w]x
        rotation = fk(torch.tensor(q[row]), UR5E)[:3, :3]
        spin = torch.einsum("ijk,lj->ilk", by_joint[:3, :3], rotation).numpy()
        turning = np.stack([spin[2, 1], spin[0, 2], spin[1, 0]])
        assert np.abs(turning - geometric[row, 3:]).max() < 1e-12
