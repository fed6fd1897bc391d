"""The story of a pick_place goal, told over the commander: home, look, plan, then cube after cube."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ur5e_nik_bringup.commander import Commander, Reading
from ur5e_nik_bringup.kinematics import tilt, tool_pose
from ur5e_nik_bringup.planning import Down, Planner, Unreachable
from ur5e_nik_bringup.states import Code, Event, Fault, State, next_state
from ur5e_nik_bringup.trajectory import Trajectory, chain, joint_move, line_move, line_nodes
from ur5e_nik_bringup.waypoints import Place, Spot, tool_down

Array = NDArray[np.float64]

CHECK_STEP = 0.02  # between two postures of a joint move that are checked, in its widest joint [rad]
NEARER = 1e-3  # an arm that is nearer to something than the margin may come this much nearer [m]
UPRIGHT = 0.1  # a tool tilted by less still counts as pointing down [rad]


@dataclass
class Cube:
    """What is known of one cube of the goal, and what became of it."""

    detected: Spot | None
    started: float
    colour: str = ""
    code: Code = Code.FAILURE
    message: str = ""
    placed: Spot | None = None
    attempts: int = 0
    cycle_time: float = 0.0
    solvers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Progress:
    """What a user interface may show."""

    state: State
    cube: int
    placed: int
    message: str


@dataclass(frozen=True)
class Outcome:
    """How a goal ended."""

    code: Code
    message: str
    cubes: list[Cube]


class Tray:
    """The places for cubes, and where cubes have been put; it outlives a goal."""

    def __init__(self) -> None:
        self.filled: list[Spot] = []

    def fill(self, place: Spot, spacing: float) -> None:
        """Note that a cube lies there now."""
        if not self.taken(place, spacing):
            self.filled.append(place)

    def taken(self, place: Spot, spacing: float) -> bool:
        """Whether a cube lies nearer than ``spacing`` [m]."""
        return any(place.distance(other) < spacing for other in self.filled)


class PickPlace:
    """One goal. ``tell`` is called with the progress whenever a state begins."""

    def __init__(self, arm: Commander, tray: Tray, tell: Callable[[Progress], None]) -> None:
        self._arm = arm
        self._settings = settings = arm.settings
        self._tray = tray
        self._tell = tell
        self._planner = Planner(
            arm.solve,
            settings.hand,
            settings.line_step,
            settings.ik_position_tolerance,
            settings.ik_angle_tolerance,
        )
        self._count = 0
        self._places: list[Place] = []  # that are free
        self._goes_to = Place(0.0, 0.0, 0.0)  # where the cube at hand is put
        self._taboo: list[Spot] = []  # cubes seen here are left alone: placed or given up
        self._cubes: list[Cube] = []
        self._unseen: list[Cube] = []  # placed, and not yet looked at since
        self._cube: Cube | None = None
        self._pick: Down | None = None
        self._place: Down | None = None
        self._rise: list[Array] = []  # the leg before the approach, from where the last cube was let go
        self._motion: Trajectory | None = None  # that is prepared; None where nothing needs to move
        self._legs_end: list[float] = []
        self._in_view_since = 0.0

    def run(self, count: int, places: list[Place]) -> Outcome:
        """Place ``count`` cubes, or all (0), at ``places``, or at the settings' places that are free (empty)."""
        size = self._settings.cube_size
        self._count = count
        self._places = list(places)
        if not places:
            self._places = [p for p in self._settings.place_spots if not self._tray.taken(p, size)]
            self._taboo = list(self._tray.filled)
        state = State.HOME
        try:
            while state is not State.FINISHED:
                state = next_state(state, getattr(self, f"_{state.value}")())
        except Fault as fault:
            return self._stopped(state, fault)
        return self._summary()

    def home(self) -> Outcome:
        """Only go to the look posture; what the fingers hold stays in them."""
        return self._alone(State.HOME, "going to the look posture", self._go_to_look)

    def open_gripper(self) -> Outcome:
        """Only open the fingers."""
        return self._alone(State.RELEASE, "opening the fingers", self._open)

    def close_gripper(self) -> Outcome:
        """Only close the fingers."""
        return self._alone(
            State.GRASP,
            "closing the fingers",
            lambda: self._arm.gripper(self._settings.gripper_closed),
        )

    def _alone(self, state: State, message: str, act: Callable[[], object]) -> Outcome:
        try:
            self._say(state, message)
            self._arm.begin()
            act()
        except Fault as fault:
            return self._stopped(state, fault)
        return Outcome(Code.SUCCESS, "done", [])

    # The chapters: each does what its state says and returns how it ended.

    def _home(self) -> Event:
        self._say(State.HOME, "going to the look posture")
        self._arm.begin()
        if self._holds_something():
            self._cube = Cube(detected=None, started=self._arm.now())
            return Event.HOLDING
        self._go_to_look()
        self._open()
        return Event.READY

    def _look(self) -> Event:
        self._say(State.LOOK, "looking for a cube")
        started = self._arm.now()
        spot = self._arm.look(self._in_view_since, self._wanted)
        if spot is None:
            if self._cube:
                self._end_cube(Code.GRASP_FAILED, f"{self._cube.message}; no longer in view")
            return Event.NONE_LEFT
        if self._cube is None:
            self._cube = Cube(detected=spot, started=started)
        self._cube.detected = spot
        self._cube.colour = self._arm.colour_of(spot)
        return Event.SEEN

    def _plan(self) -> Event:
        cube = self._at_hand
        if not self._places:
            self._say(State.PLAN, "no place is free")
            self._end_cube(Code.NO_PLACE, "every place is taken; service clear_places: they are free again")
            return Event.NO_PLACE
        fitting = next((place for place in self._places if place.takes(cube.colour)), None)
        if fitting is None:
            self._say(State.PLAN, f"no place for {cube.colour} cubes is free")
            self._end_cube(Code.NO_PLACE, f"every place for {cube.colour} cubes is taken")
            return Event.NO_WAY
        self._goes_to = fitting
        posture = self._arm.reading().arm
        if cube.detected is None:
            self._say(State.PLAN, f"planning the held cube's way to {_at(fitting)}")
            self._pick = None
            self._place = self._plan_place(posture)
            cube.solvers = self._place.solvers
            return Event.HOLDING
        self._say(State.PLAN, f"planning from {_at(cube.detected)} to {_at(fitting)}")
        self._in_view_since = self._arm.now()  # for the look that follows where there is no way
        if self._settings.below_table(cube.detected):
            self._end_cube(Code.INVALID_GOAL_CONSTRAINTS, f"the cube at {_at(cube.detected)} is inside the table")
            return Event.NO_WAY
        self._rise = self._way_up()
        if self._rise:
            posture = self._rise[0][-1]
        try:
            self._pick = self._planner.pick(cube.detected, posture, cube.attempts)
        except Unreachable as unreachable:
            self._end_cube(Code.NO_IK_SOLUTION, str(unreachable))
            return Event.NO_WAY
        self._place = self._plan_place(self._pick.top)
        cube.solvers = self._pick.solvers + self._place.solvers
        look = np.array(self._settings.look_posture)
        for start, end in ((posture, self._pick.top), (self._pick.top, self._place.top), (self._place.top, look)):
            if blocked := self._blocked(start, end):
                self._end_cube(Code.INVALID_MOTION_PLAN, blocked)
                return Event.NO_WAY
        return Event.PLANNED

    def _approach(self) -> Event:
        self._say(State.APPROACH, "moving above the cube")
        pick = _planned(self._pick)
        self._start([*self._rise, pick.top, pick.points])
        self._arm.follow(until=self._legs_end[-2])
        return Event.ARRIVED

    def _descend(self) -> Event:
        self._say(State.DESCEND, "straight down to the cube")
        self._arm.follow()
        return Event.ARRIVED

    def _grasp(self) -> Event:
        cube = self._at_hand
        cube.attempts += 1
        self._say(State.GRASP, f"closing the fingers, attempt {cube.attempts}")
        self._arm.start_gripper(self._settings.gripper_closed)
        self._prepare(self._way_to_place())  # while the fingers close
        if self._arm.holds(self._arm.gripper_stopped()):
            return Event.HELD
        cube.message = f"the fingers held nothing, attempt {cube.attempts}"
        return Event.MISSED

    def _lift(self) -> Event:
        self._say(State.LIFT, "lifting straight up")
        # The arm may have been pushed while the fingers closed.
        if (
            self._motion
            and np.max(np.abs(self._arm.reading().arm - self._motion.positions[0])) > self._settings.reached
        ):
            self._prepare(self._way_to_place())
        self._send()
        return self._carried(until=self._legs_end[0])

    def _carry(self) -> Event:
        self._say(State.CARRY, f"carrying to {_at(self._goes_to)}")
        if self._pick is None:
            place = _planned(self._place)
            self._start([*self._way_up(), place.top, place.points])
        return self._carried(until=self._legs_end[-2])

    def _lower(self) -> Event:
        self._say(State.LOWER, "straight down to the place")
        self._in_view_since = self._arm.now()
        return self._carried()

    def _release(self) -> Event:
        self._say(State.RELEASE, "opening the fingers")
        self._arm.start_gripper(self._settings.gripper_open)
        self._opened()
        if self._still_there():
            return Event.STILL_THERE
        cube, place = self._at_hand, self._goes_to
        self._places.remove(place)
        cube.code, cube.placed = Code.SUCCESS, place
        self._taboo.append(place)
        self._tray.fill(place, self._settings.cube_size)
        self._unseen.append(cube)
        following = None if self._enough or not self._places else self._arm.glance(self._in_view_since, self._wanted)
        if following is None:
            return Event.RELEASED
        self._end_placed()
        self._cube = Cube(following, started=self._arm.now(), colour=self._arm.colour_of(following))
        return Event.NEXT_SEEN

    def _retreat(self) -> Event:
        self._say(State.RETREAT, "going up and back to the look posture")
        cube = self._cube
        if cube and cube.code is not Code.SUCCESS:
            self._open()
        self._go_to_look()
        if cube and cube.code is Code.SUCCESS:
            self._end_placed()
        elif cube and (cube.attempts >= self._settings.attempts or cube.detected is None):
            self._end_cube(Code.GRASP_FAILED, cube.message)
        self._check_places()
        return Event.ENOUGH if self._enough else Event.MORE

    # What the chapters share

    def _start(self, legs: list[Array]) -> None:
        """`_prepare` one motion, and send it."""
        self._prepare(legs)
        self._send()

    def _send(self) -> None:
        if self._motion:
            self._arm.start(self._motion, self._settings.arm_joints)

    def _prepare(self, legs: list[Array]) -> None:
        """Make one motion: a leg is a posture (6,) to go to, or joints (K, 6) of a straight line to follow."""
        here = self._arm.reading().arm
        limits = self._settings.arm_limits
        parts: list[Trajectory] = []
        part_of_leg: list[int] = []
        for leg in legs:
            way = leg - here
            if leg.ndim == 2:
                parts.append(self._along(leg, way[0]))
            elif np.max(np.abs(way)) > self._settings.reached:
                if blocked := self._blocked(here, leg):
                    raise Fault(Code.INVALID_MOTION_PLAN, blocked)
                parts.append(joint_move(here, leg, limits))
            else:
                part_of_leg.append(len(parts) - 1)
                continue
            here = leg.reshape(-1, 6)[-1]
            part_of_leg.append(len(parts) - 1)
        self._motion, self._legs_end = None, [0.0] * len(legs)
        if not parts:
            return
        self._motion, passed = chain(parts, limits, self._settings.blend)
        ends = [*passed, self._motion.duration, 0.0]  # the last for a leg that is skipped at the start
        self._legs_end = [ends[part] for part in part_of_leg]

    def _blocked(self, start: Array, end: Array) -> str:
        """Why a joint move would come too near to something, or an empty string."""
        steps = max(2, int(np.ceil(np.max(np.abs(end - start)) / CHECK_STEP)) + 1)
        surroundings = self._settings.surroundings
        gap = surroundings.narrowest(np.linspace(start, end, steps))
        # An arm that is near already may move, but no nearer.
        if gap.distance >= min(self._settings.path_margin, surroundings.narrowest(start).distance - NEARER):
            return ""
        return f"the way there leads too near to something: {1e3 * gap.distance:.0f} mm between {gap.between}"

    def _along(self, points: Array, way: Array) -> Trajectory:
        """A straight line from where the arm is; ``way`` (6,) leads from there to the line's beginning."""
        worst = int(np.argmax(np.abs(way)))
        if abs(way[worst]) > self._settings.arrival_tolerance:
            raise Fault(
                Code.CONTROL_FAILED,
                f"{self._settings.arm_joints[worst]} is {np.degrees(abs(way[worst])):.1f} deg"
                " from where the straight motion begins",
            )
        length = np.linalg.norm(tool_pose(points[-1])[0] - tool_pose(points[0])[0])
        eased = points - np.outer(1.0 - line_nodes(len(points)), way)
        return line_move(eased, self._settings.arm_limits, self._settings.line_velocity / length)

    def _way_to_place(self) -> list[Array]:
        """The legs of a cube that was just grasped: up, across and down."""
        pick, place = _planned(self._pick), _planned(self._place)
        return [pick.points[::-1], place.top, place.points]

    def _way_up(self) -> list[Array]:
        """The leg that brings a tool that is low up to where it may move sideways; none if it is high."""
        posture = self._arm.reading().arm
        for down in (self._place, self._pick):
            if down and np.max(np.abs(posture - down.points[-1])) < self._settings.arrival_tolerance:
                return [down.points[::-1]]
        position, rotation = tool_pose(posture)
        height = self._settings.safe_height - position[2]
        if height < self._settings.line_step or tilt(rotation) > UPRIGHT:
            return []
        try:
            return [self._planner.up(tool_down(position, rotation), height, posture)]
        except Unreachable as unreachable:
            raise Fault(Code.NO_IK_SOLUTION, f"the tool is low and cannot go straight up: {unreachable}") from None

    def _go_to_look(self) -> None:
        self._start([*self._way_up(), np.array(self._settings.look_posture)])
        self._arm.follow()
        self._in_view_since = self._arm.now()

    def _holds_something(self) -> bool:
        """Half-closed fingers may hold a cube, or nothing: closing tells."""
        return self._arm.holds(self._arm.reading()) and self._arm.holds(
            self._arm.gripper(self._settings.gripper_closed)
        )

    def _still_there(self) -> bool:
        """Whether the camera, over the place, sees the cube at hand where it was grasped."""
        cube = self._at_hand
        if cube.detected is None or self._same(cube.detected)(self._goes_to):
            return False
        if self._arm.glance(self._in_view_since, self._same(cube.detected)) is None:
            return False
        cube.message = f"the camera still sees the cube where it was grasped, attempt {cube.attempts}"
        return True

    def _check_places(self) -> None:
        """From the look posture, which hides nothing: whether what was placed is seen there."""
        places = [cube.placed for cube in self._unseen if cube.placed]
        gone = self._arm.missing(places, self._in_view_since)
        for cube in self._unseen:
            if cube.placed in gone:
                cube.code, cube.message = Code.PLACE_FAILED, f"the camera sees no cube at {_at(cube.placed)}"
        self._unseen.clear()

    def _open(self) -> None:
        self._arm.start_gripper(self._settings.gripper_open)
        self._opened()

    def _opened(self) -> None:
        def is_open(reading: Reading) -> bool:
            return self._settings.closed_share(reading.gripper) < self._settings.held_from

        reading = self._arm.gripper_stopped(far_enough=is_open)
        if not is_open(reading):
            share = self._settings.closed_share(reading.gripper)
            raise Fault(Code.CONTROL_FAILED, f"the gripper did not open: {share:.0%} closed")

    def _carried(self, until: float = np.inf) -> Event:
        if self._arm.follow(until, check=self._arm.holding):
            return Event.ARRIVED
        self._arm.stop()
        self._at_hand.message = "the cube slipped out of the fingers"
        return Event.DROPPED

    def _plan_place(self, seed: Array) -> Down:
        try:
            return self._planner.place(self._goes_to, seed)
        except Unreachable as unreachable:
            raise Fault(Code.NO_IK_SOLUTION, f"the place {_at(self._goes_to)}: {unreachable}") from None

    def _wanted(self, spot: Spot) -> bool:
        return not any(self._same(other)(spot) for other in self._taboo)

    def _same(self, cube: Spot) -> Callable[[Spot], bool]:
        return lambda spot: spot.distance(cube) <= self._settings.same_cube

    def _end_placed(self) -> None:
        self._at_hand.cycle_time = self._arm.now() - self._at_hand.started
        self._end_cube(Code.SUCCESS, "")

    def _end_cube(self, code: Code, message: str) -> None:
        cube = self._at_hand
        cube.code, cube.message = code, message
        if code is not Code.SUCCESS and cube.detected:
            self._taboo.append(cube.detected)
        self._cubes.append(cube)
        self._cube = None

    @property
    def _at_hand(self) -> Cube:
        if self._cube is None:
            raise RuntimeError("no cube is at hand")
        return self._cube

    @property
    def _placed(self) -> int:
        """Placed cubes, the one at hand as well once it is let go."""
        cubes = [*self._cubes, self._cube] if self._cube else self._cubes
        return sum(cube.code is Code.SUCCESS for cube in cubes)

    @property
    def _enough(self) -> bool:
        return bool(self._count) and self._placed >= self._count

    def _say(self, state: State, message: str) -> None:
        self._tell(Progress(state, len(self._cubes), self._placed, message))

    # How it ends

    def _stopped(self, state: State, fault: Fault) -> Outcome:
        message = f"{state.value}: {fault}"
        if not self._arm.stop():
            message += "; the controller did not confirm that it stopped"
        if self._cube:
            placed = self._cube.code is Code.SUCCESS  # what stops the arm on its way back does not undo that
            self._end_cube(Code.SUCCESS if placed else fault.code, "" if placed else message)
        return Outcome(fault.code, message, self._cubes)

    def _summary(self) -> Outcome:
        failed = [cube for cube in self._cubes if cube.code is not Code.SUCCESS]
        placed = f"{self._placed} placed"
        if failed:
            return Outcome(failed[0].code, f"{placed}, {len(failed)} not: {failed[0].message}", self._cubes)
        if self._placed < max(self._count, 1):
            return Outcome(Code.NO_OBJECT, f"{placed}, no other cube is in view", self._cubes)
        return Outcome(Code.SUCCESS, placed, self._cubes)


def _planned(down: Down | None) -> Down:
    if down is None:
        raise RuntimeError("the way down was not planned")
    return down


def _at(spot: Spot) -> str:
    return f"({spot.x:.3f}, {spot.y:.3f}, {spot.z:.3f})"
