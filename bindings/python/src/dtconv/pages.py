# SPDX-License-Identifier: BSD-3-Clause
"""Lists of pages: packs, unpacks and copies the pages of an array that a table of page numbers lists, without a layout."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _streams, errors
from ._library import runtime
from ._sides import check_writable, new_packed, packed_view
from ._structs import Constant, PageNumber
from ._structs import pages as page_list
from ._views import View, address_of, view_of

NUMBERS = {4: PageNumber.NUMBER_32, 8: PageNumber.NUMBER_64}
"""The types of page numbers, by their size."""
# Integers, because each call would pay for operations of enums.
_LEFT = int(Constant.PAGES_STREAM)
_AWAITED = int(Constant.PAGES_STREAM | Constant.PAGES_WAIT)
ALL = ctypes.c_size_t(-1).value
"""As many bytes as there are."""
_INTEGERS = {np.dtype(kind): NUMBERS[np.dtype(kind).itemsize] for kind in (np.int32, np.uint32, np.int64, np.uint64)}


class Move(NamedTuple):
    """One call of the library."""

    function: Any
    arguments: tuple[Any, ...]
    """Those between the context and the number of bytes that were moved."""
    lists: list[page_list]
    """The lists among them."""
    pools: list[Pages]
    views: list[View]
    """What else may be on a device."""


class Pages:
    """An array that is divided into pages, such as a paged KV cache.

    x: any array. Its axes other than the three below are one page: contiguous, or rows of contiguous elements at one
       distance, as ``x[:, :, 2:4]`` of pages with the axes token, head and number, which has some of the heads.
    page_axis: the axis that page numbers count.
    layer_axis, part_axis: the axes of layers, and of the parts of a layer (keys and values); None: there is one.

    The packed stream is, for each layer and in it for each part, the pages in the order of a table. It does not depend
    on the size of the pages or on the order of the axes, so two arrays that are divided differently have the same
    stream. One object serves any number of tables, and all threads.
    """

    def __init__(self, x: Any, *, page_axis: int = 0, layer_axis: Optional[int] = None,
                 part_axis: Optional[int] = None) -> None:
        self._view = view_of(x)
        self._stream = _streams.fixed_stream(self._view)
        self._is_writable = self._view.writable and not self._view.repeats()
        pages = self._axis(page_axis, "page_axis")
        layers = self._axis(layer_axis, "layer_axis")
        parts = self._axis(part_axis, "part_axis")
        named = [axis for axis in (pages, layers, parts) if axis is not None]
        if pages is None or len(named) != len(set(named)):
            raise errors.InvalidError("page_axis, layer_axis and part_axis have to be different axes")
        page = self._page_of(named)
        page_bytes = page.nbytes()
        row_bytes, row_stride = _rows_of(page)
        self._list = page_list(pool_pages=self._view.shape[pages], page_bytes=page_bytes, row_bytes=row_bytes,
                               row_stride=row_stride, page_stride=self._page_stride(pages), layer_count=1,
                               part_count=1)
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
        return page

    def _page_stride(self, axis: int) -> int:
        """Bytes from one page to the next; 0, the default: the stride of an axis with one page means nothing."""
        stride = self._view.strides[axis]
        if stride < 0:
            raise errors.InvalidError(f"the stride from page to page is {stride} bytes; it may not be negative")
        return stride if self._view.shape[axis] > 1 else 0

    @property
    def page_bytes(self) -> int:
        """Bytes of a page in one layer's part."""
        return int(self._list.page_bytes)

    def size(self, table: Any, nbytes: Optional[int] = None) -> int:
        """Bytes of the packed stream of a table. The arguments are as for ``pack``."""
        return self._size(self._list_of(table, nbytes, []))

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
        views: list[View] = []
        wanted = self._list_of(table, nbytes, views)
        if out is None:
            out = new_packed(self._view, max(self._size(wanted) - position, 0))
        views.append(packed_view(out, "out", written=True))
        _run(self._move(runtime().lib.dtconv_pages_pack, wanted, position, views), fault, stream)
        return out

    def unpack(self, packed: Any, table: Any, *, nbytes: Optional[int] = None, position: int = 0, fault: Any = None,
               stream: Any = None) -> int:
        """Unpack contiguous memory into the pages that a table lists, and return the number of bytes.

        packed: bytes of the stream from ``position`` on. The other arguments are as for ``pack``. Other pages are not
        touched. If a table lists a page twice, its contents are undefined.
        """
        check_writable(self._view, "the array of pages")
        views: list[View] = []
        wanted = self._list_of(table, nbytes, views)
        views.append(packed_view(packed, "packed", written=False))
        return _run(self._move(runtime().lib.dtconv_pages_unpack, wanted, position, views), fault, stream)

    def copy_to(self, target: Pages, table: Any, target_table: Any, *, nbytes: Optional[int] = None, position: int = 0,
                size: Optional[int] = None, fault: Any = None, stream: Any = None) -> int:
        """Copy the pages that a table lists to those of another array, and return the number of bytes.

        It is what ``target.unpack(self.pack(table), target_table)`` does, without memory in between and, on a device,
        by one launch. Pages and rows of both may have any sizes; layers and parts are the same.

        target: the pages to copy to; they may be others of the same array.
        table, target_table: their page numbers, each as for ``pack``.
        nbytes: bytes of each layer's part, needed where the tables have pages for different numbers of bytes.
        position, size: the first byte of the stream to copy, and how many; default: all that follow.
        fault: two int64 for the first number out of range of each table, as for ``pack``.
        """
        if not target._is_writable:
            check_writable(target._view, "the array of pages that is copied to")
        if size is not None and size < 0:
            raise errors.InvalidError(f"size is {size}; it may not be negative")
        views: list[View] = []
        one, other = self._list_of(table, nbytes, views), target._list_of(target_table, nbytes, views)
        arguments = (ctypes.byref(one), self._view.address, ctypes.byref(other), target._view.address,
                     _checked(position), ALL if size is None else size)
        return _run(Move(runtime().lib.dtconv_pages_copy, arguments, [one, other], [self, target], views), fault, stream)

    def _list_of(self, table: Any, nbytes: Optional[int], views: list[View]) -> page_list:
        """The list for one table, whose view is added to the others if it is no array of numpy."""
        wanted = page_list.from_buffer_copy(self._list)
        number = _INTEGERS.get(table.dtype) if _is_usual(table) else None
        if number is None:
            view = _table_view(table)
            views.append(view)
            wanted.table, wanted.count, wanted.number = view.address, view.shape[0], NUMBERS[view.itemsize]
        else:
            wanted.table, wanted.count, wanted.number = address_of(table), len(table), number
        if nbytes is not None:
            _limit(wanted, nbytes)
        return wanted

    def _size(self, wanted: page_list) -> int:
        run, size = runtime(), ctypes.c_size_t()
        run.check(run.lib.dtconv_pages_query_bytes(run.context, ctypes.byref(wanted), ctypes.byref(size)))
        return size.value

    def _move(self, function: Any, wanted: page_list, position: int, views: list[View]) -> Move:
        """A call that packs into the last of the views, or unpacks it."""
        arguments = (ctypes.byref(wanted), self._view.address, _checked(position), views[-1].address, views[-1].nbytes())
        return Move(function, arguments, [wanted], [self], views)


def _rows_of(page: View) -> tuple[int, int]:
    """Bytes of a row of a page, and from one to the next: the last axes are a row, the others count the rows."""
    row, axes = page.itemsize, [(length, stride) for length, stride in zip(page.shape, page.strides) if length != 1]
    while axes and axes[-1][1] == row:
        row *= axes.pop()[0]
    if not axes:
        return row, row
    stride = axes[-1][1]
    distance = stride
    for length, step in reversed(axes):
        if step != distance or stride < row:
            raise errors.InvalidError("a page has to be contiguous, or rows of contiguous elements at one distance; its "
                                      f"shape is {page.shape}, its strides are {page.strides} bytes")
        distance *= length
    return row, stride


def _checked(position: int) -> int:
    """A position in a stream."""
    if position < 0:
        raise errors.InvalidError(f"position is {position}; it may not be negative")
    return position


def _limit(wanted: page_list, nbytes: int) -> None:
    """Let a list have so many bytes of each layer's part."""
    if nbytes < 0:
        raise errors.InvalidError(f"nbytes is {nbytes}; it may not be negative")
    if nbytes == 0:
        # To the library 0 bytes mean all of the pages.
        wanted.count = 0
    wanted.bytes = nbytes


# ---- calls -----------------------------------------------------------------------------------

def _run(move: Move, fault: Any, named_stream: Any) -> int:
    words = None if fault is None else _fault_view(fault, len(move.lists))
    stream = _stream_of(move, named_stream)
    if stream is not None:
        _set_order(move.lists, stream, words)
    run, moved = runtime(), ctypes.c_size_t()
    if stream in _streams.DEFAULT_STREAMS:
        with _streams.ready([pool._view for pool in move.pools] + move.views, stream):
            status = move.function(run.context, *move.arguments, ctypes.byref(moved))
    else:
        status = move.function(run.context, *move.arguments, ctypes.byref(moved))
    run.check(status)
    return moved.value


def _stream_of(move: Move, named: Any) -> Optional[int]:
    """The stream that orders a call. Usually both pools have the same, which does not change."""
    stream = move.pools[0]._stream
    if named is None and not move.views and stream is not None and stream == move.pools[-1]._stream:
        return stream
    return _streams.common_stream([pool._view for pool in move.pools] + move.views, named)


def _set_order(lists: list[page_list], stream: int, fault: Optional[View]) -> None:
    """Order a call in a stream. It waits, unless there are words for faults."""
    flags = _LEFT if fault is not None else _AWAITED
    for index, wanted in enumerate(lists):
        wanted.flags, wanted.stream = flags, stream
        if fault is not None:
            wanted.fault = fault.address + 8 * index


# ---- tables ----------------------------------------------------------------------------------

def _is_usual(table: Any) -> bool:
    """Whether a table is an array of numpy in one run."""
    return type(table) is np.ndarray and table.ndim == 1 and table.flags.c_contiguous


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


def _fault_view(fault: Any, count: int) -> View:
    """The caller's fault words."""
    view = packed_view(fault, "fault", written=True)
    if view.nbytes() != 8 * count or view.element != np.dtype(np.int64):
        raise errors.InvalidError(f"fault has to be {'one' if count == 1 else 'two'} int64; it has {view.nbytes()} bytes "
                                  f"of {view.element}")
    return view
