# SPDX-License-Identifier: BSD-3-Clause
"""Device memory of other processes: arrays in memory of cudaMalloc, shared by handles that any message can carry.

>>> import dtconv.ipc
>>> dtconv.ipc.counters().idle
0
"""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import errors
from ._elements import ElementType
from ._library import runtime
from ._structs import ipc_attr
from ._views import view_of

HANDLE_BYTES = 192
"""Size of the library's own part of a handle."""


class IpcHandle:
    """A handle of an array in device memory, to send to another process: it is pickled, also by ``multiprocessing``.

    It does not keep the memory. The owner keeps the array until all other processes have closed it.
    """

    __slots__ = ("_bytes", "_first", "dtype", "shape", "strides")

    def __init__(self, data: bytes, first: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: ElementType) -> None:
        """Not for users: call ``dtconv.export_memory``. ``first``: offset of the first element in the library's range."""
        if len(data) != HANDLE_BYTES:
            raise errors.FormatError(f"a handle has {HANDLE_BYTES} bytes, not {len(data)}")
        self._bytes, self._first = bytes(data), first
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype

    def __bytes__(self) -> bytes:
        """The library's handle, struct dtconv_ipc_handle, for a process that has no Python."""
        return self._bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return IpcHandle, (self._bytes, self._first, self.shape, self.strides, self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IpcHandle) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash((self._bytes, self.shape, self.strides))

    def __repr__(self) -> str:
        return f"<dtconv.IpcHandle of {self.nbytes} bytes, shape {self.shape}, {self.dtype}>"

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        itemsize = _described(self.dtype).itemsize
        for length in self.shape:
            itemsize *= length
        return itemsize

    def open(self, device: Optional[int] = None) -> IpcArray:
        """Map the memory, and return the array. ``device``: ordinal of the device that is to access it; None: that of the
        thread's current device context. The second time this costs no driver call."""
        run, address = runtime(), ctypes.c_void_p()
        run.check(run.lib.dtconv_ipc_open(run.context, self._bytes, -1 if device is None else device,
                                          ctypes.byref(address)))
        return IpcArray(self, address.value or 0)


class IpcArray:
    """An array of another process. Every call of the package takes it, and so do ``torch.as_tensor`` and
    ``cupy.asarray``, without a copy.

    ``close()`` or ``with`` closes it; else it is closed when it, and each array made of it, is gone. No work that accesses
    it may be in flight then.
    """

    __slots__ = ("__weakref__", "_address", "_handle")

    def __init__(self, handle: IpcHandle, address: int) -> None:
        """Take over an open range. Not for users: call ``IpcHandle.open``."""
        self._handle = handle
        self._address: Optional[int] = address

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self._handle.shape

    @property
    def dtype(self) -> ElementType:
        """The type of its elements."""
        return self._handle.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._handle.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What this package, CuPy, Numba and PyTorch need."""
        if self._address is None:
            raise errors.StateError("the array of another process has been closed")
        dtype = _described(self._handle.dtype)
        return {"shape": self.shape, "strides": self._handle.strides, "typestr": dtype.str, "descr": dtype.descr,
                "data": (self._address + self._handle._first, False), "version": 3, "stream": None}

    def close(self) -> None:
        """Close it now. The library keeps the mapping for the next open; ``trim`` ends it."""
        address, self._address = self._address, None
        if address is not None:
            run = runtime()
            run.check(run.lib.dtconv_ipc_close(run.context, address))

    def __enter__(self) -> IpcArray:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None:
            self.close()


def _described(dtype: ElementType) -> np.dtype[Any]:
    """A dtype of the same size where numpy has no such number: bytes."""
    return np.dtype("V2") if isinstance(dtype, str) else dtype


def export_memory(array: Any) -> IpcHandle:
    """A handle of an array in device memory of cudaMalloc, for other processes of the machine.

    Strides are kept. Raises UnsupportedError for memory that CUDA IPC does not share, such as that of a stream-ordered
    pool, PyTorch's expandable segments, and memory of the CPU. Order the accesses of the processes yourself.
    """
    run, view = runtime(), view_of(array)
    low, high = view.span()
    handle = ctypes.create_string_buffer(HANDLE_BYTES)
    run.check(run.lib.dtconv_ipc_export(run.context, view.address + low, high - low, handle))
    return IpcHandle(handle.raw, -low, view.shape, view.strides, view.element)


class Counters(NamedTuple):
    """Numbers of this process's mappings; see struct dtconv_ipc_attr."""

    open: int
    """Allocations that are open."""
    idle: int
    """Mappings that only the cache has open."""
    hits: int
    """Opens that needed no driver call."""
    driver_opens: int
    """Allocations that the driver has mapped."""
    evicted: int
    """Idle mappings that were closed because there were too many, or by ``trim``."""
    replaced: int
    """Idle mappings that were closed because their owner has allocated anew."""
    dropped: int
    """Mappings that were forgotten: their device context was lost, or the driver refused to close them."""


def counters() -> Counters:
    """The numbers of this process's mappings."""
    run, attr = runtime(), ipc_attr()
    run.check(run.lib.dtconv_ipc_query(run.context, ctypes.byref(attr)))
    return Counters(*(int(getattr(attr, name)) for name in Counters._fields))


def trim(keep: int = 0) -> None:
    """Close all idle mappings but the ``keep`` last used ones, so that their owners may free the memory. Waits for the
    device."""
    run = runtime()
    run.check(run.lib.dtconv_ipc_trim(run.context, keep))
