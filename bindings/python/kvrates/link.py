# SPDX-License-Identifier: BSD-3-Clause
"""The socket between the two processes. Every wait has a limit, and notices that the other process has ended."""
from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import Any, Callable

SPIN_SECONDS = 2e-3
"""How long a wait polls before it sleeps."""
LOOK_SECONDS = 1e-2
"""How often a wait for something else looks whether the other process has given up."""
LARGEST = 1 << 17
NOTE = b"note"


class Failure(Exception):
    """One sentence: why a message, or everything, cannot go on."""


class Lost(Failure):
    """The other process has ended, or does not answer."""


class Link:
    """One end. Notes are the notifications of ways that have none of their own; the rest is JSON."""

    def __init__(self, end: socket.socket, limit: float) -> None:
        self.end, self.limit = end, limit
        # Python waits before a call on a socket with a timeout, even if the call itself may not wait.
        end.setblocking(True)

    def note(self) -> None:
        """Notify the other process."""
        self._send(NOTE)

    def tell(self, **what: Any) -> None:
        """Send a JSON object."""
        self._send(json.dumps(what).encode())

    def _send(self, data: bytes) -> None:
        try:
            if not select.select([], [self.end], [], self.limit)[1]:
                raise Lost(f"the other process has not listened for {self.limit:g} s")
            self.end.send(data)
        except OSError as reason:
            raise Lost(f"the other process does not listen any more: {reason}") from None

    def raw(self) -> bytes:
        """The next message."""
        start = time.monotonic()
        while True:
            try:
                data = self.end.recv(LARGEST, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._pause(start)
            except OSError as reason:
                raise Lost(f"the other process has ended: {reason}") from None
            else:
                if not data:
                    raise Lost("the other process has ended")
                return data

    def _pause(self, start: float) -> None:
        """Poll on for a while, then sleep until something comes."""
        waited = time.monotonic() - start
        if waited < SPIN_SECONDS:
            return
        if not select.select([self.end], [], [], max(self.limit - waited, 0))[0]:
            raise Lost(f"the other process has not answered for {self.limit:g} s")

    def files(self) -> list[int]:
        """The next message's files."""
        if not select.select([self.end], [], [], self.limit)[0]:
            raise Lost(f"the other process has not answered for {self.limit:g} s")
        return socket.recv_fds(self.end, LARGEST, 1)[1]

    def hear(self) -> dict[str, Any]:
        """The next JSON object. Raises Failure for one that tells an error."""
        data = self.raw()
        while data == NOTE:
            # A note of a message that has failed.
            data = self.raw()
        what: dict[str, Any] = json.loads(data)
        if "error" in what:
            raise Failure(what["error"])
        return what

    def await_note(self) -> None:
        """Wait for a notification. Raises Failure if the other process has given the message up."""
        data = self.raw()
        if data != NOTE:
            raise Failure(json.loads(data).get("error", "the other process has answered something else"))

    def wait_until(self, is_done: Callable[[], bool], what: str) -> None:
        """Poll until something is done. Raises Failure after the limit, or if the other process gives up."""
        start = last = time.monotonic()
        while not is_done():
            now = time.monotonic()
            if now - last > LOOK_SECONDS:
                last = now
                self._look()
            if now - start > SPIN_SECONDS:
                # Where processes and the threads of NIXL have fewer CPUs than they would keep busy, others get on.
                os.sched_yield()
            if now - start > self.limit:
                raise Failure(f"{what} was not done after {self.limit:g} s")

    def _look(self) -> None:
        """Raise Failure if the other process has ended or has told an error, which stays to be heard."""
        try:
            data = self.end.recv(LARGEST, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError as reason:
            raise Lost(f"the other process has ended: {reason}") from None
        if not data:
            raise Lost("the other process has ended")
        if data != NOTE and "error" in json.loads(data):
            raise Failure(json.loads(data)["error"])
