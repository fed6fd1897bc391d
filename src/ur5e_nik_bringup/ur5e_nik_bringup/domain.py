"""A ROS domain for each run, so that two runs on one machine do not disturb each other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from domain_coordinator import domain_id

from ur5e_nik_bringup.system import SystemArgumentError


@contextlib.contextmanager
def own_domain(shared: bool = False) -> Iterator[int]:
    """A ROS domain that no other run on this machine uses; the user's, where one is set, which may be ``shared``.

    Raises SystemArgumentError when there is none.
    """
    text = os.environ.get("ROS_DOMAIN_ID", "")
    if text and not (text.isdecimal() and 0 <= int(text) <= 101):
        raise SystemArgumentError(f"ROS_DOMAIN_ID is '{text}', but must be a whole number from 0 to 101")
    if text and shared:
        yield int(text)
        return
    reserved = domain_id((lambda: int(text)) if text else None)
    try:
        domain = reserved.__enter__()
    except RuntimeError:
        which = f"ROS domain {text} is" if text else "all ROS domains from 1 to 100 are"
        raise SystemArgumentError(f"{which} in use by another run; end that one or unset ROS_DOMAIN_ID") from None
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    try:
        yield domain
    finally:
        # Not through the with statement: domain_id would take our OSErrors for its own.
        reserved.__exit__(None, None, None)
