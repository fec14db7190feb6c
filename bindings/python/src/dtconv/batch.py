# SPDX-License-Identifier: BSD-3-Clause
"""Batches: many packs, unpacks and copies in one call."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

from . import _streams, errors
from ._library import runtime
from ._sides import Side, check_room, packed_view, side_of
from ._structs import (Constant, Direction, Operation, batch_copy, batch_entry, batch_entry_attr, batch_params)
from ._views import View
from .constructors import chosen
from .jobs import Job


class Result(NamedTuple):
    """How one entry of a batch has ended."""

    moved: int
    """Bytes moved."""
    error: Optional[errors.Error]
    """None, or what has failed."""


class _Entry(NamedTuple):
    """A pack or unpack (one side and packed memory) or a copy (two sides)."""

    side: Side
    packed: Optional[View]
    target: Optional[Side]
    direction: int
    op: int

    def views(self) -> list[View]:
        """All its memory."""
        others = [self.packed, self.target.view if self.target else None]
        return [self.side.view, *(view for view in others if view is not None)]


class Batch:
    """A list of packs, unpacks and copies that are moved together: on a device, by one launch.

    Entries are moved in no particular order; none may use what another one writes. The batch keeps all arrays alive.
    All device memory needs one stream: the current one of the arrays' owner at each start, or ``stream``. A batch may
    be run as often as needed, and belongs to one thread at a time.
    """

    def __init__(self, stream: Any = None) -> None:
        self._named_stream = stream
        self._entries: list[_Entry] = []
        self._handle: Optional[int] = None
        self._bound_stream: Optional[int] = None
        self._destroy = runtime().lib.dtconv_batch_destroy

    def __len__(self) -> int:
        return len(self._entries)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._destroy(self._handle)

    def pack(self, x: Any, out: Any, *, layout: Any = None, count: int = 1) -> int:
        """Add a pack, as ``dtconv.pack``, and return its index."""
        side, packed = side_of(x, layout, count), packed_view(out, "out", written=True)
        check_room(side, packed, "out")
        return self._add(_Entry(side, packed, None, Direction.PACK, Operation.REPLACE))

    def unpack(self, packed: Any, into: Any, *, layout: Any = None, count: int = 1) -> int:
        """Add an unpack, as ``dtconv.unpack``, and return its index."""
        source = packed_view(packed, "packed", written=False)
        target = side_of(into, layout, count, written="into")
        return self._add(_Entry(target, source, None, Direction.UNPACK, Operation.REPLACE))

    def copy(self, source: Any, target: Any, *, source_layout: Any = None, source_count: int = 1,
             target_layout: Any = None, target_count: int = 1, op: str = "replace") -> int:
        """Add a copy, as ``dtconv.copy``, and return its index."""
        from_side = side_of(source, source_layout, source_count)
        to_side = side_of(target, target_layout, target_count, written="target")
        return self._add(_Entry(from_side, None, to_side, 0, chosen(Operation, op, "operation")))

    def run(self) -> int:
        """Move all entries, and return the number of bytes. Raises the first failed entry's error; the others have
        still been moved: see ``results()``."""
        return self.start().wait()

    def start(self) -> Job:
        """Start to move all entries."""
        run = runtime()
        views = [view for entry in self._entries for view in entry.views()]
        stream = _streams.common_stream(views, self._named_stream)
        with _streams.ready(views, stream):
            handle = self._bound(stream)
            run.check(run.lib.dtconv_batch_start(handle, None, None))
        return Job(handle, "batch", self, owned=False)

    def results(self) -> list[Result]:
        """How each entry has ended in the last run."""
        if self._handle is None:
            raise errors.StateError("the batch has not been run since it was changed")
        run, results = runtime(), []
        for index in range(len(self._entries)):
            attr = batch_entry_attr()
            run.check(run.lib.dtconv_batch_query_entry(self._handle, index, ctypes.byref(attr)))
            text = run.lib.dtconv_strerror(attr.status).decode()
            error = errors.of_status(attr.status, f"entry {index}: {text}") if attr.status else None
            results.append(Result(attr.moved, error))
        return results

    def _add(self, entry: _Entry) -> int:
        self._forget()
        self._entries.append(entry)
        return len(self._entries) - 1

    def _forget(self) -> None:
        """The library's batch has to be made anew. Waits if it is in flight."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._destroy(handle)

    def _bound(self, stream: Optional[int]) -> int:
        """The library's batch with all entries, on a stream."""
        if self._handle is not None and stream == self._bound_stream:
            return self._handle
        self._forget()
        run, handle = runtime(), ctypes.c_void_p()
        params = batch_params() if stream is None else batch_params(flags=Constant.BATCH_STREAM, stream=stream)
        entries = (batch_entry * len(self._entries))(*map(_plain, self._entries))
        # A copy takes the place of an empty entry, so that each keeps its index.
        run.check(run.lib.dtconv_batch_create(run.context, entries, len(entries), ctypes.byref(params),
                                              ctypes.byref(handle)))
        try:
            for index, entry in enumerate(self._entries):
                if entry.target is not None:
                    copy = _copy(entry, entry.target)
                    run.check(run.lib.dtconv_batch_rebind_copy(handle, index, ctypes.byref(copy)))
        except errors.Error:
            self._destroy(handle)
            raise
        self._handle, self._bound_stream = handle.value or 0, stream
        return self._handle


def _plain(entry: _Entry) -> batch_entry:
    """An entry as the library takes packs and unpacks; of a copy, one without instances."""
    side, packed = entry.side, entry.packed
    if packed is None:
        return batch_entry(type=side.layout._handle, count=0, direction=Direction.PACK)
    return batch_entry(type=side.layout._handle, count=side.instances, buffer=side.view.address, packed=packed.address,
                       bytes=packed.nbytes(), direction=entry.direction)


def _copy(entry: _Entry, target: Side) -> batch_copy:
    """A copy as the library takes it."""
    side = entry.side
    return batch_copy(source_type=side.layout._handle, source_count=side.instances, source=side.view.address,
                      target_type=target.layout._handle, target_count=target.instances, target=target.view.address,
                      op=entry.op)
