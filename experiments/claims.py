"""The claims that the page of results goes through: what is asked, and how a result is put beside the project's.

To add one, write its rows and its verdict, and name them in CLAIMS with its number and its script.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# What was measured, the project's figure, ours.
Row = tuple[str, str, str]


@dataclass(frozen=True)
class Claim:
    """A section of the page.

    Attributes:
        number: of the claim.
        name: of the script, the JSON file and the figure.
        title: of the section.
        question: what is asked.
        rows: from the JSON file to the table.
        verdict: from the JSON file to how ours stands to the project's figure.
    """

    number: int
    name: str
    title: str
    question: str
    rows: Callable[[dict], list[Row]]
    verdict: Callable[[dict], str]


def mm(value: float) -> str:
    """A length in millimetres, of two or three digits."""
    return f"{value:.3g} mm" if value < 1000 else f"{value:,.0f} mm"


def compared(ours: float, theirs: float) -> str:
    """How much less or more ours is."""
    return f"{theirs / ours:.3g} times smaller" if ours < theirs else f"{ours / theirs:.3g} times larger"


def agrees(ours: float, theirs: float) -> str:
    """Whether ours is the project's figure, within a tenth of it."""
    return "Confirmed" if abs(ours - theirs) <= 0.1 * theirs else "Differs"


def accuracy_rows(found: dict) -> list[Row]:
    """Claim 1."""
    rows = []
    for name, result in found["box"].items():
        position = result["position_mm"]
        text = f"{mm(position['mean'])} / {mm(position['p99'])} / {mm(position['max'])}"
        what = f"{name} network, {result['parameters']:,} parameters: mean / p99 / max"
        rows.append((what, "0.19 mm mean" if name == "reference" else "-", text))
    for name in ("tool-down", "any-pose"):
        result = found["own_domain"][name]
        position = result["position_mm"]
        text = f"{mm(position['mean'])} / {mm(position['p99'])} / {mm(position['max'])}"
        rows.append((f"{name} network, its whole domain, {result['answers']:,} answers: mean / p99 / max", "-", text))
    return rows


def accuracy_verdict(found: dict) -> str:
    """Claim 1."""
    mean = found["box"]["reference"]["position_mm"]["mean"]
    return (
        f"{agrees(mean, 0.19)}: the mean error of the same architecture is {compared(mean, 0.19)} than the project's, "
        f"on {found['targets']:,} held-out targets of the box. What changed is the training, which ends with "
        "Levenberg-Marquardt steps."
    )


def peers_rows(found: dict) -> list[Row]:
    """Claim 2."""
    times = {name: score["median_us"] for name, score in found["bench"].items()}
    ikpy = next((time for name, time in times.items() if name.startswith("IKPy, rest")), None)
    network, closed = times["reference network, torch eager"], times["closed form, all branches"]
    verified = times["tool-down network, verified"]
    rows = [
        ("reference network in torch, one solve, median", "530 us", f"{network:.0f} us"),
        ("closed form, all branches, median", "230 us", f"{closed:.1f} us"),
        ("closed form against reference network in torch", "2.3 x as fast", f"{network / closed:.0f} x as fast"),
        (
            "closed form, verified, against tool-down network, verified",
            "-",
            f"{verified / times['closed form, verified']:.1f} x as fast",
        ),
    ]
    if ikpy:
        rows.append(("reference network in torch against IKPy", "72 x as fast", f"{ikpy / network:.0f} x as fast"))
        rows.append(("tool-down network, verified, against IKPy", "-", f"{ikpy / verified:,.0f} x as fast"))
    if found["ikpy"]:
        rest = found["ikpy"]["least_squares"]["the arm's"]["rest (0,-90,90,-90,-90,0)"]["failed"]
        rows.append(("IKPy fails, rest configuration, the arm's limits", "58 %", f"{100 * rest:.0f} %"))
        span = found["ikpy_failed"]
        text = f"{100 * span['least']:.0f} to {100 * span['most']:.0f} %"
        rows.append((f"IKPy fails, over {span['settings']} settings of seed, limits and optimizer", "-", text))
    return rows


def peers_verdict(found: dict) -> str:
    """Claim 2."""
    if not found["ikpy"]:
        return "IKPy was not installed in this run; `./run bench` installs it."
    rest = found["ikpy"]["least_squares"]["the arm's"]["rest (0,-90,90,-90,-90,0)"]["failed"]
    settings = [
        (abs(one["failed"] - 0.58), optimizer, limits, seed, one["failed"])
        for optimizer, by_limits in found["ikpy"].items()
        for limits, seeds in by_limits.items()
        for seed, one in seeds.items()
    ]
    _, optimizer, limits, seed, failed = min(settings)
    return (
        f"{agrees(rest, 0.58)}: from the rest configuration, inside the arm's own limits, IKPy missed "
        f"{100 * rest:.0f} % of {found['targets']} targets, not 58 %. A share of failures of IKPy says little without "
        f"its seed and limits; the setting nearest to the project's figure was seed {seed}, limits {limits}, "
        f"optimizer {optimizer}: {100 * failed:.0f} %. The project did not say which it used."
    )


def jacobian_rows(found: dict) -> list[Row]:
    """Claim 3."""
    best, forward = found["best_central"], found["best_forward"]
    at = "step {step_rad:.1g} rad"
    return [
        (f"central differences, {at.format(**best)}: largest difference", "3.2e-10", f"{best['difference']:.1e}"),
        (f"forward differences, {at.format(**forward)}", "-", f"{forward['difference']:.1e}"),
        ("automatic differentiation, no step", "-", f"{found['automatic']:.1e}"),
        ("compiled Jacobian of the solver", "-", f"{found['compiled']:.1e}"),
    ]


def jacobian_verdict(found: dict) -> str:
    """Claim 3."""
    return (
        f"The difference is {compared(found['best_central']['difference'], 3.2e-10)} than the project's, at the best "
        "step. What is left belongs to the differences: against automatic differentiation it is "
        f"{found['automatic']:.1e}."
    )


def branches_rows(found: dict) -> list[Row]:
    """Claim 4."""
    up, down = found["elbow_up"], found["elbow_down"]
    return [
        (
            "round trips closed",
            "elbow up only",
            f"{found['round_trips_closed']:,} of {found['poses']:,}, in all eight branches",
        ),
        ("elbow up, right", "5,309 of 5,309", f"{up['right']:,} of {up['answers']:,}"),
        ("elbow down, right", "0 of 5,302", f"{down['right']:,} of {down['answers']:,}"),
        ("elbow down, with the fault put back, right", "0 of 5,302", f"{down['right_with_the_fault']:,}"),
        ("the same: median error", "0.62 m", f"{down['median_error_with_the_fault_m']:.2f} m"),
        ("largest error of any answer", "-", f"{found['largest_position_error_m']:.1e} m"),
    ]


def branches_verdict(found: dict) -> str:
    """Claim 4."""
    mended = found["elbow_down"]["right"] == found["elbow_down"]["answers"]
    return (
        "The fault is reproduced by one sign, and " + ("it was all that was wrong." if mended else "more was wrong.")
    ) + " Put back, it leaves the orientation right, so that only a check of the position finds it."


def heads_rows(found: dict) -> list[Row]:
    """Claim 5."""
    labelled = found["mean"]["labelled heads"]["median_mm"]
    rows = []
    for name, result in found["mean"].items():
        theirs = "about half of 8; twice the error" if name.startswith("no labels") else "-"
        times = f" ({result['median_mm'] / labelled:.1f} x)" if name.startswith("no labels") else ""
        text = f"{result['branches_of_8']:.2f} of 8; {mm(result['median_mm'])}{times}"
        rows.append((f"{name}: branches found; median raw error", theirs, text))
    return rows


def heads_verdict(found: dict) -> str:
    """Claim 5."""
    unlabelled = {
        name: result["branches_of_8"] for name, result in found["mean"].items() if name.startswith("no labels")
    }
    most = max(unlabelled, key=lambda name: unlabelled[name])
    with_fk = [count for name, count in unlabelled.items() if "FK" in name]
    labelled = found["mean"]["labelled heads"]["branches_of_8"]
    return (
        "It depends on the loss, which the project does not name. With one through the forward kinematics the heads "
        f"find {min(with_fk):.1f} to {max(with_fk):.1f} of 8 branches (mean of {len(found['seeds'])} seeds); the most, "
        f"{unlabelled[most]:.2f}, are found with '{most}'. Labelled heads find {labelled:.2f}, with the least error. "
        "The product needs no heads: mirror images lead from one branch to all eight."
    )


def fk_loss_rows(found: dict) -> list[Row]:
    """Claim 6."""
    rows = []
    for name, result in found["results"].items():
        without, with_it = result["mean_mm"]["joints only"], result["mean_mm"]["joints and FK"]
        rows.append((f"{name}: joints only / joints and FK, mean", "-", f"{mm(without)} / {mm(with_it)}"))
        text = f"{result['p_t_test']:.2g}; {result['p_sign_test']:.2g}"
        rows.append((f"{name}: p of the pairs, t test; exact sign test", "0.26", text))
    return rows


def fk_loss_verdict(found: dict) -> str:
    """Claim 6."""
    parts = []
    for name, result in found["results"].items():
        gain = result["mean_mm"]["joints only"] / result["mean_mm"]["joints and FK"]
        change = f"{100 * abs(1 - 1 / gain):.0f} % {'less' if gain > 1 else 'more'} error with the FK loss"
        sure = "significant by the t test" if result["p_t_test"] < 0.05 else "not significant"
        parts.append(f"{name}: {change}, {sure} (p = {result['p_t_test']:.2g})")
    return (
        "; ".join(parts) + ". With five pairs the exact sign test cannot fall below 0.0625. The project found no "
        "significant gain (p = 0.26); so do these, where a gain would be less error with the loss."
        if all(
            r["p_t_test"] >= 0.05 or r["mean_mm"]["joints and FK"] > r["mean_mm"]["joints only"]
            for r in found["results"].values()
        )
        else "; ".join(parts) + ". This differs from the project, which found no significant gain (p = 0.26)."
    )


def mixed_rows(found: dict) -> list[Row]:
    """Claim 7."""
    rows = []
    for name, result in found["results"].items():
        theirs = "911 mm" if name == "mixed, supervised, Adam alone" else "-"
        position = result["position_mm"]
        rows.append((f"{name}: mean / median", theirs, f"{mm(position['mean'])} / {mm(position['median'])}"))
    return rows


def mixed_verdict(found: dict) -> str:
    """Claim 7."""
    mean = {name: result["position_mm"]["mean"] for name, result in found["results"].items()}
    plain = mean["mixed, supervised, Adam alone"]
    return (
        f"{agrees(plain, 911)}: plain supervision of mixed branches misses by {mm(plain)} "
        f"(the project: 911 mm), about what the mean of the right answers misses by "
        f"({mm(mean['mean of the eight right answers'])}). The loss through the forward kinematics settles on one "
        f"branch ({mm(mean['mixed, FK loss'])}), a branch code keeps all eight "
        f"({mm(mean['mixed, branch code, both losses'])})."
    )


def outside_rows(found: dict) -> list[Row]:
    """Claim 8."""
    rows = []
    at = found["heights"]["0.25"]["raw"]
    for where, theirs in (("inside the box", "-"), ("outside, reachable", "14.3 mm"), ("past the reach", "-")):
        if where in at:
            position = at[where]["position_mm"]
            text = f"{mm(position['median'])} / {mm(position['max'])}"
            rows.append((f"raw network, z = 0.25 m, {where}: median / max", theirs, text))
    for ring in found["rings"]:
        what = f"raw network, {100 * ring['from_m']:.0f} to {100 * ring['to_m']:.0f} cm outside of the box: median"
        rows.append((what, "-", mm(ring["position_mm"]["median"])))
    past = max(result["raw"]["past the reach"]["position_mm"]["max"] for result in found["heights"].values())
    total = found["total"]
    return [
        *rows,
        ("raw network past the reach, largest error", "1.78 m", f"{past / 1000:.2f} m"),
        (
            "verified solver, silent errors",
            "not verified",
            f"{total['silent_errors']:,} of {total['answers']:,} answers",
        ),
        ("verified solver, reachable but refused", "-", f"{total['reachable_but_refused']:,} of {total['targets']:,}"),
        ("verified solver, largest error of an answer", "-", mm(total["largest_error_mm"])),
    ]


def outside_verdict(found: dict) -> str:
    """Claim 8."""
    inside = found["heights"]["0.25"]["raw"]["inside the box"]["position_mm"]["median"]
    silent = found["total"]["silent_errors"]
    return (
        f"Differs in the figures, not in what they say. Here z = 0.25 m lies inside the training box, where the "
        f"median is {mm(inside)}; the project's 14.3 mm was taken outside of its own box, whose bounds it does not "
        "give. How far off a raw network is depends on how far outside one asks, as the rows show. Of the verified "
        "solver's answers " + ("none was wrong." if silent == 0 else f"{silent} were wrong.")
    )


def arm_ends_rows(found: dict) -> list[Row]:
    """Claim 9."""
    rows = []
    for name, result in found["results"].items():
        theirs = "0.33 mm" if name.startswith("reference") else "-"
        apart = result["summary_mm"]
        rows.append((f"{name}: mean / max from the closed form", theirs, f"{mm(apart['mean'])} / {mm(apart['max'])}"))
    off = found["closed_form_to_target_mm"]
    rows.append(("closed form: mean / max from the target", "-", f"{mm(off['mean'])} / {mm(off['max'])}"))
    return rows


def arm_ends_verdict(found: dict) -> str:
    """Claim 9."""
    by_name = {name: result["summary_mm"] for name, result in found["results"].items()}
    raw = by_name["reference network, raw"]["mean"]
    verified, again = by_name["network, verified"]["max"], by_name["closed form, again"]["max"]
    return (
        f"{agrees(raw, 0.33)}: what was left between the two was the network's own error. A raw network of the "
        f"project's size leads the arm {mm(raw)} away from where the closed form leads it, on {found['targets']} "
        f"targets; verified answers leave at most {mm(verified)}, where sending the same answer twice leaves at most "
        f"{mm(again)}."
    )


def camera_rows(found: dict) -> list[Row]:
    """Claim 10."""
    rows = []
    for kind in found["results"]["threshold"]:
        texts = []
        for name in ("threshold", "network"):
            result = found["results"][name][kind]
            texts.append(f"{result['position_mm']['mean']:.2f} / {result['position_mm']['p99']:.2f} mm")
        rows.append((f"{kind}: position error, mean / p99", "-", f"threshold {texts[0]}; network {texts[1]}"))
    times = found["ms"]
    rows.append(("time of a picture", "-", f"threshold {times['threshold']:.1f} ms; network {times['network']:.1f} ms"))
    return rows


def camera_verdict(found: dict) -> str:
    """Claim 10."""
    plain = {name: found["results"][name]["plain"]["position_mm"]["mean"] for name in ("threshold", "network")}
    better = "threshold and homography are" if plain["threshold"] < plain["network"] else "the network is"
    return (
        "The project dropped its learned regressor, which had been trained on the threshold's own labels. With "
        f"true labels and a network made for the task, {better} still the better eye in plain light "
        f"({plain['threshold']:.2f} against {plain['network']:.2f} mm)."
    )


def symmetries_rows(found: dict) -> list[Row]:
    """Claim 11."""
    rows = []
    for name, points in found["results"].items():
        best = min(points, key=lambda point: point["position_mm"]["mean"])
        text = f"{mm(best['position_mm']['mean'])}, {best['parameters']:,} parameters, {best['us']:.1f} us"
        rows.append((f"{name}: best of {len(points)} widths, mean error", "-", text))
    reference = found["reference"]
    text = f"{mm(reference['mean'])}, {reference['us']:.0f} us"
    return [*rows, (f"reference network, {reference['parameters']:,} parameters", "0.19 mm", text)]


def symmetries_verdict(found: dict) -> str:
    """Claim 11."""
    best = {name: min(point["position_mm"]["mean"] for point in points) for name, points in found["results"].items()}
    three, two = best["box, 3 inputs"], best["box, 2 inputs"]
    six, four = best["any pose, 6 freedoms"], best["any pose, 4 freedoms"]
    product = best["any pose, 3 freedoms (product)"]
    return (
        f"New here. One input less in the box, and the best mean error is {compared(two, three)}; for any pose two "
        f"freedoms less, {compared(four, six)}, and with shoulder and wrist taken out as well, "
        f"{compared(product, six)}. The time of a solve hardly depends on it at these sizes; the reference "
        "network's does. "
    )


def scaling_rows(found: dict) -> list[Row]:
    """Claim 12."""
    rows = []
    for one, two in zip(found["training"]["1"], found["training"]["2"], strict=True):
        text = (
            f"{one['seconds']:.1f} / {two['seconds']:.1f} s; "
            f"{mm(one['position_mm']['mean'])} / {mm(two['position_mm']['mean'])}"
        )
        rows.append((f"{one['samples']:,} targets in a set, 1 / 2 processes: time; mean error", "-", text))
    for name, rates in found["solves_per_s"].items():
        text = f"{rates[0]:,.0f} / {max(rates):,.0f} per s"
        rows.append((f"{name}: batch of 1 / best of {found['batches'][-1]:,} and less", "-", text))
    return rows


def scaling_verdict(found: dict) -> str:
    """Claim 12."""
    one, two = (found["training"][processes] for processes in ("1", "2"))
    gains = [alone["seconds"] / shared["seconds"] for alone, shared in zip(one, two, strict=True)]
    errors = [row["position_mm"]["mean"] for row in one]
    full = []
    for rates in found["solves_per_s"].values():
        full.append(next(size for size, rate in zip(found["batches"], rates, strict=True) if rate > 0.8 * max(rates)))
    return (
        f"New here. Two processes train {gains[0]:.2f} times as fast as one with {one[0]['samples']:,} targets in a "
        f"set, {gains[-1]:.2f} times with {one[-1]['samples']:,}: the smaller a set, the less there is to share. In "
        f"one process the error goes from {mm(errors[0])} with {one[0]['samples']:,} targets in a set to "
        f"{mm(errors[-1])} with {one[-1]['samples']:,}. Batches reach four fifths of full speed from "
        f"{min(full):,} to {max(full):,} targets on. The load of the machine was {found['load']['least']:.1f} to "
        f"{found['load']['most']:.1f} on {found['cores']} cores; what two processes need rises with it."
    )


CLAIMS = (
    Claim(
        1,
        "accuracy",
        "Accuracy on held-out targets",
        "How far off are the networks on targets that training never saw, before any polishing?",
        accuracy_rows,
        accuracy_verdict,
    ),
    Claim(
        2,
        "peers",
        "Solvers compared, and IKPy's failures",
        "Where do solvers stand by one protocol, and what does a share of failures of IKPy depend on?",
        peers_rows,
        peers_verdict,
    ),
    Claim(
        3,
        "jacobian",
        "The Jacobian against finite differences",
        "Is the Jacobian right, and what is left at which step?",
        jacobian_rows,
        jacobian_verdict,
    ),
    Claim(
        4,
        "branches",
        "The eight branches, and the elbow-down fault",
        "Is every branch of the closed form right, and was one sign all that was wrong?",
        branches_rows,
        branches_verdict,
    ),
    Claim(
        5,
        "heads",
        "Eight heads without branch labels",
        "How many of the eight branches does a network find when nobody tells it which is which?",
        heads_rows,
        heads_verdict,
    ),
    Claim(
        6,
        "fk_loss",
        "A loss through the forward kinematics, or not",
        "Does it help on data of a single branch?",
        fk_loss_rows,
        fk_loss_verdict,
    ),
    Claim(
        7,
        "mixed",
        "Mixed branches",
        "What does a network learn from the joints of all branches at once?",
        mixed_rows,
        mixed_verdict,
    ),
    Claim(
        8,
        "outside",
        "Outside of the training box",
        "What does a raw network say there, and what passes the verified solver in silence?",
        outside_rows,
        outside_verdict,
    ),
    Claim(
        9,
        "arm_ends",
        "Where the arm ends up",
        "Does it matter to the arm whether the network or the closed form answered?",
        arm_ends_rows,
        arm_ends_verdict,
    ),
    Claim(
        10,
        "camera",
        "Two eyes: threshold and homography, or a network",
        "Which finds the cube better, when both are made well?",
        camera_rows,
        camera_verdict,
    ),
    Claim(
        11,
        "symmetries",
        "What the symmetries buy",
        "What does it buy to take both symmetries of the arm out of the learning?",
        symmetries_rows,
        symmetries_verdict,
    ),
    Claim(
        12,
        "scaling",
        "Scaling",
        "What do more data and a second core buy in training, and how large must a batch be?",
        scaling_rows,
        scaling_verdict,
    ),
)
