# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as the library sees them: an address, a shape and strides, and the layout that these make.

Whatever numpy, DLPack, ``__cuda_array_interface__``, ``__array_interface__`` or the buffer protocol describe.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _dlpack, errors
from ._elements import ElementType, element_text
from .layouts import Layout, parse

CACHED_LAYOUTS = 4096
CACHED_TYPES = 64
MASK = "the array has a mask; use its data and its mask as two arrays"


class View(NamedTuple):
    """An array: where its first element is, and how far apart the others are, in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: ElementType
    itemsize: int
    writable: bool
    device: Optional[int]
    """Ordinal of the CUDA device, -1 if it is not known which; None for memory that the CPU reads."""
    stream: Optional[int]
    """The stream that ``__cuda_array_interface__`` names."""
    owner: Any
    """The array, which must live as long as its memory is used."""
    keep: Any
    """What else must live as long."""

    def layout(self) -> Layout:
        """The layout of the array; displacement 0 is its first element."""
        return strided(self.shape, self.strides, self.element)

    def span(self) -> tuple[int, int]:
        """The bytes from the first to the last one of the array, relative to its first element."""
        if 0 in self.shape:
            return 0, 0
        reach = [(length - 1) * stride for length, stride in zip(self.shape, self.strides)]
        return sum(step for step in reach if step < 0), sum(step for step in reach if step > 0) + self.itemsize

    def is_contiguous(self) -> bool:
        """Whether the elements are one run of memory, in C order."""
        step = self.itemsize
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length == 0:
                return True
            if length != 1:
                if stride != step:
                    return False
                step *= length
        return True

    def nbytes(self) -> int:
        """Bytes of all elements."""
        product = self.itemsize
        for length in self.shape:
            product *= length
        return product

    def repeats(self) -> bool:
        """Whether a stride of 0 puts several elements in the same place, as numpy.broadcast_to does."""
        return 0 not in self.shape and self.itemsize > 0 and any(length > 1 and stride == 0 for length, stride in
                                                                  zip(self.shape, self.strides))


# ---- addresses of numpy's arrays -------------------------------------------------------------

_HEAD = object.__basicsize__


def _address_in_object(array: np.ndarray[Any, Any]) -> int:
    """The member ``data`` of PyArrayObject, which follows the object's head in all versions of numpy: 0.2 us."""
    return ctypes.c_size_t.from_address(id(array) + _HEAD).value


def _address_by_interface(array: np.ndarray[Any, Any]) -> int:
    """What numpy says itself: 1.7 us."""
    return int(array.__array_interface__["data"][0])


def _quick_is_right() -> bool:
    """Whether the quick way gives the right address in this interpreter."""
    if sys.implementation.name != "cpython":
        return False
    base = np.zeros(8, np.uint8)
    return all(_address_in_object(array) == _address_by_interface(array) for array in (base, base[3:], base[::-2]))


address_of = _address_in_object if _quick_is_right() else _address_by_interface


# ---- layouts ---------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def _basic_layout(name: str) -> Layout:
    return parse(name)


@functools.lru_cache(maxsize=CACHED_LAYOUTS)
def strided(shape: tuple[int, ...], strides: tuple[int, ...], element: ElementType) -> Layout:
    """The layout of the elements of an array in C order."""
    itemsize = None if isinstance(element, str) else element.itemsize
    text = element_text(element)
    if 0 in shape:
        return parse(f"contiguous(0, {text})")
    if itemsize is None:
        itemsize = _basic_layout(text).size
    return parse(strided_text(merged(shape, strides), itemsize, text))


def merged(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """(length, stride) from the innermost dimension on; dimensions that continue each other are one."""
    dimensions: list[tuple[int, int]] = []
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length == 1:
            continue
        if dimensions and stride == dimensions[-1][0] * dimensions[-1][1]:
            dimensions[-1] = (length * dimensions[-1][0], dimensions[-1][1])
        else:
            dimensions.append((length, stride))
    return dimensions


def strided_text(dimensions: list[tuple[int, int]], itemsize: int, text: str) -> str:
    """The text form of a nest of dimensions, the innermost first."""
    block = 1
    if dimensions and dimensions[0][1] == itemsize:
        block = dimensions[0][0]
        dimensions = dimensions[1:]
        if not dimensions:
            return f"contiguous({block}, {text})"
    for length, stride in dimensions:
        text = f"hvector({length}, {block}, {stride}, {text})"
        block = 1
    return text


def as_layout(what: Any) -> Layout:
    """A layout as it is; a text form; a dtype, or what numpy makes one of; else an array's."""
    if isinstance(what, Layout):
        return what
    if isinstance(what, str):
        return _basic_layout(what) if what.isidentifier() else parse(what)
    if isinstance(what, np.dtype):
        return strided((), (), what)
    if isinstance(what, type):
        return strided((), (), np.dtype(what))
    return view_of(what).layout()


# ---- arrays ----------------------------------------------------------------------------------

STREAM_OWNERS = ("torch", "cupy")
"""Packages whose current stream this package asks for."""


def package_of(array: Any) -> str:
    """The package that the type of an array, or a type that it is derived from, comes from: one of STREAM_OWNERS, if
    there is one."""
    kind: Any = type(array)
    return _package_of_type(kind)


@functools.lru_cache(maxsize=CACHED_TYPES)
def _package_of_type(kind: Any) -> str:
    packages: list[str] = [base.__module__.partition(".")[0] for base in kind.__mro__]
    return next((package for package in packages if package in STREAM_OWNERS), packages[0])


def view_of(array: Any) -> View:
    """Describe any array."""
    if isinstance(array, np.ndarray):
        if isinstance(array, np.ma.MaskedArray) and array.mask is not np.ma.nomask:
            raise errors.UnsupportedError(MASK)
        return _numpy_view(array, array)
    if isinstance(array, np.generic):
        # A scalar cannot be stored to: numpy makes an array of a copy.
        return _numpy_view(np.asarray(array), array)._replace(writable=False)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        tensor = _dlpack.read(array, package_of(array) in STREAM_OWNERS)
        return View(*tensor[:7], None, array, tensor.capsule)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return _cuda_view(array, interface)
    if hasattr(array, "__array_interface__"):
        return _numpy_view(np.asarray(array), array)
    try:
        return _numpy_view(np.asarray(memoryview(array)), array)
    except TypeError:
        raise errors.InvalidError(
            f"an object of type {type(array).__name__} is no array: it has neither __dlpack__ nor "
            "__cuda_array_interface__ nor __array_interface__ nor the buffer protocol") from None


def _numpy_view(array: np.ndarray[Any, Any], owner: Any) -> View:
    return View(address_of(array), array.shape, array.strides, array.dtype, array.itemsize, array.flags.writeable, None,
                None, owner, array)


def _cuda_view(array: Any, interface: dict[str, Any]) -> View:
    """What ``__cuda_array_interface__`` describes."""
    if interface.get("mask") is not None:
        raise errors.UnsupportedError(MASK)
    shape = tuple(interface["shape"])
    element = np.dtype(interface["typestr"])
    fields = interface.get("descr") or []
    if any(field[0] for field in fields):
        # A struct; fields without a name are padding.
        element = np.lib.format.descr_to_dtype(fields)
    strides = interface.get("strides")
    strides = _dlpack.contiguous_strides(shape, element.itemsize) if strides is None else tuple(strides)
    address, read_only = interface["data"]
    return View(address, shape, strides, element, element.itemsize, not read_only, -1, interface.get("stream"), array,
                interface)
