"""The live page over real HTTP and DDS, and in a real browser."""

import asyncio
import contextlib
import io
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import aiohttp
import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from domain_coordinator import domain_id
from PIL import Image as Picture
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import Image, JointState

from ur5e_nik_bringup.evaluation.task_process import wait_for

CHROMIUM = shutil.which("chromium")
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
JOINTS = ["shoulder_pan_joint", "elbow_joint"]
COLOURS = {"debug_image": (200, 30, 20), "overview/image_color": (20, 60, 180)}  # red, green, blue
SIZE = (64, 48)
PATIENCE = 20.0


class Cell:
    """What a cell says of itself, ten times a second: two pictures of one colour each, joints, the task's state."""

    def __init__(self, domain, namespace=""):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("cell", context=self.context, namespace=namespace)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.told = {"phase": "carry", "cube": "1", "placed": "1"}
        self.message, self.level = "carrying to (0.580, 0.120, 0.022)", DiagnosticStatus.OK
        self.encoding, self.angles = "bgr8", [0.5, -1.0]
        self._name = f"{namespace}/task"
        self._pictures = {topic: self.node.create_publisher(Image, topic, 1) for topic in COLOURS}
        self._joints = self.node.create_publisher(JointState, "ur5e/joint_states", 5)
        self._diagnostics = self.node.create_publisher(DiagnosticArray, "diagnostics", 5)
        self.node.create_timer(0.1, self._tell)
        self._thread = threading.Thread(target=self.executor.spin)
        self._thread.start()

    @property
    def lookers(self):
        return sum(publisher.get_subscription_count() for publisher in self._pictures.values())

    def close(self):
        self.executor.shutdown()
        self._thread.join()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    def _tell(self):
        width, height = SIZE
        for topic, publisher in self._pictures.items():
            pixels = np.full((height, width, 3), COLOURS[topic][::-1], np.uint8)
            publisher.publish(
                Image(width=width, height=height, step=3 * width, encoding=self.encoding, data=pixels.tobytes())
            )
        self._joints.publish(JointState(name=JOINTS, position=self.angles))
        values = [KeyValue(key=key, value=value) for key, value in self.told.items()]
        others = DiagnosticStatus(name="/elsewhere/task", message="not this one")
        status = DiagnosticStatus(name=self._name, message=self.message, level=self.level, values=values)
        self._diagnostics.publish(DiagnosticArray(status=[others, status]))


class View:
    """The node as a process; ``address`` of its page."""

    def __init__(self, domain, *words):
        command = [sys.executable, "-m", "ur5e_nik_bringup.view_node", "--ros-args", *words]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        line = next((line for line in self.process.stdout if "http://" in line), "")
        self.address = line[line.index("http://") :].strip()

    def end(self):
        self.process.terminate()
        output, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, output
        assert "Traceback" not in output, output


@pytest.fixture(scope="module")
def domain():
    with domain_id() as number:
        yield number


@pytest.fixture(scope="module")
def running_cell(domain):
    cell = Cell(domain)
    yield cell
    cell.close()


@pytest.fixture
def cell(running_cell):
    kept = {name: getattr(running_cell, name) for name in ("told", "message", "level", "encoding", "angles")}
    yield running_cell
    for name, value in kept.items():
        setattr(running_cell, name, value)


@pytest.fixture(scope="module")
def view(domain, running_cell):
    view = View(domain, "-p", "port:=0")
    yield view
    view.end()


def ask(address, wanted):
    """The first message that is ``wanted``: a state as a dict, a picture as bytes."""

    async def listen():
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{address}/live") as live:
            async for message in live:
                found = json.loads(message.data) if message.type is aiohttp.WSMsgType.TEXT else message.data
                if wanted(found):
                    return found
        raise AssertionError("the connection ended")

    return asyncio.run(asyncio.wait_for(listen(), PATIENCE))


def fetch(address, **headers):
    async def main():
        async with aiohttp.ClientSession() as session, session.get(address, headers=headers) as answer:
            return answer.status, await answer.text()

    return asyncio.run(main())


def test_a_late_comer_hears_the_state_at_once(cell, view):
    state = ask(view.address, lambda found: isinstance(found, dict) and found["phase"] and found["joints"])
    assert (state["phase"], state["placed"], state["failed"]) == ("carry", 1, False)
    assert state["message"] == cell.message
    assert state["joints"] == [["shoulder_pan_joint", 0.5], ["elbow_joint", -1.0]]
    assert [line[1:] for line in state["story"]] == [["carry", cell.message]]


@pytest.mark.parametrize(("number", "topic"), list(enumerate(COLOURS)))
def test_pictures_come_as_they_were_published(cell, view, number, topic):
    data = ask(view.address, lambda found: isinstance(found, bytes) and found[0] == number)
    with Picture.open(io.BytesIO(data[1:])) as picture:
        assert (picture.format, picture.size) == ("JPEG", SIZE)
        assert np.allclose(picture.convert("RGB").getpixel((30, 20)), COLOURS[topic], atol=6)


def test_nobody_looks_and_no_picture_is_asked_for(cell, view):
    wait_for(lambda: cell.lookers == 0, PATIENCE, "the end of the last look")

    async def main():
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{view.address}/live") as live:
            await live.receive()
            await asyncio.to_thread(wait_for, lambda: cell.lookers == 2, PATIENCE, "the eyes to open")

    asyncio.run(main())
    wait_for(lambda: cell.lookers == 0, PATIENCE, "the eyes to close")
    # And they open again.
    assert ask(view.address, lambda found: isinstance(found, bytes))


def test_a_picture_that_cannot_be_shown_keeps_the_states_coming(cell, view):
    cell.encoding, cell.angles = "16UC1", [0.5, float("nan")]
    cell.message = "still here"
    state = ask(view.address, lambda found: isinstance(found, dict) and found["message"] == "still here")
    assert state["joints"] == [["shoulder_pan_joint", 0.5], ["elbow_joint", None]]


def test_a_page_from_elsewhere_is_refused(view):
    status, text = fetch(f"{view.address}/live", Origin="http://example.com")
    assert (status, text) == (403, "only the page of this server may look")


def test_the_page_stands_alone(view):
    status, text = fetch(view.address)
    assert status == 200
    assert "<title>ur5e_nik</title>" in text
    # Nothing from elsewhere: it works without a network.
    assert "src=" not in text
    assert text.count("http://") == text.count("https://") == 0


def test_a_namespace_shows_its_own_cell(domain):
    cell = Cell(domain, "/cell_b")
    view = View(domain, "-p", "port:=0", "-r", "__ns:=/cell_b")
    try:
        cell.message = "in cell b"
        assert ask(view.address, lambda found: isinstance(found, dict) and found["message"] == "in cell b")
    finally:
        view.end()
        cell.close()


@pytest.mark.parametrize("bad", ["in use", "port:=70000", "port:=many"])
def test_a_port_that_cannot_be_had_ends_the_node_with_one_line(domain, bad):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        word = f"port:={port}" if bad == "in use" else bad
        command = [sys.executable, "-m", "ur5e_nik_bringup.view_node", "--ros-args", "-p", word]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    (line,) = (run.stdout + run.stderr).strip().splitlines()
    assert line.startswith("view: ")
    assert (f"127.0.0.1:{port} cannot be listened on" if bad == "in use" else "port") in line


class Browser:
    """A page in Chromium, spoken to by its DevTools protocol."""

    def __init__(self, connection):
        self._connection = connection
        self._numbers = itertools.count(1)

    async def value(self, expression):
        """Of a JavaScript expression."""
        number = next(self._numbers)
        request = {"id": number, "method": "Runtime.evaluate", "params": {"expression": expression}}
        await self._connection.send_json({**request, "params": {"expression": expression, "returnByValue": True}})
        async for message in self._connection:
            answer = json.loads(message.data)
            if answer.get("id") == number:
                return answer["result"]["result"].get("value")
        raise AssertionError("the browser has gone")

    async def becomes(self, expression, wanted):
        end = time.monotonic() + PATIENCE
        while (value := await self.value(expression)) != wanted:
            assert time.monotonic() < end, f"{expression} is {value!r}, not {wanted!r}"
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def browser(address, folder):
    command = [CHROMIUM, *QUIET, "--remote-debugging-port=0", f"--user-data-dir={folder}", address]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        line = next(line for line in process.stderr if "DevTools listening on ws://" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        tools = "http://" + line.split("ws://")[1].split("/")[0]
        async with aiohttp.ClientSession() as session:
            pages = []
            while not pages:
                async with session.get(f"{tools}/json/list") as answer:
                    pages = [page for page in await answer.json() if page["url"].startswith(address)]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as connection:
                yield Browser(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: apt install chromium")
def test_the_page_in_a_browser(cell, view, tmp_path):
    def text(name):
        return f"document.getElementById('{name}').textContent"

    def pixel(number):
        canvas = f"document.getElementById('picture{number}')"
        return f"Array.from({canvas}.getContext('2d').getImageData(30, 20, 1, 1).data.slice(0, 3))"

    async def main():
        async with browser(view.address, tmp_path) as page:
            await page.becomes(text("phase"), "carry")
            assert await page.value(text("message")) == cell.message
            assert await page.value(text("placed")) == "1 placed"
            await page.becomes("document.querySelectorAll('#joints tr').length", 2)
            assert await page.value("document.querySelector('#joints td.number').textContent") == "28.6°"
            for number, colour in enumerate(COLOURS.values()):
                await page.becomes(f"document.getElementById('picture{number}').width", SIZE[0])
                await asyncio.sleep(0.3)
                assert np.allclose(await page.value(pixel(number)), colour, atol=8)
            cell.told, cell.message = {"code": "GRASP_FAILED"}, "idle; 1 placed, 1 not: the fingers held nothing"
            cell.level = DiagnosticStatus.ERROR
            await page.becomes(text("message"), cell.message)
            assert await page.value(text("phase")) == "idle"
            assert await page.value("document.getElementById('message').className") == "bad"
            assert await page.value("document.querySelectorAll('#story tr').length") >= 2

    asyncio.run(main())
