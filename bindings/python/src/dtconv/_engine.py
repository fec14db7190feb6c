# SPDX-License-Identifier: BSD-3-Clause
"""Makes progress with channels, in the threads that wait.

One thread at a time makes progress and sleeps on the engine's descriptor; the others sleep until it has found
something or leaves.
"""
from __future__ import annotations

import ctypes
import itertools
import os
import select
import threading
import time
from typing import Any, Callable, Optional

from . import errors
from ._library import runtime
from ._structs import Status

_Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
POLL_SECONDS = 1e-4
"""How long a wait polls before it sleeps: to be woken takes half of that, and copies of a device take less."""
CLOSE_SECONDS = 5.0
"""How long an engine that nobody uses any more tries to end what is under way."""

_numbers = itertools.count(1)
_under_way: dict[int, Operation] = {}
"""Operations that the library has: they keep their arrays alive, whatever becomes of the channel."""
_leaked: list[Any] = []
"""Engines that could not be closed; the library may still use their memory."""


class Operation:
    """A send or a receive of the library's, until it calls back."""

    __slots__ = ("keep", "moved", "number", "status")

    def __init__(self, keep: Any) -> None:
        self.keep = keep
        self.status = int(Status.INPROGRESS)
        self.moved = 0
        self.number = next(_numbers)
        _under_way[self.number] = self

    def forget(self) -> None:
        """The library does not have it any more."""
        self.keep = None
        _under_way.pop(self.number, None)


def _ended(number: Optional[int], status: int, moved: int) -> None:
    """The library's callback."""
    operation = _under_way.get(number or 0)
    if operation is not None:
        operation.moved, operation.status = moved, status
        operation.forget()


done = _Done(_ended)
DONE = ctypes.cast(done, ctypes.c_void_p)


def seconds_left(deadline: Optional[float]) -> Optional[float]:
    """Until a deadline; None: for ever."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


class Engine:
    """An engine of the library. It is destroyed when it is gone and all channels and listeners have left it: the
    collector of garbage ends the objects of a cycle in any order."""

    def __init__(self) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        self._handle: Optional[int] = None
        self._lib = run.lib
        self._changed = threading.Condition()
        self._is_driven = False
        self._users, self._is_gone = 0, False
        run.check(run.lib.dtconv_engine_create(run.context, None, ctypes.byref(handle)))
        self._handle = handle.value
        self._poll = select.poll()
        self._poll.register(run.lib.dtconv_engine_fd(handle), select.POLLIN)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._is_gone = True
            self._destroy_unused()

    def join(self) -> None:
        """A channel or a listener uses it."""
        self._users += 1

    def leave(self) -> None:
        """It no longer does."""
        self._users -= 1
        self._destroy_unused()

    def _destroy_unused(self) -> None:
        # It stays where it is if operations are not done.
        if self._is_gone and not self._users:
            handle, self._handle = self._handle, None
            self._lib.dtconv_engine_destroy(handle)

    @property
    def handle(self) -> Optional[int]:
        """The library's engine."""
        return self._handle

    def progress(self) -> bool:
        """Make what progress there is, and tell whether there was any. Does not block."""
        worked, happened = ctypes.c_size_t(1), False
        while worked.value:
            runtime().check(self._lib.dtconv_engine_progress(self._handle, 0, ctypes.byref(worked)))
            happened = happened or worked.value > 0
        return happened

    def _poll_for(self, is_done: Callable[[], bool], deadline: Optional[float]) -> None:
        """Make progress until something is done, time is up, or nothing has happened for a while."""
        last = now = time.monotonic()
        while not is_done() and (deadline is None or now < deadline):
            now = time.monotonic()
            if self.progress():
                last = now
            elif now - last > POLL_SECONDS:
                return
            elif now - last > POLL_SECONDS / 4:
                # The other process may need this CPU.
                os.sched_yield()

    def wait_until(self, is_done: Callable[[], bool], timeout: Optional[float], what: str) -> None:
        """Make progress until something is done. Raises TimedOutError after ``timeout`` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not is_done():
            if deadline is not None and time.monotonic() > deadline:
                raise errors.TimedOutError(f"{what} was not done after {timeout} s")
            self._step(is_done, deadline)

    def _step(self, is_done: Callable[[], bool], deadline: Optional[float]) -> None:
        """Drive the engine once, or wait for the thread that does."""
        with self._changed:
            if self._is_driven:
                self._changed.wait(seconds_left(deadline))
                return
            self._is_driven = True
        try:
            self._poll_for(is_done, deadline)
            if not is_done():
                self._sleep(deadline)
        finally:
            with self._changed:
                self._is_driven = False
                self._changed.notify_all()

    def _sleep(self, deadline: Optional[float]) -> None:
        """Sleep until there is something to do."""
        if self._lib.dtconv_engine_arm(self._handle) == Status.ERR_AGAIN:
            return
        left = seconds_left(deadline)
        self._poll.poll(None if left is None else left * 1000)
