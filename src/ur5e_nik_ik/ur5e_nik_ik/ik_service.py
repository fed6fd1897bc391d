"""The verified solver behind the service solve_ik."""

import time

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy

from ur5e_nik_ik.dh import DhParameters, load_dh
from ur5e_nik_ik.messages import BadRequest, joint_state, pose_of, seed_of
from ur5e_nik_ik.models import network_path
from ur5e_nik_ik.network import Network, NetworkError
from ur5e_nik_ik.parameters import PARAMETERS, ParameterError, declare, make_solver, rest_posture
from ur5e_nik_ik.solver import SOLVERS, Reason, Refusal
from ur5e_nik_msgs.srv import SolveIK

# Replies to all clients share one queue: with the usual ten, four busy clients on a busy machine lose some.
_QUEUE = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)

_CODES = {
    Reason.NOT_A_POSE: SolveIK.Response.INVALID_GOAL_CONSTRAINTS,
    Reason.BAD_SEED: SolveIK.Response.INVALID_ROBOT_STATE,
    Reason.BAD_SOLVER: SolveIK.Response.INVALID_SOLVER,
}


class IkNode(Node):
    """Parses a request, asks the solver, replies."""

    def __init__(self) -> None:
        """Load what the parameters name and warm up; raises ParameterError for a bad one."""
        super().__init__("ik")
        values = declare(self)
        try:
            self._dh = load_dh(values["dh"])
        except ValueError as error:
            raise ParameterError(str(error)) from error
        self._networks = self._load_networks(values["networks"], self._dh)
        self._rest = rest_posture(values)
        started = time.perf_counter()
        self._solver = make_solver(values, self._dh, self._networks)
        seconds = time.perf_counter() - started
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)
        self.create_service(SolveIK, "solve_ik", self._solve_ik, qos_profile=_QUEUE)
        names = ", ".join(network.card["name"] for network in self._networks) or "none"
        self.description = f"ready: arm {self._dh.name}, networks: {names}, warmed up in {seconds:.1f} s"

    def _load_networks(self, names: list[str], dh: DhParameters) -> list[Network]:
        networks = []
        for name in filter(None, names):
            try:
                networks.append(Network.load(network_path(name, dh), dh))
            except NetworkError as error:
                self.get_logger().warning(f"without the network {name}, the closed form answers instead: {error}")
        return networks

    def _check_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        try:
            make_solver(self._values(changes), self._dh, self._networks)
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, _: list[Parameter]) -> None:
        values = self._values([])
        self._rest = rest_posture(values)
        self._solver = make_solver(values, self._dh, self._networks)

    def _values(self, changes: list[Parameter]) -> dict:
        values = {name: self.get_parameter(name).value for name in PARAMETERS}
        return values | {change.name: change.value for change in changes}

    def _solve_ik(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        try:
            if request.solver not in ("", *SOLVERS):
                names = ", ".join(SOLVERS)
                raise BadRequest(response.INVALID_SOLVER, f"unknown solver {request.solver!r}: use one of {names}")
            target = pose_of(request.target)
            seed = seed_of(request.seed, self._rest)
        except BadRequest as error:
            response.error_code, response.message = error.code, error.message
            return response
        started = time.perf_counter()
        answer = self._solver.solve(target, seed, request.solver or "auto")
        response.solve_time = time.perf_counter() - started
        if isinstance(answer, Refusal):
            response.error_code = _CODES.get(answer.reason, response.NO_IK_SOLUTION)
            response.message = answer.message
            return response
        stamp = self.get_clock().now().to_msg()
        response.error_code = response.SUCCESS
        response.solution = joint_state(answer.joints, stamp)
        response.alternatives = [joint_state(joints, stamp) for joints in answer.alternatives]
        response.solver = answer.solver
        response.position_error = answer.position_error
        response.orientation_error = answer.orientation_error
        return response
