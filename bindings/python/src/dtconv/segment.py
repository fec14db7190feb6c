# SPDX-License-Identifier: BSD-3-Clause
"""Segments: device memory that grows without moving, and that other processes map."""
from __future__ import annotations

import ctypes
import socket
from typing import Any, Optional, Union

import numpy as np

from . import errors
from ._library import runtime
from ._structs import Constant, SegmentAccess, segment_attr, segment_params
from .constructors import chosen

Shape = Union[int, tuple[int, ...]]


class SegmentArray:
    """A contiguous array in a segment, for CuPy, PyTorch and every call of the package: ``cupy.asarray(array)`` and
    ``torch.as_tensor(array, device="cuda")`` have no copy. The segment lives as long as it."""

    __slots__ = ("__weakref__", "_dtype", "_offset", "_segment", "_shape")

    def __init__(self, segment: Segment, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> None:
        """Not for users: call ``Segment.array()``."""
        self._segment, self._shape, self._dtype, self._offset = segment, shape, dtype, offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What CuPy, Numba and PyTorch need."""
        return {"shape": self._shape, "typestr": self._dtype.str, "data": (self._segment.base + self._offset, False),
                "version": 3, "stream": None}


class Segment:
    """Memory of one device at addresses that are reserved, so that it grows without moving.

    size: bytes to begin with; 0: one granule of the device, usually 2 MiB. Sizes are rounded up to granules.
    device: ordinal of the device; -1: that of the thread's current device context.
    reserve: bytes of addresses, the most that it can grow to; 0: as many as the device has memory.
    compressible: the device may compress the memory; ``compressed`` tells whether it does.
    any_user: processes of other users may send or receive it.

    Another process receives it over a Unix socket (``send``, ``Segment.receive``) and maps the same memory: it packs into
    it and unpacks from it. Nothing orders two processes but what they tell each other. ``close`` or ``with`` unmaps it,
    which waits until the device is idle; else it is unmapped when it and each array made of it are gone. Memory lives as
    long as any process maps it.
    """

    def __init__(self, size: int = 0, *, device: int = -1, reserve: int = 0, compressible: bool = False,
                 any_user: bool = False) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        flags = (Constant.SEGMENT_COMPRESSIBLE if compressible else 0) | (Constant.SEGMENT_ANY_USER if any_user else 0)
        params = segment_params(device=device, flags=flags, start_bytes=size, reserve_bytes=reserve)
        self._handle: Optional[int] = None
        run.check(run.lib.dtconv_segment_create(run.context, ctypes.byref(params), ctypes.byref(handle)))
        self._take(handle)

    def _take(self, handle: ctypes.c_void_p) -> None:
        self._handle, self._lib = handle.value, runtime().lib

    @classmethod
    def receive(cls, connected: socket.socket, *, device: int = -1, any_user: bool = False) -> Segment:
        """The segment that another process sends over a connected Unix socket of type SOCK_SEQPACKET. Waits for it.
        ``device``: which device of this process has access."""
        made = cls.__new__(cls)
        made._handle = None
        made._take(cls._receive(connected, ctypes.c_void_p(), device, any_user))
        return made

    @staticmethod
    def _receive(connected: socket.socket, handle: ctypes.c_void_p, device: int, any_user: bool) -> ctypes.c_void_p:
        run = runtime()
        params = segment_params(device=device, flags=Constant.SEGMENT_ANY_USER if any_user else 0)
        run.check(run.lib.dtconv_segment_receive(run.context, connected.fileno(), ctypes.byref(params),
                                                 ctypes.byref(handle)))
        return handle

    def _open(self) -> int:
        if self._handle is None:
            raise errors.StateError("the segment is closed")
        return self._handle

    def update(self, connected: socket.socket, *, any_user: bool = False) -> None:
        """Receive the segment again, after its owner has changed it and sends it again; its base stays."""
        self._receive(connected, ctypes.c_void_p(self._open()), -1, any_user)

    def send(self, connected: socket.socket) -> None:
        """Send it to the process at the other end of a Unix socket of type SOCK_SEQPACKET, which may then read and write
        all of it; again after it has grown or shrunk."""
        run = runtime()
        run.check(run.lib.dtconv_segment_send(self._open(), connected.fileno()))

    def grow(self, size: int) -> None:
        """Add at least so many bytes behind what is there. Raises LimitError if too few addresses are reserved."""
        run = runtime()
        run.check(run.lib.dtconv_segment_grow(self._open(), size))

    def shrink(self, size: int) -> None:
        """Remove at most so many bytes at the end: whole pieces, as they were added. Waits until the device is idle."""
        run = runtime()
        run.check(run.lib.dtconv_segment_shrink(self._open(), size))

    def set_access(self, device: int, access: str) -> None:
        """Set what a device of this process may do with it: ``"none"``, ``"read"`` or ``"read_write"``."""
        run = runtime()
        run.check(run.lib.dtconv_segment_set_access(self._open(), device, chosen(SegmentAccess, access, "access")))

    def alias(self) -> Segment:
        """The same memory at other addresses of this process. It does not grow with this segment."""
        run, handle = runtime(), ctypes.c_void_p()
        run.check(run.lib.dtconv_segment_alias(self._open(), ctypes.byref(handle)))
        made = Segment.__new__(Segment)
        made._take(handle)
        return made

    def dma_buf(self, offset: int, size: int) -> int:
        """A file descriptor of part of it as a DMA-BUF, which network adapters register; the caller closes it."""
        run, fd = runtime(), ctypes.c_int()
        run.check(run.lib.dtconv_segment_dma_buf(self._open(), offset, size, ctypes.byref(fd)))
        return fd.value

    def array(self, shape: Shape, dtype: Any = np.uint8, offset: int = 0) -> SegmentArray:
        """A contiguous array that begins ``offset`` bytes into the segment."""
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        element = np.dtype(dtype)
        size = element.itemsize
        for length in lengths:
            if length < 0:
                raise errors.InvalidError(f"shape is {lengths}, but no length may be negative")
            size *= length
        if offset < 0 or offset + size > self.size:
            raise errors.InvalidError(f"an array of {size} bytes at offset {offset} is not inside the segment, which has "
                                      f"{self.size} bytes")
        return SegmentArray(self, lengths, element, offset)

    def _query(self) -> segment_attr:
        run, attr = runtime(), segment_attr()
        run.check(run.lib.dtconv_segment_query(self._open(), ctypes.byref(attr)))
        return attr

    @property
    def base(self) -> int:
        """Its address."""
        return int(self._query().base)

    @property
    def size(self) -> int:
        """Its memory in bytes."""
        return int(self._query().bytes)

    @property
    def reserve(self) -> int:
        """Bytes of addresses: the most that it can grow to."""
        return int(self._query().reserve_bytes)

    @property
    def granularity(self) -> int:
        """What sizes are multiples of, in bytes."""
        return int(self._query().granularity)

    @property
    def device(self) -> Optional[int]:
        """Ordinal of the device that has the memory; None if this process cannot name it."""
        device = int(self._query().device)
        return None if device < 0 else device

    @property
    def compressed(self) -> bool:
        """Whether all of its memory is compressible."""
        return bool(self._query().compressed)

    def close(self) -> None:
        """Unmap it, once the device is idle. Arrays made of it must not be used any more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            runtime().check(self._lib.dtconv_segment_destroy(handle))

    def __enter__(self) -> Segment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            self._lib.dtconv_segment_destroy(handle)
