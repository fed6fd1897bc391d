"""Training: the loss, second-order steps, and short runs that improve, repeat, resume and refuse."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed; only training needs it")

from rich.console import Console  # noqa: E402

from ur5e_nik_ik.closed_form import closed_form  # noqa: E402
from ur5e_nik_ik.dh import UR5E, UR5E_WEBOTS  # noqa: E402
from ur5e_nik_ik.kinematics import fk  # noqa: E402
from ur5e_nik_ik.network import Network  # noqa: E402
from ur5e_nik_ik.training import loss  # noqa: E402
from ur5e_nik_ik.training.configs import ANY_POSE, CONFIGS, REFERENCE, TOOL_DOWN  # noqa: E402
from ur5e_nik_ik.training.data import held_out_targets, training_samples  # noqa: E402
from ur5e_nik_ik.training.levenberg_marquardt import LevenbergMarquardt, _Kernel, _Normal  # noqa: E402
from ur5e_nik_ik.training.model import Perceptrons  # noqa: E402
from ur5e_nik_ik.training.trainer import Trainer, TrainingError  # noqa: E402

QUIET = Console(quiet=True)
SMALL = {
    "tool-down": dataclasses.replace(TOOL_DOWN, hidden=(8,), samples=60, adam_steps=20, newton_steps=6, refresh=3),
    "any-pose": dataclasses.replace(ANY_POSE, hidden=(8, 8), samples=100, adam_steps=20, newton_steps=6, refresh=3),
    "reference": dataclasses.replace(REFERENCE, hidden=(16, 16), samples=30, adam_steps=20, newton_steps=6),
}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def tensors(config, dh=UR5E, count=200):
    samples = training_samples(config, dh, np.random.default_rng(0), count)
    return tuple(torch.tensor(array) for array in (samples.features, samples.target, samples.joints))


@pytest.mark.parametrize("dh", [UR5E, UR5E_WEBOTS], ids=lambda dh: dh.name)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.name)
def test_labels_are_without_loss_and_belong_to_their_branch(config, dh):
    _, target, label = tensors(config, dh)
    outputs = loss.outputs_of(label, config, dh)
    assert loss.residuals(outputs, target, label, config, dh).abs().max() < 1e-6
    assert np.abs(fk(label.numpy(), dh) - target.numpy()).max() < 1e-9
    if config.kind != "any_pose":
        for row, branch in enumerate(config.branches):
            exact = closed_form(target[row].numpy(), dh)[0][:, branch]
            turn = label[row].numpy() - exact
            assert np.abs(turn - 2 * np.pi * np.round(turn / (2 * np.pi))).max() < 1e-9
            # Without jumps by a full turn, which no smooth function could follow.
            assert np.ptp(label[row].numpy(), axis=0).max() < 2 * np.pi


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.name)
def test_a_wrong_output_has_a_loss(config):
    _, target, label = tensors(config, count=5)
    outputs = loss.outputs_of(label, config, UR5E)
    for k in range(outputs.shape[-1]):
        wrong = outputs.clone()
        wrong[..., k] += 0.01
        residual = loss.residuals(wrong, target, label, config, UR5E)
        assert (residual.square().sum(dim=-1) > 1e-5).all()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=lambda config: config.name)
def test_held_out_targets_are_in_the_domain_and_not_in_the_training(config):
    target = held_out_targets(config, UR5E)
    assert target.shape == (2021, 4, 4)
    assert (held_out_targets(config, UR5E) == target).all()
    _, valid = closed_form(target, UR5E)
    if config.kind == "any_pose":
        assert valid.any(axis=1).all()
    else:
        assert valid[:, config.branches].all()
        trained = training_samples(config, UR5E, np.random.default_rng([config.seed, 1, 0]), 2000).target
        heights = np.abs(np.subtract.outer(target[:, 2, 3], trained[0, :, 2, 3]))
        assert (heights > 0.0).all()


@pytest.mark.parametrize("silu", [False, True], ids=["algebraic", "silu"])
def test_linearisation_is_the_derivative(silu):
    torch.manual_seed(0)
    features, outputs = torch.randn(2, 30, 3, dtype=torch.float64), torch.randn(2, 30, 2, dtype=torch.float64)
    model = Perceptrons(features, outputs, (6, 5), silu)
    linear = model.linearise(1, features[1])
    assert torch.allclose(linear.outputs, model(features)[1])
    assert torch.allclose(linear.outputs, model.one(1, features[1]))
    for layer, (weight, bias) in enumerate(model.layers):
        for k in range(2):
            by_weight, by_bias = torch.autograd.grad(model(features)[1, 4, k], (weight, bias))
            by_output = linear.leaving[layer][4, k]
            assert torch.allclose(by_weight[1], torch.outer(linear.entering[layer][4], by_output))
            assert torch.allclose(by_bias[1, 0], by_output)
            assert not by_weight[0].any()


def test_both_forms_of_the_second_order_step_are_the_same():
    """(J^T J + r)^-1 J^T is J^T (J J^T + r)^-1; the ridge r is relative to a mean of each diagonal."""
    torch.manual_seed(0)
    features = torch.randn(1, 20, 3, dtype=torch.float64)
    model = Perceptrons(features, torch.randn(1, 20, 2, dtype=torch.float64), (6,), silu=False)
    white = torch.randn(20, 2, dtype=torch.float64)
    with torch.no_grad():
        linear = model.linearise(0, features[0])
        normal, kernel = _Normal(linear, white), _Kernel(linear, white)
        assert torch.allclose(normal.matrix.trace(), kernel.matrix.trace())
        ridge = 1e-2 * normal.matrix.diagonal().mean()
        one, other = normal.solve(1e-2), kernel.solve(float(ridge / kernel.matrix.diagonal().mean()))
    for left, right in zip(one, other, strict=True):
        assert torch.allclose(left[0], right[0])
        assert torch.allclose(left[1], right[1])


@pytest.mark.parametrize("width", [6, 40], ids=["few parameters", "more parameters than rows"])
def test_a_second_order_step_never_raises_the_loss(width):
    config = SMALL["tool-down"]
    features, target, label = tensors(config, count=20)
    torch.manual_seed(0)
    model = Perceptrons(features, label, (width,), silu=False)
    newton = LevenbergMarquardt(model, lambda *arguments: loss.residuals(*arguments, config, UR5E))

    def cost():
        with torch.no_grad():
            residual = loss.residuals(model(features), target, label, config, UR5E)
        return float(residual.square().sum() / residual[..., 0].numel())

    costs = [cost()]
    for _ in range(5):
        said = newton.step(features, target, label)
        costs.append(cost())
        assert said == pytest.approx(costs[-1])
    assert all(after <= before for before, after in zip(costs[:-1], costs[1:], strict=True))
    assert costs[-1] < 0.1 * costs[0]


def trainer(folder, config):
    return Trainer(config, UR5E, folder, "test", console=QUIET)


@pytest.mark.parametrize("config", SMALL.values(), ids=lambda config: config.name)
def test_a_short_run_improves_and_repeats(tmp_path, config):
    first = trainer(tmp_path / "a", dataclasses.replace(config, goal_mm=1e3))
    first._check(0.0)
    before = first.error
    first.run()
    assert first.best < 0.4 * before
    network = Network.load(first.path, UR5E)
    assert network.card["metrics"]["position_mm"]["mean"] == first.best
    assert json.loads(first.path.with_suffix(".json").read_text()) == network.card
    second = trainer(tmp_path / "b", dataclasses.replace(config, goal_mm=1e3))
    second.run()
    assert second.path.read_bytes() == first.path.read_bytes()
    other = trainer(tmp_path / "c", dataclasses.replace(config, goal_mm=1e3, seed=1))
    other.run()
    assert not np.array_equal(Network.load(other.path, UR5E).weights, network.weights)


@pytest.mark.parametrize("stop", [13, 24], ids=["in Adam", "in Levenberg-Marquardt"])
def test_resume_ends_as_if_it_had_not_stopped(tmp_path, stop, monkeypatch):
    config = dataclasses.replace(SMALL["any-pose"], goal_mm=1e3)
    whole = trainer(tmp_path / "whole", config)
    whole.run()
    cut = trainer(tmp_path / "cut", config)
    draw = cut._samples

    def interrupted(step, *others):
        if cut.step == stop:
            raise KeyboardInterrupt
        return draw(step, *others)

    monkeypatch.setattr(cut, "_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cut.run()
    rest = trainer(tmp_path / "cut", config)
    rest.resume()
    assert rest.step == stop
    rest.run()
    assert rest.path.read_bytes() == whole.path.read_bytes()


def test_resume_refuses_what_it_cannot_go_on_from(tmp_path):
    config = dataclasses.replace(SMALL["tool-down"], goal_mm=1e3)
    with pytest.raises(TrainingError, match="nothing to resume"):
        trainer(tmp_path, config).resume()
    trainer(tmp_path, config).run()
    with pytest.raises(TrainingError, match="other settings"):
        trainer(tmp_path, dataclasses.replace(config, seed=5)).resume()


def test_only_a_better_network_replaces_the_file(tmp_path):
    config = dataclasses.replace(SMALL["tool-down"], goal_mm=1e3)
    trainer(tmp_path, config).run()
    good = (tmp_path / "tool-down-ur5e.npz").read_bytes()
    trainer(tmp_path, dataclasses.replace(config, newton_steps=0)).run()
    assert (tmp_path / "tool-down-ur5e.npz").read_bytes() == good
    trainer(tmp_path, dataclasses.replace(config, newton_steps=12)).run()
    assert (tmp_path / "tool-down-ur5e.npz").read_bytes() != good


def test_a_run_that_got_nowhere_writes_no_network(tmp_path):
    with pytest.raises(TrainingError, match="diverged or was too short.*there was none before"):
        trainer(tmp_path, dataclasses.replace(SMALL["tool-down"], adam_steps=1, newton_steps=0)).run()
    assert not (tmp_path / "tool-down-ur5e.npz").exists()


def run(*words):
    call = [sys.executable, *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, env=os.environ | {"OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize("rate", ["10", "1e30"], ids=["far off", "not finite"])
def test_a_diverging_run_says_so_and_keeps_the_old_network(tmp_path, rate):
    path = tmp_path / "tool-down-ur5e.npz"
    path.write_bytes(Path(__file__).parents[1].joinpath("models", path.name).read_bytes())
    old = path.read_bytes()
    epochs = "1" if rate == "10" else "20"
    done = run("-m", "ur5e_nik_ik.training", "--samples", 10, "--epochs", epochs, "--lr", rate, "--models", tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "diverged" in done.stderr
    assert "the old one is kept" in done.stderr
    assert path.read_bytes() == old


def test_bad_input_is_refused_in_one_line(tmp_path, monkeypatch, capsys):
    from ur5e_nik_ik.training.cli import main

    blocked = tmp_path / "file"
    blocked.write_text("")
    for words, code, said in (
        (["--config", "sideways"], 2, "invalid choice"),
        (["--seed", "-1"], 2, "whole number"),
        (["--seed", "x"], 2, "whole number"),
        (["--samples", "0"], 2, "1 or more"),
        (["--epochs", "1.5"], 2, "1 or more"),
        (["--lr", "nan"], 2, "greater than 0"),
        (["--lr", "0"], 2, "greater than 0"),
        (["--lr", "inf"], 2, "greater than 0"),
        (["--dh", "ur10"], 1, "no DH set named"),
        (["--dh", str(tmp_path / "none.yaml")], 1, "none.yaml"),
        (["--device", "abacus"], 1, "--device abacus"),
        (["--resume", "--models", str(tmp_path)], 1, "nothing to resume"),
        (["--models", str(blocked), "--epochs", "1"], 1, "file"),
        (["--evaluate", "--models", str(tmp_path)], 1, "there is no network"),
    ):
        monkeypatch.setattr(sys, "argv", ["train", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        error = capsys.readouterr().err.strip().splitlines()
        assert ended.value.code == code, words
        assert said in error[-1], words
        assert code == 2 or len(error) == 1, words


def test_evaluation_prints_a_table_and_writes_json(tmp_path, monkeypatch, capsys):
    from ur5e_nik_ik.training.cli import main

    out = tmp_path / "new" / "metrics.json"
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(sys, "argv", ["train", "--evaluate", "--out", str(out)])
    main()
    printed = capsys.readouterr().out
    content = json.loads(out.read_text())
    for name in CONFIGS:
        assert f"{name} (ur5e)" in printed
        assert f"{content[f'{name}-ur5e']['position_mm']['mean']:.4f}" in printed


def test_two_processes_train_one_network(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        "import dataclasses, sys\n"
        "import ur5e_nik_ik.training.configs as configs\n"
        "for name, config in list(configs.CONFIGS.items()):\n"
        "    small = dict(hidden=(8,), samples=60, adam_steps=20, newton_steps=6, refresh=3, goal_mm=1e3)\n"
        "    configs.CONFIGS[name] = dataclasses.replace(config, **small)\n"
        "from ur5e_nik_ik.training.cli import main\n"
        "main()\n"
    )
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2)
    done = run(*launcher, script, "--config", "tool-down", "--models", tmp_path)
    assert done.returncode == 0, done.stderr
    network = Network.load(tmp_path / "tool-down-ur5e.npz", UR5E)
    assert network.card["metrics"]["position_mm"]["mean"] < 20.0
    assert done.stdout.count("tool-down-ur5e.npz") == 1
