"""Which Webots is found, and what is said when there is none."""

import pytest

from ur5e_nik_bringup.system import SystemArgumentError, choose_simulator
from ur5e_nik_bringup.webots_system import find_webots, mode, release_in


def install(folder, release):
    (folder / "resources").mkdir(parents=True)
    (folder / "resources" / "version.txt").write_text(release + "\n")
    return str(folder)


@pytest.fixture
def nowhere(tmp_path):
    return (str(tmp_path / "nowhere"),)


@pytest.mark.parametrize("variable", ["ROS2_WEBOTS_HOME", "WEBOTS_HOME"])
def test_the_folder_that_a_variable_names(tmp_path, nowhere, variable):
    home = install(tmp_path / "w", "R2025a")
    found = find_webots({variable: home}, nowhere)
    assert (found.folder, found.release) == (home, "R2025a")


def test_where_webots_installs_itself(tmp_path):
    home = install(tmp_path / "w", "R2025a revision 1")
    assert find_webots({}, (home,)).release == "R2025a"


def test_where_webots_ros2_installs_it(tmp_path, nowhere):
    home = install(tmp_path / ".ros" / "webotsR2025a" / "webots", "R2025a")
    assert find_webots({"HOME": str(tmp_path)}, nowhere).folder == home


def test_the_hosts_webots_for_a_container(nowhere):
    assert find_webots({"WEBOTS_SHARED_FOLDER": "/a:/b"}, nowhere).folder == ""


@pytest.mark.parametrize("release", ["R2023b", "R2022a revision 1"])
def test_an_older_release_is_refused_by_name(tmp_path, nowhere, release):
    home = install(tmp_path / "w", release)
    with pytest.raises(LookupError, match=f"{release[:6]}; R2025a or newer") as caught:
        find_webots({"WEBOTS_HOME": home}, nowhere)
    assert "\n" not in str(caught.value)


def test_a_newer_release_will_do(tmp_path, nowhere):
    assert find_webots({"WEBOTS_HOME": install(tmp_path / "w", "R2026a")}, nowhere).release == "R2026a"


@pytest.mark.parametrize("text", ["", "garbage", "2025a"])
def test_a_folder_without_a_release_is_none(tmp_path, nowhere, text):
    home = install(tmp_path / "w", text)
    assert release_in(home) == ""
    with pytest.raises(LookupError, match="holds no Webots"):
        find_webots({"WEBOTS_HOME": home, "HOME": str(tmp_path)}, nowhere)


def test_none_at_all(tmp_path, nowhere):
    with pytest.raises(LookupError, match="no Webots was found"):
        find_webots({"HOME": str(tmp_path)}, nowhere)


def test_the_starter_cannot_run_webots():
    with pytest.raises(SystemArgumentError, match="ros2 launch") as caught:
        choose_simulator("webots")
    assert "\n" not in str(caught.value)


def test_auto_without_webots_is_mujoco_and_says_why():
    simulator, why = choose_simulator("auto", launched=False)
    assert simulator == "mujoco"
    assert "ros2 launch" in why


def test_auto_takes_a_webots_that_is_there(tmp_path, monkeypatch):
    home = install(tmp_path / "w", "R2025a")
    monkeypatch.setattr("ur5e_nik_bringup.system.get_package_share_directory", lambda package: f"/share/{package}")
    for wanted in ("auto", "webots"):
        simulator, why = choose_simulator(wanted, launched=True, environment={"WEBOTS_HOME": home})
        assert simulator == "webots"
        assert f"R2025a in {home}" in why


def test_a_missing_driver_is_named(monkeypatch):
    from ament_index_python.packages import PackageNotFoundError

    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("ur5e_nik_bringup.system.get_package_share_directory", missing)
    with pytest.raises(SystemArgumentError, match="webots_ros2_driver is not installed"):
        choose_simulator("webots", launched=True, environment={})


@pytest.mark.parametrize(
    ("wanted", "speed", "expected"),
    [("auto", 1.0, "realtime"), ("auto", 0.0, "fast"), ("auto", 3.0, "realtime"), ("pause", 0.0, "pause")],
)
def test_webots_mode(wanted, speed, expected):
    assert mode(wanted, speed) == expected
