# SPDX-License-Identifier: BSD-3-Clause
"""The two sides of a call, checked: data with a layout, and packed memory."""
from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

import numpy as np

from . import errors
from ._streams import device_of
from ._views import View, as_layout, package_of, view_of
from .layouts import Layout


class Side(NamedTuple):
    """Data in memory: an array, and the layout of what is taken of it."""

    view: View
    layout: Layout
    instances: int

    @property
    def size(self) -> int:
        """Bytes of the packed stream."""
        return self.layout.size * self.instances


def side_of(array: Any, layout: Any = None, count: int = 1, written: Optional[str] = None) -> Side:
    """An array and its own layout, or another one that has to stay inside of the array's memory.

    ``written`` names the argument if the call stores to the array.
    """
    view = view_of(array)
    if written:
        check_writable(view, written)
    if layout is None and count == 1:
        return Side(view, view.layout(), 1)
    if layout is None:
        raise errors.InvalidError(f"count is {count}, but there is no layout to repeat; the array itself is one instance")
    if count < 0:
        raise errors.InvalidError(f"count is {count}; it may not be negative")
    side = Side(view, as_layout(layout), count)
    check_inside(side)
    return side


def check_inside(side: Side) -> None:
    """A layout may not reach beyond the array."""
    first, end = side.layout._bounds(side.instances)
    least, most = side.view.span()
    if first != end and (first < least or end > most):
        raise errors.InvalidError(f"the layout takes bytes {first} to {end - 1} of an array, but the array has bytes "
                                  f"{least} to {most - 1}")


def check_writable(view: View, name: str) -> None:
    """What a call stores to has to allow it, and each element needs a place of its own."""
    if not view.writable:
        raise errors.InvalidError(f"{name} is read-only")
    if view.repeats():
        raise errors.InvalidError(f"{name} has a stride of 0: several elements share one place, and only one of them "
                                  "could be stored")


def packed_view(array: Any, name: str, written: bool) -> View:
    """Packed memory: one run."""
    view = view_of(array)
    if not view.is_contiguous():
        raise errors.InvalidError(f"{name} is packed memory and has to be contiguous; its shape is {view.shape}, its "
                                  f"strides are {view.strides} bytes")
    if written and not view.writable:
        raise errors.InvalidError(f"{name} is read-only")
    return view


def check_room(side: Side, packed: View, name: str) -> None:
    """Packed memory that a started pack writes has to have room for all of the stream."""
    if packed.nbytes() < side.size:
        raise errors.TruncateError(f"{name} has {packed.nbytes()} bytes, but {side.size} are packed")


def new_packed(like: View, size: int) -> Any:
    """New packed memory where an array is: bytes of numpy, PyTorch or CuPy."""
    if like.device is None:
        return np.empty(size, np.uint8)
    package = package_of(like.owner)
    module = sys.modules.get(package)
    if package == "torch" and module is not None:
        return module.empty(size, dtype=module.uint8, device=like.owner.device)
    if package == "cupy" and module is not None:
        with device_of(like):
            return module.empty(size, dtype=module.uint8)
    raise errors.InvalidError(f"there is no packed memory for a {type(like.owner).__name__} on a device; pass out=")
