import numpy as np
import pytest

from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS, DhParameters, load_dh


def test_named_sets():
    assert load_dh("ur5e") is UR5E
    assert load_dh("ur5e_webots") is UR5E_WEBOTS


def test_an_unknown_name_names_the_known_ones():
    with pytest.raises(ValueError, match="no DH set named 'ur10e': use one of ur5e, ur5e_webots"):
        load_dh("ur10e")


def test_a_calibrated_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("d: [0.1626, 0, 0, 0.1332, 0.0998, 0.0995]\na: [0, -0.4249, -0.3923, 0, 0, 0]\n")
    dh = load_dh(path)
    assert dh.name == "mine"
    assert dh.d[0] == 0.1626
    assert dh.alpha == UR5E.alpha


@pytest.mark.parametrize(
    "content",
    [
        "",
        "d: [1, 2]",
        "[1, 2, 3]",
        "{",
        "d: [0.1, 0, 0, 0.1, 0.1]\na: [0, -0.4, -0.4, 0, 0, 0]",
        "d: [.nan, 0, 0, 0.1, 0.1, 0.1]\na: [0, -0.4, -0.4, 0, 0, 0]",
        "d: [0.1, 0, 0, 0.1, 0.1, 0.1]\na: [0, 0.4, 0.4, 0, 0, 0]",
        "d: [0.1, 0.2, 0, 0.1, 0.1, 0.1]\na: [0, -0.4, -0.4, 0, 0, 0]",
        "d: [0.1, 0, 0, 0.1, 0.1, 0.1]\na: [0, -0.4, -0.4, 0, 0, 0]\ndelta_theta: [0, 0, 0, 0, 0, 0.1]",
        "d: words\na: [0, -0.4, -0.4, 0, 0, 0]",
        "d: 3\na: 4",
        "d: !!python/object/apply:os.getcwd []\na: 4",
    ],
)
def test_a_bad_file_is_refused(tmp_path, content):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match="DH"):
        load_dh(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot read the DH file"):
        load_dh(tmp_path / "none.yaml")


def test_other_arms_are_refused():
    with pytest.raises(ValueError, match="not a UR arm"):
        DhParameters("other", UR5E.d, UR5E.a, alpha=tuple(np.zeros(6)))
