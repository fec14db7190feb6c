# SPDX-License-Identifier: BSD-3-Clause
"""The packed stream of an array in pieces, which begin and end at any byte."""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

from . import _streams, errors
from ._library import runtime
from ._sides import Side, new_packed, packed_view, side_of
from ._structs import Operation, convertor_attr
from .constructors import chosen
from .moves import convertor_options


class _Position:
    """A convertor of the library: a position in the packed stream of an array."""

    def __init__(self, direction: str, side: Side, stream: Any, op: int = Operation.REPLACE) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        self._handle: Optional[int] = None
        self._destroy = run.lib.dtconv_convertor_destroy
        self._move = getattr(run.lib, f"dtconv_convertor_{direction}")
        self._side = side
        self._lock = threading.Lock()
        self._stream = _streams.common_stream([side.view], stream)
        create = getattr(run.lib, f"dtconv_convertor_create_{direction}_with")
        run.check(create(side.layout._handle, side.instances, side.view.address,
                         ctypes.byref(convertor_options(self._stream, op)), ctypes.byref(handle)))
        self._handle = handle.value

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._destroy(self._handle)

    @property
    def size(self) -> int:
        """Bytes of the whole stream."""
        return self._side.size

    def tell(self) -> int:
        """The position in the stream, in bytes."""
        run, attr = runtime(), convertor_attr()
        with self._lock:
            run.check(run.lib.dtconv_convertor_query(self._handle, ctypes.byref(attr)))
        return int(attr.position)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, also inside an element, and return it. ``whence`` is as for files."""
        origins = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell() if whence == os.SEEK_CUR else 0, os.SEEK_END: self.size}
        position = origins[whence] + offset
        if position < 0:
            raise errors.InvalidError(f"position {position} is before the beginning of the stream")
        run = runtime()
        with self._lock:
            run.check(run.lib.dtconv_convertor_seek(self._handle, position))
        return position

    def _fragment(self, array: Any, name: str, written: bool) -> int:
        """Move the next bytes to or from an array, and return their number."""
        run, moved = runtime(), ctypes.c_size_t()
        packed = packed_view(array, name, written)
        views = [self._side.view, packed]
        if packed.device is not None and self._stream is None:
            raise errors.InvalidError(f"{name} is memory of a device, but the array is not; name the stream that orders "
                                      "both where the position is made: stream=...")
        with self._lock, _streams.ready(views, self._stream):
            run.check(self._move(self._handle, packed.address, packed.nbytes(), ctypes.byref(moved)))
        return moved.value


class Packer(_Position):
    """The packed stream of an array, to read like a file.

    ``x``, ``layout``, ``count`` and ``stream`` are as for ``dtconv.pack``. The array is read when its bytes are.
    """

    def __init__(self, x: Any, *, layout: Any = None, count: int = 1, stream: Any = None) -> None:
        super().__init__("pack", side_of(x, layout, count), stream)

    def readinto(self, out: Any) -> int:
        """Pack the next bytes into contiguous memory, and return their number: 0 at the end of the stream."""
        return self._fragment(out, "out", written=True)

    def read(self, size: int = -1) -> Any:
        """The next ``size`` bytes of the stream, or all that are left, in new packed memory where the array is."""
        left = self.size - self.tell()
        out = new_packed(self._side.view, left if size < 0 else min(size, left))
        self.readinto(out)
        return out


class Unpacker(_Position):
    """The packed stream of an array, to write like a file: in order, or in any order with ``seek``.

    ``into``, ``layout``, ``count``, ``op`` and ``stream`` are as for ``dtconv.unpack``.
    """

    def __init__(self, into: Any, *, layout: Any = None, count: int = 1, op: str = "replace", stream: Any = None) -> None:
        super().__init__("unpack", side_of(into, layout, count, written="into"), stream,
                         chosen(Operation, op, "operation"))

    def write(self, packed: Any) -> int:
        """Unpack the next bytes of the stream, and return their number. Raises TruncateError behind its end."""
        return self._fragment(packed, "packed", written=False)


def fragments(x: Any, size: int, *, layout: Any = None, count: int = 1, stream: Any = None) -> Iterator[Any]:
    """The packed stream of an array in pieces of ``size`` bytes; the last one may be shorter."""
    if size <= 0:
        raise errors.InvalidError(f"size is {size}; a fragment has at least one byte")
    packer = Packer(x, layout=layout, count=count, stream=stream)
    return _pieces(packer, size)


def _pieces(packer: Packer, size: int) -> Iterator[Any]:
    piece = packer.read(size)
    while _length(piece):
        yield piece
        piece = packer.read(size)


def _length(piece: Any) -> int:
    return int(np.prod(piece.shape))
