# SPDX-License-Identifier: BSD-3-Clause
"""Packs, unpacks and copies that are started and end later."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Optional

from . import _streams
from ._library import runtime
from ._sides import check_room, new_packed, packed_view, side_of
from ._structs import Operation, Status
from .constructors import chosen
from .moves import convertor_options, copier_options, copy_arguments


class Job:
    """Something in flight; ``start_pack``, ``start_unpack``, ``start_copy`` and ``Batch.start`` make them.

    The arrays are kept alive until it has ended. Device work runs in the background; between two buffers in memory of
    the CPU the bytes have moved when it starts. A job that is dropped before it has ended is waited for.
    """

    __slots__ = ("__weakref__", "_calls", "_destroy", "_error", "_handle", "_keep", "_lock", "_moved", "out")

    def __init__(self, handle: int, calls: str, keep: Any, out: Any = None, owned: bool = True) -> None:
        """Take over a started object of the library. Not for users."""
        lib = runtime().lib
        self._handle: Optional[int] = handle
        self._calls: tuple[Callable[..., int], Callable[..., int]] = (getattr(lib, f"dtconv_{calls}_test"),
                                                                      getattr(lib, f"dtconv_{calls}_wait"))
        self._destroy: Optional[Callable[[int], None]] = getattr(lib, f"dtconv_{calls}_destroy") if owned else None
        self._keep = keep
        self._lock = threading.Lock()
        self._moved = 0
        self._error: Optional[Exception] = None
        self.out = out

    def test(self) -> bool:
        """Whether it has ended. Never blocks. Raises its error if it has failed."""
        if self._handle is not None:
            # If another thread waits, it has not ended.
            if not self._lock.acquire(blocking=False):
                return False
            try:
                self._ask(self._calls[0])
            finally:
                self._lock.release()
        return self._handle is None and self._result() >= 0

    def wait(self) -> int:
        """Wait until it has ended, and return the number of bytes moved. Raises its error if it has failed."""
        with self._lock:
            self._ask(self._calls[1])
        return self._result()

    def _ask(self, call: Callable[..., int]) -> None:
        """Test or wait; remember how it ended."""
        if self._handle is None:
            return
        moved = ctypes.c_size_t()
        status = call(self._handle, ctypes.byref(moved))
        if status == Status.INPROGRESS:
            return
        self._moved = moved.value
        if status:
            self._error = runtime().failure(status)
        self._release()

    def _release(self) -> None:
        """Give the library's object and the arrays back."""
        handle, self._handle = self._handle, None
        if handle is not None and self._destroy is not None:
            self._destroy(handle)
        self._keep = None

    def _result(self) -> int:
        if self._error is not None:
            raise self._error
        return self._moved

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is None:
            return
        if self._destroy is None:
            self._calls[1](self._handle, None)
        self._release()

    def __repr__(self) -> str:
        state = "in flight" if self._handle is not None else "failed" if self._error else f"{self._moved} bytes moved"
        return f"<dtconv.Job: {state}>"


def start_pack(x: Any, out: Any = None, *, layout: Any = None, count: int = 1, stream: Any = None) -> Job:
    """Start to pack: as ``pack``, and the job's ``out`` is the packed memory."""
    source = side_of(x, layout, count)
    if out is None:
        out = new_packed(source.view, source.size)
    packed = packed_view(out, "out", written=True)
    check_room(source, packed, "out")
    return _start("pack", source, packed, stream, Operation.REPLACE, out)


def start_unpack(packed: Any, into: Any, *, layout: Any = None, count: int = 1, op: str = "replace",
                 stream: Any = None) -> Job:
    """Start to unpack: as ``unpack``."""
    source = packed_view(packed, "packed", written=False)
    target = side_of(into, layout, count, written="into")
    return _start("unpack", target, source, stream, chosen(Operation, op, "operation"), None)


def _start(direction: str, side: Any, packed: Any, named_stream: Any, op: int, out: Any) -> Job:
    run, handle = runtime(), ctypes.c_void_p()
    views = [side.view, packed]
    stream = _streams.common_stream(views, named_stream)
    create = getattr(run.lib, f"dtconv_convertor_create_{direction}_with")
    with _streams.ready(views, stream):
        run.check(create(side.layout._handle, side.instances, side.view.address,
                         ctypes.byref(convertor_options(stream, op)), ctypes.byref(handle)))
        job = Job(handle.value or 0, "convertor", (side, packed), out)
        status = run.lib.dtconv_convertor_start(handle, packed.address, packed.nbytes(), None, None)
    if status:
        raise run.failure(status)
    return job


def start_copy(source: Any, target: Any, *, source_layout: Any = None, source_count: int = 1, target_layout: Any = None,
               target_count: int = 1, op: str = "replace", stream: Any = None) -> Job:
    """Start to copy: as ``copy``."""
    run, handle = runtime(), ctypes.c_void_p()
    from_side = side_of(source, source_layout, source_count)
    to_side = side_of(target, target_layout, target_count, written="target")
    views = [from_side.view, to_side.view]
    chosen_stream = _streams.common_stream(views, stream)
    params = copier_options(chosen_stream, chosen(Operation, op, "operation"))
    with _streams.ready(views, chosen_stream):
        run.check(run.lib.dtconv_copier_create(*copy_arguments(from_side, to_side), ctypes.byref(params),
                                               ctypes.byref(handle)))
        job = Job(handle.value or 0, "copier", (from_side, to_side))
        status = run.lib.dtconv_copier_start(handle, None, None)
    if status:
        raise run.failure(status)
    return job
