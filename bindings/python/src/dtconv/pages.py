# SPDX-License-Identifier: BSD-3-Clause
"""Lists of pages: packs and unpacks the pages of an array that a table of page numbers lists, without a layout."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _streams, errors
from ._library import Runtime, runtime
from ._sides import check_writable, new_packed, packed_view
from ._structs import Constant, PageNumber
from ._structs import pages as page_list
from ._views import View, as_layout, view_of
from .pool import Fragment, Pool

NUMBERS = {4: PageNumber.NUMBER_32, 8: PageNumber.NUMBER_64}
"""The types of page numbers, by their size."""
NO_FAULT = -1
"""What a fault word holds while no number is out of range."""


class Move(NamedTuple):
    """One call: the list, its views, and where in the stream its packed bytes are."""

    wanted: page_list
    table: View
    packed: View
    position: int
    fault: Optional[View]


class Pages:
    """An array that is divided into pages, such as a paged KV cache.

    x: any array. Its axes other than the three below are one page, and have to be contiguous.
    page_axis: the axis that page numbers count.
    layer_axis, part_axis: the axes of layers, and of the parts of a layer (keys and values); None: there is one.

    The packed stream is, for each layer and in it for each part, the pages in the order of a table. It does not depend
    on the size of the pages or on the order of the axes, so two arrays that are divided differently have the same
    stream. One object serves any number of tables, and all threads.
    """

    def __init__(self, x: Any, *, page_axis: int = 0, layer_axis: Optional[int] = None,
                 part_axis: Optional[int] = None) -> None:
        self._view = view_of(x)
        pages = self._axis(page_axis, "page_axis")
        layers = self._axis(layer_axis, "layer_axis")
        parts = self._axis(part_axis, "part_axis")
        named = [axis for axis in (pages, layers, parts) if axis is not None]
        if pages is None or len(named) != len(set(named)):
            raise errors.InvalidError("page_axis, layer_axis and part_axis have to be different axes")
        page_bytes = self._page_of(named).nbytes()
        self._list = page_list(pool_pages=self._view.shape[pages], page_bytes=page_bytes,
                               page_stride=self._page_stride(pages, page_bytes), layer_count=1, part_count=1)
        if layers is not None:
            self._list.layer_count, self._list.layer_stride = self._view.shape[layers], self._view.strides[layers]
        if parts is not None:
            self._list.part_count, self._list.part_stride = self._view.shape[parts], self._view.strides[parts]

    def _axis(self, axis: Optional[int], name: str) -> Optional[int]:
        """An axis, counted from the first one."""
        dimensions = len(self._view.shape)
        if axis is None:
            return None
        if not -dimensions <= axis < dimensions:
            raise errors.InvalidError(f"{name} is {axis}, but the array has {dimensions} axes")
        return axis % dimensions

    def _page_of(self, named: list[int]) -> View:
        """One page of one layer's part."""
        view, rest = self._view, [axis for axis in range(len(self._view.shape)) if axis not in named]
        page = view._replace(shape=tuple(view.shape[axis] for axis in rest),
                             strides=tuple(view.strides[axis] for axis in rest))
        if not page.nbytes() or any(view.shape[axis] == 0 for axis in named[1:]):
            raise errors.InvalidError(f"the pages of an array of shape {view.shape} are empty")
        if not page.is_contiguous():
            raise errors.InvalidError(f"a page has to be contiguous; its shape is {page.shape}, its strides are "
                                      f"{page.strides} bytes")
        return page

    def _page_stride(self, axis: int, page_bytes: int) -> int:
        """Bytes from one page to the next. The stride of an axis with one page means nothing."""
        stride = self._view.strides[axis]
        if stride < 0:
            raise errors.InvalidError(f"the stride from page to page is {stride} bytes; it may not be negative")
        return stride if self._view.shape[axis] > 1 else page_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a page in one layer's part."""
        return int(self._list.page_bytes)

    def size(self, table: Any, nbytes: Optional[int] = None) -> int:
        """Bytes of the packed stream of a table. The arguments are as for ``pack``."""
        return self._size(self._list_of(_table_view(table), nbytes))

    def pack(self, table: Any, out: Any = None, *, nbytes: Optional[int] = None, position: int = 0, fault: Any = None,
             stream: Any = None) -> Any:
        """Pack the pages that a table lists into contiguous memory, and return that memory.

        table: page numbers, a contiguous array of 32 or 64 bits, or a list; it may be where the pages are.
        out: contiguous memory; default: a new array of bytes where the pages are. If it has less room than the stream,
           it is filled.
        nbytes: bytes of each layer's part; default: those of all pages in the table. The last page may be used in part.
        position: the first byte of the stream to pack.
        stream: the CUDA stream that orders the call, as for ``dtconv.pack``.
        fault: one int64 in memory of the device, or pinned, that you have set to -1.

        Blocks until done, without the interpreter's lock. Raises InvalidError for a page number out of range; pages
        that are in range may have been moved then. With ``fault`` the call returns when the device has the work: keep
        all arrays until the stream has done it. ``fault`` holds the position of the first number out of range then,
        or -1 if there is none. Arrays in memory of the CPU alone need none: such a call always blocks.
        """
        numbers = _table_view(table)
        wanted = self._list_of(numbers, nbytes)
        if out is None:
            out = new_packed(self._view, max(self._size(wanted) - position, 0))
        move = Move(wanted, numbers, packed_view(out, "out", written=True), position, _fault_view(fault))
        self._move(runtime().lib.dtconv_pages_pack, move, stream)
        return out

    def unpack(self, packed: Any, table: Any, *, nbytes: Optional[int] = None, position: int = 0, fault: Any = None,
               stream: Any = None) -> int:
        """Unpack contiguous memory into the pages that a table lists, and return the number of bytes.

        packed: bytes of the stream from ``position`` on. The other arguments are as for ``pack``. Other pages are not
        touched. If a table lists a page twice, its contents are undefined.
        """
        check_writable(self._view, "the array of pages")
        numbers = _table_view(table)
        move = Move(self._list_of(numbers, nbytes), numbers, packed_view(packed, "packed", written=False), position,
                    _fault_view(fault))
        return self._move(runtime().lib.dtconv_pages_unpack, move, stream)

    def _list_of(self, table: View, nbytes: Optional[int]) -> page_list:
        """The list for one table."""
        wanted = page_list.from_buffer_copy(self._list)
        wanted.table, wanted.count, wanted.number = table.address, table.shape[0], NUMBERS[table.itemsize]
        if nbytes is not None and nbytes < 0:
            raise errors.InvalidError(f"nbytes is {nbytes}; it may not be negative")
        if nbytes == 0:
            # To the library 0 bytes mean all of the pages.
            wanted.count = 0
        wanted.bytes = nbytes or 0
        return wanted

    def _size(self, wanted: page_list) -> int:
        run, size = runtime(), ctypes.c_size_t()
        run.check(run.lib.dtconv_pages_query_bytes(run.context, ctypes.byref(wanted), ctypes.byref(size)))
        return size.value

    def _move(self, function: Any, move: Move, named_stream: Any) -> int:
        if move.position < 0:
            raise errors.InvalidError(f"position is {move.position}; it may not be negative")
        views = [self._view, move.table, move.packed]
        stream = _streams.common_stream(views, named_stream)
        if stream is None:
            return self._call(runtime(), function, move)
        move.wanted.flags, move.wanted.stream = Constant.PAGES_STREAM, stream
        with _streams.ready(views, stream):
            if move.fault is None:
                return self._move_and_wait(function, move, stream)
            move.wanted.fault = move.fault.address
            return self._call(runtime(), function, move)

    def _call(self, run: Runtime, function: Any, move: Move) -> int:
        moved = ctypes.c_size_t()
        run.check(function(run.context, ctypes.byref(move.wanted), self._view.address, move.position,
                           move.packed.address, move.packed.nbytes(), ctypes.byref(moved)))
        return moved.value

    def _move_and_wait(self, function: Any, move: Move, stream: int) -> int:
        """Queue the list, then a copy of its fault word, and wait for that."""
        fragment = _fault_words.get()
        np.asarray(fragment)[:8].view(np.int64)[0] = NO_FAULT
        move.wanted.fault = fragment.__array_interface__["data"][0]
        is_queued = False
        try:
            moved = self._call(runtime(), function, move)
            is_queued = True
            position = _read_word(int(move.wanted.fault), stream)
        except errors.Error as failure:
            if is_queued or isinstance(failure, errors.BackendError):
                # The device may still write there.
                _fault_words.abandon(fragment)
            else:
                fragment.put()
            raise
        fragment.put()
        if position != NO_FAULT:
            raise errors.InvalidError(f"pages.table[{position}] is out of range: the pool has "
                                      f"{self._list.pool_pages} pages")
        return moved


class _FaultWords:
    """Pinned memory of a word for each call that waits for a device."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: list[Pool] = []
        self._abandoned: list[Fragment] = []

    def abandon(self, fragment: Fragment) -> None:
        """Never use a word again."""
        self._abandoned.append(fragment)

    def get(self) -> Fragment:
        """A word that nobody else has."""
        with self._lock:
            for pool in self._pools:
                try:
                    return pool.get()
                except errors.AgainError:
                    pass
            self._pools.append(Pool("pinned", fragment_bytes=64, slab_bytes=4096, start_bytes=4096))
            return self._pools[-1].get()


_fault_words = _FaultWords()


def _read_word(address: int, stream: int) -> int:
    """What an int64 holds when the stream has done all that is queued."""
    run, value = runtime(), ctypes.c_int64()
    run.check(run.lib.dtconv_pack_on_stream(as_layout("int64")._handle, 1, address, ctypes.addressof(value), 8, stream,
                                            None))
    return value.value


def _table_view(table: Any) -> View:
    """A table: one axis of integers in one run."""
    if isinstance(table, (list, tuple)):
        table = np.asarray(table, np.int64)
    view = packed_view(table, "table", written=False)
    if len(view.shape) != 1 or not _is_number(view):
        raise errors.InvalidError("table has to have one axis and integers of 32 or 64 bits; its shape is "
                                  f"{view.shape}, its elements are {view.element}")
    return view


def _is_number(view: View) -> bool:
    """Whether the elements can be page numbers."""
    element = view.element
    return isinstance(element, np.dtype) and element.kind in "iu" and element.isnative and view.itemsize in NUMBERS


def _fault_view(fault: Any) -> Optional[View]:
    """The caller's fault word."""
    if fault is None:
        return None
    view = packed_view(fault, "fault", written=True)
    if view.nbytes() != 8 or view.element != np.dtype(np.int64):
        raise errors.InvalidError(f"fault has to be one int64; it has {view.nbytes()} bytes of {view.element}")
    return view
