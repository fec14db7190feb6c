# SPDX-License-Identifier: BSD-3-Clause
"""Pack, unpack and copy in one call."""
from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from . import _streams
from ._library import runtime
from ._sides import Side, new_packed, packed_view, side_of
from ._structs import Constant, Operation, convertor_params, copier_params
from ._views import View, address_of, strided
from .constructors import chosen

ndarray = np.ndarray


def pack(x: Any, out: Any = None, *, layout: Any = None, count: int = 1, stream: Any = None) -> Any:
    """Pack an array into contiguous memory, and return that memory.

    x: any array: of numpy, PyTorch, CuPy, or with DLPack, ``__cuda_array_interface__``, ``__array_interface__`` or the
       buffer protocol. Its elements are packed in the order of its indices, fields in the order of a dtype's names.
    out: contiguous memory of at least the packed size; default: a new array of bytes where x is.
    layout, count: take these instances of a layout instead; displacement 0 is the first element of x. The layout may
       not reach beyond x.
    stream: the CUDA stream that orders the call; default: the current stream of the library that owns the device
       array, PyTorch's or CuPy's, or the one that ``__cuda_array_interface__`` names, or the legacy default stream.

    Blocks until done, without the interpreter's lock. Raises TruncateError if out is too small.
    """
    if type(x) is ndarray and layout is None and stream is None and count == 1:
        # The frequent case, in one function: 2 us instead of 20 around the library's call.
        handle = strided(x.shape, x.strides, x.dtype)
        if out is None:
            out = np.empty(handle.size, np.uint8)
        if type(out) is ndarray:
            flags = out.flags
            if not (flags.c_contiguous and flags.writeable):
                packed_view(out, "out", written=True)
            run = runtime()
            status = run.lib.dtconv_pack(handle._handle, 1, address_of(x), address_of(out), out.nbytes, None)
            if status:
                raise run.failure(status)
            return out
    source = side_of(x, layout, count)
    if out is None:
        out = new_packed(source.view, source.size)
    _pack(source, packed_view(out, "out", written=True), stream)
    return out


def _pack(source: Side, packed: View, named_stream: Any) -> None:
    run, view = runtime(), source.view
    stream = _streams.common_stream([view, packed], named_stream)
    what = source.layout._handle, source.instances, view.address, packed.address, packed.nbytes()
    if stream is None:
        run.check(run.lib.dtconv_pack(*what, None))
        return
    with _streams.ready([view, packed], stream):
        run.check(run.lib.dtconv_pack_on_stream(*what, stream, None))


def unpack(packed: Any, into: Any, *, layout: Any = None, count: int = 1, op: str = "replace", stream: Any = None) -> int:
    """Unpack contiguous memory into an array, and return the number of bytes read.

    packed: contiguous memory, any object that ``pack`` takes. It may be shorter than the whole stream.
    into: the array to store to. Nothing between its elements is touched.
    op: what is done with each element: ``"replace"`` stores it, ``"sum"`` adds it, and so on as in MPI_Accumulate:
       no_op, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc.
    layout, count, stream: as for ``pack``.

    Blocks until done, without the interpreter's lock. Raises TruncateError if packed is longer than the stream.
    """
    run = runtime()
    if type(into) is ndarray and type(packed) is ndarray and layout is None and stream is None and op == "replace" \
            and count == 1 and packed.flags.c_contiguous and into.flags.writeable and 0 not in into.strides:
        return _unpack_numpy(packed, into)
    source = packed_view(packed, "packed", written=False)
    target = side_of(into, layout, count, written="into")
    chosen_op = chosen(Operation, op, "operation")
    chosen_stream = _streams.common_stream([target.view, source], stream)
    moved = ctypes.c_size_t()
    what = target.layout._handle, target.instances, target.view.address, source.address, source.nbytes()
    if chosen_op == Operation.REPLACE and chosen_stream is None:
        run.check(run.lib.dtconv_unpack(*what, ctypes.byref(moved)))
        return moved.value
    params = convertor_options(chosen_stream, chosen_op)
    with _streams.ready([target.view, source], chosen_stream):
        run.check(run.lib.dtconv_unpack_with(*what, ctypes.byref(params), ctypes.byref(moved)))
    return moved.value


def _unpack_numpy(packed: np.ndarray[Any, Any], into: np.ndarray[Any, Any]) -> int:
    """The frequent case."""
    run, moved = runtime(), ctypes.c_size_t()
    status = run.lib.dtconv_unpack(strided(into.shape, into.strides, into.dtype)._handle, 1, address_of(into),
                                   address_of(packed), packed.nbytes, ctypes.byref(moved))
    if status:
        raise run.failure(status)
    return moved.value


def copy(source: Any, target: Any, *, source_layout: Any = None, source_count: int = 1, target_layout: Any = None,
         target_count: int = 1, op: str = "replace", stream: Any = None) -> int:
    """Copy from one array to another of any shape and strides, and return the number of bytes of data.

    Both need the same sequence of basic types; a target may have room for more. Raises SignatureError if elements
    differ, TruncateError if the target is too small. The other arguments are as for ``pack`` and ``unpack``. The
    arrays may not overlap. Blocks until done, without the interpreter's lock.
    """
    run = runtime()
    if type(source) is ndarray and type(target) is ndarray and source_layout is None and target_layout is None \
            and stream is None and op == "replace" and source_count == 1 and target_count == 1 \
            and target.flags.writeable and 0 not in target.strides:
        return _copy_numpy(source, target)
    from_side = side_of(source, source_layout, source_count)
    to_side = side_of(target, target_layout, target_count, written="target")
    chosen_stream = _streams.common_stream([from_side.view, to_side.view], stream)
    params, moved = copier_options(chosen_stream, chosen(Operation, op, "operation")), ctypes.c_size_t()
    with _streams.ready([from_side.view, to_side.view], chosen_stream):
        run.check(run.lib.dtconv_copy_with(*copy_arguments(from_side, to_side), ctypes.byref(params),
                                           ctypes.byref(moved)))
    return moved.value


def _copy_numpy(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> int:
    """The frequent case."""
    run, moved = runtime(), ctypes.c_size_t()
    status = run.lib.dtconv_copy(strided(source.shape, source.strides, source.dtype)._handle, 1, address_of(source),
                                 strided(target.shape, target.strides, target.dtype)._handle, 1, address_of(target),
                                 ctypes.byref(moved))
    if status:
        raise run.failure(status)
    return moved.value


def copy_arguments(source: Side, target: Side) -> tuple[int, ...]:
    """Both sides, as the library's calls take them."""
    return (source.layout._handle, source.instances, source.view.address, target.layout._handle, target.instances,
            target.view.address)


def convertor_options(stream: Optional[int], op: int = Operation.REPLACE) -> convertor_params:
    """Options of a convertor."""
    if stream is None:
        return convertor_params(op=op)
    return convertor_params(op=op, flags=Constant.CONVERTOR_STREAM, stream=stream)


def copier_options(stream: Optional[int], op: int = Operation.REPLACE) -> copier_params:
    """Options of a copier."""
    if stream is None:
        return copier_params(op=op)
    return copier_params(op=op, flags=Constant.COPIER_STREAM, stream=stream)
