# SPDX-License-Identifier: BSD-3-Clause
"""Resharding: from two placements of one array on many processes to the messages of each process."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import errors
from ._library import runtime
from ._structs import reshard_box, reshard_message, reshard_params, reshard_placement, reshard_plan_attr
from ._views import as_layout
from .constructors import Old, displacements_of, sizes
from .layouts import Layout


class Box(NamedTuple):
    """A box of the global array that a process holds."""

    rank: int
    """The process."""
    lower: Sequence[int]
    """Index of the first element, in each dimension."""
    shape: Sequence[int]
    """Elements in each dimension."""
    strides: Optional[Sequence[int]] = None
    """Bytes from an element to the next one in each dimension, as numpy's; None: the box is dense."""
    order: Optional[Sequence[int]] = None
    """Without strides: the dimensions from the slowest to the fastest one; None: as in C."""
    offset: int = 0
    """Displacement of the first element in the buffer of the process, in bytes."""


class ReshardMessage(NamedTuple):
    """One message, seen from one of its ends."""

    peer: int
    """The process at the other end."""
    nbytes: int
    """Packed bytes."""
    pieces: int
    """Number of boxes that it consists of."""
    layout: Layout
    """What it takes of the buffer, whose start is displacement 0."""


class ReshardPlan(NamedTuple):
    """The messages of one process, in order of peers; one to itself is in both lists."""

    sends: list[ReshardMessage]
    recvs: list[ReshardMessage]


class Reshard:
    """Plans the messages that take an array from one distribution over processes to another.

    shape: elements of the global array in each dimension.
    element: a dtype, a layout, or the text form of one.
    source, target: the boxes that the processes have, and are to have. Source boxes may overlap; of several holders of
       an element one sends it.
    ranks: number of processes; default: one more than the highest rank of a box.

    The plan depends on these arguments only, so processes that create it from the same ones agree on every message.
    Objects are immutable; all threads may use them.
    """

    def __init__(self, shape: Sequence[int], element: Old, source: Sequence[Box], target: Sequence[Box], *,
                 ranks: Optional[int] = None) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        self._handle: Optional[int] = None
        self._destroy = run.lib.dtconv_reshard_destroy
        self._element = as_layout(element)
        if ranks is None:
            ranks = 1 + max((box.rank for box in (*source, *target)), default=0)
        keep: list[Any] = [sizes(shape)]
        params = reshard_params(
            rank_count=sizes([ranks])[0], ndims=len(shape), sizes=ctypes.addressof(keep[0]),
            element=self._element._handle, source=_placement(source, len(shape), keep),
            target=_placement(target, len(shape), keep))
        run.check(run.lib.dtconv_reshard_create(ctypes.byref(params), ctypes.byref(handle)))
        self._handle = handle.value

    def check(self) -> None:
        """Raise InvalidError if an element of the target is held by nobody, or target boxes of a process overlap.

        ``plan`` finds this only for what its own process receives. Call it once, or let the processes agree, because a
        peer would wait for messages that never come.
        """
        run = runtime()
        run.check(run.lib.dtconv_reshard_check(self._handle))

    def plan(self, rank: int) -> ReshardPlan:
        """The messages of a process; any one, not only the caller's."""
        run, handle, attr = runtime(), ctypes.c_void_p(), reshard_plan_attr()
        run.check(run.lib.dtconv_reshard_plan_create(self._handle, sizes([rank])[0], ctypes.byref(handle)))
        try:
            run.check(run.lib.dtconv_reshard_plan_query(handle, ctypes.byref(attr)))
            return ReshardPlan(
                [_message(run.lib.dtconv_reshard_plan_query_send, handle, index) for index in range(attr.send_count)],
                [_message(run.lib.dtconv_reshard_plan_query_recv, handle, index) for index in range(attr.recv_count)])
        finally:
            run.lib.dtconv_reshard_plan_destroy(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._destroy(self._handle)


def _message(query: Any, plan: ctypes.c_void_p, index: int) -> ReshardMessage:
    """A message of a plan. Its layout has a reference of its own."""
    run, message = runtime(), reshard_message()
    run.check(query(plan, index, ctypes.byref(message)))
    layout = Layout(run.lib.dtconv_type_ref(message.type))
    return ReshardMessage(int(message.peer), int(message.bytes), int(message.pieces), layout)


def _placement(boxes: Sequence[Box], ndims: int, keep: list[Any]) -> reshard_placement:
    """The boxes as the library takes them; ``keep`` holds their arrays."""
    array = (reshard_box * len(boxes))(*(_box(Box(*box), ndims, keep) for box in boxes))
    keep.append(array)
    return reshard_placement(box_count=len(boxes), boxes=ctypes.addressof(array))


def _box(box: Box, ndims: int, keep: list[Any]) -> reshard_box:
    """One box."""
    for name in ("lower", "shape", "strides", "order"):
        values = getattr(box, name)
        if values is not None and len(values) != ndims:
            raise errors.InvalidError(f"{name} of a box of rank {box.rank} has {len(values)} entries, but the array has "
                                      f"{ndims} dimensions")

    def address(values: Optional[Any]) -> Optional[int]:
        if values is None:
            return None
        keep.append(values)
        return ctypes.addressof(values)

    return reshard_box(
        rank=sizes([box.rank])[0], lower=address(sizes(box.lower)), sizes=address(sizes(box.shape)),
        strides=address(None if box.strides is None else displacements_of(box.strides)),
        order=address(None if box.order is None else sizes(box.order)), offset=box.offset)
