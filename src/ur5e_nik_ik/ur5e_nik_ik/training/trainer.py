"""A training run: Adam, then Levenberg-Marquardt, on targets that are drawn as it goes."""

import dataclasses
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch.nn.parallel import DistributedDataParallel

from ur5e_nik_ik.dh import DhParameters
from ur5e_nik_ik.network import FEATURES, FORMAT_VERSION, OUTPUTS, Network, NetworkError
from ur5e_nik_ik.training import checkpoint, loss
from ur5e_nik_ik.training.configs import TrainingConfig
from ur5e_nik_ik.training.data import HELD_OUT_SEED, held_out_targets, training_samples
from ur5e_nik_ik.training.evaluate import polished_metrics, raw_metrics
from ur5e_nik_ik.training.levenberg_marquardt import LevenbergMarquardt
from ur5e_nik_ik.training.model import Perceptrons

# How often a run measures and saves.
CHECKS = 40

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class TrainingError(RuntimeError):
    """The run cannot start, or did not work; the message says why."""


@dataclass
class Trainer:
    """One run of one config. Config, DH set and number of processes and threads repeat it exactly.

    Attributes:
        config: what is trained.
        dh: the arm.
        folder: where the network, its card and the state of the run go.
        command: the call that repeats the run, for the model card.
        device: of the training; the network is measured on the CPU.
        console: where the progress goes.
    """

    config: TrainingConfig
    dh: DhParameters
    folder: Path
    command: str
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    console: Console = field(default_factory=Console)

    def __post_init__(self) -> None:
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.processes = dist.get_world_size() if dist.is_initialized() else 1
        self.path = self.folder / f"{self.config.name}-{self.dh.name}.npz"
        self.state_path = self.path.with_suffix(".state.pt")
        self.step = 0
        self.error = self.best = math.inf
        self.card: dict = {}
        torch.manual_seed(self.config.seed)
        features, _, label = self._samples(-1, torch.float64, rank=0)
        outputs = loss.outputs_of(label, self.config, self.dh)
        self.model = Perceptrons(features, outputs, self.config.hidden, silu=self.config.kind == "position")
        self.model.to(self.device)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=self.config.learning_rate)
        self.newton = LevenbergMarquardt(self.model, self._residuals)
        self.held_out = held_out_targets(self.config, self.dh)

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.config.adam_steps + self.config.newton_steps

    def resume(self) -> None:
        """Go on from the state that an earlier run left in the folder.

        Raises:
            TrainingError: there is none, or it is from a run with other settings.
        """
        try:
            state = checkpoint.load_state(self.state_path)
        except FileNotFoundError:
            raise TrainingError(f"nothing to resume: there is no {self.state_path}") from None
        if state.get("run") != self._run():
            raise TrainingError(f"{self.state_path} is from a run with other settings: start without --resume")
        self.step, self.best, self.card = state["step"], state["best"], state["card"]
        self.error = self.best
        self.model.to(self._dtype())
        self.model.load_state_dict(state["model"])
        self.adam.load_state_dict(state["adam"])
        self.newton.damping = list(state["damping"])

    def run(self) -> dict:
        """Train to the end and return the card of the best network of the run.

        The network's file is only ever replaced by a better one.

        Raises:
            TrainingError: the loss is no longer finite, or the run did not get anywhere.
        """
        existing = self._existing_error()
        every = max(1, self.steps // CHECKS)
        with self._progress() as progress:
            task = progress.add_task(self.config.name, total=self.steps, loss=math.nan, error=self.error)
            while self.step < self.steps:
                self.model.to(self._dtype())
                value = self._newton_step() if self._dtype() is torch.float64 else self._adam_step()
                if not math.isfinite(value):
                    raise TrainingError(
                        f"the loss is {value} at step {self.step}: the run diverged, lower --lr "
                        f"(now {self.config.learning_rate:g}); {self._kept()}"
                    )
                self.step += 1
                if self.step % every == 0 or self.step == self.steps:
                    self._check(existing)
                    if self.rank == 0 and not self.console.is_terminal:
                        self.console.print(f"step {self.step}/{self.steps} loss {value:.3e} error {self.error:.4f} mm")
                progress.update(task, completed=self.step, loss=value, error=self.error)
        if not self.best <= self.config.goal_mm:
            raise TrainingError(
                f"the best mean error of the run is {self.best:.3g} mm, more than {self.config.goal_mm:g} mm: "
                f"it diverged or was too short; {self._kept()}"
            )
        return self.card

    def _dtype(self) -> torch.dtype:
        """Adam works in float32, Levenberg-Marquardt in float64."""
        return torch.float32 if self.step < self.config.adam_steps else torch.float64

    def _adam_step(self) -> float:
        done = self.step / self.config.adam_steps
        for group in self.adam.param_groups:
            group["lr"] = self.config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))
        features, target, label = self._samples(self.step, torch.float32, self.rank)
        mean = self._residuals(self._shared()(features), target, label).square().sum(dim=-1).mean()
        self.adam.zero_grad()
        mean.backward()
        self.adam.step()
        mean = mean.detach()
        if self.processes > 1:
            dist.all_reduce(mean)
        return float(mean) / self.processes

    def _newton_step(self) -> float:
        past = self.step - self.config.adam_steps
        return self.newton.step(*self._samples(self.step - past % self.config.refresh, torch.float64, self.rank))

    def _shared(self) -> torch.nn.Module:
        """Return the model, with gradients averaged over all processes."""
        if self.processes == 1:
            return self.model
        if not hasattr(self, "_distributed"):
            self._distributed = DistributedDataParallel(self.model)
        return self._distributed

    def _samples(self, step: int, dtype: torch.dtype, rank: int) -> Batch:
        """Draw one process' share of the set of one step; the same again for the same step."""
        rng = np.random.default_rng([self.config.seed, step + 1, rank])
        count = max(1, self.config.samples // self.processes)
        samples = training_samples(self.config, self.dh, rng, count)
        features, target, label = (
            torch.as_tensor(array, dtype=dtype, device=self.device)
            for array in (samples.features, samples.target, samples.joints)
        )
        return features, target, label

    def _residuals(self, outputs: torch.Tensor, target: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return loss.residuals(outputs, target, label, self.config, self.dh)

    def _check(self, existing: float) -> None:
        """Measure the network; keep it when it is the best so far, and save the state."""
        weights = self.model.export(np.float32 if self.config.single else np.float64)
        try:
            network = Network.from_arrays(self._card(), weights, self.dh)
        except NetworkError as error:
            raise TrainingError(f"step {self.step}: {error}; {self._kept()}") from None
        metrics = raw_metrics(network, self.held_out, self.dh)
        self.error = metrics["position_mm"]["mean"]
        if self.error < self.best:
            metrics |= polished_metrics(network, self.held_out, self.dh)
            self.best, self.card = self.error, {**network.card, "metrics": metrics}
            if self.rank == 0 and self.best < min(existing, self.config.goal_mm):
                checkpoint.save_network(self.path, self.card, weights)
        if self.rank == 0:
            state = {
                "run": self._run(),
                "model": self.model.state_dict(),
                "adam": self.adam.state_dict(),
                "damping": self.newton.damping,
                "step": self.step,
                "best": self.best,
                "card": self.card,
            }
            checkpoint.save_state(self.state_path, state)

    def _card(self) -> dict:
        config = self.config
        return {
            "version": FORMAT_VERSION,
            "name": config.name,
            "kind": config.kind,
            "command": self.command,
            "seed": config.seed,
            "dh": {"name": self.dh.name, "d": list(self.dh.d), "a": list(self.dh.a)},
            "features": list(FEATURES[config.kind]),
            "outputs": list(OUTPUTS[config.kind]),
            "domain": config.domain,
            "branches": list(config.branches),
            "hidden": list(config.hidden),
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
            "data": {
                "labels": "closed form",
                "samples_in_a_set": config.samples,
                "adam_sets": config.adam_steps,
                "levenberg_marquardt_sets": -(-config.newton_steps // config.refresh),
                "held_out_seed": HELD_OUT_SEED,
            },
        }

    def _run(self) -> str:
        """Return what must be the same for a run to be resumed."""
        return repr((dataclasses.astuple(self.config), self.dh, self.processes))

    def _existing_error(self) -> float:
        """Return the mean error [mm] of the network that the folder already holds, inf if it holds none."""
        try:
            network = Network.load(self.path, self.dh)
            return raw_metrics(network, self.held_out, self.dh)["position_mm"]["mean"]
        except NetworkError:
            return math.inf

    def _kept(self) -> str:
        kept = "the old one is kept" if self.path.is_file() else "there was none before"
        return f"no worse network was written to {self.path}, {kept}"

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3e}  error {task.fields[error]:.4f} mm"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            disable=self.rank != 0 or not self.console.is_terminal,
        )
