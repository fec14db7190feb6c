# SPDX-License-Identifier: BSD-3-Clause
"""The constructors of MPI's derived datatypes.

``old`` is a layout, a numpy dtype or anything that numpy makes one of, or the name of a predefined type of the
library such as ``"double"`` or any other text form. Arguments mean what they mean in MPI 4.1, section 5.1.2: strides
and displacements are in elements; in bytes where the name begins with ``h`` and in ``struct``.
"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from . import errors
from ._library import runtime
from ._structs import DEFAULT_DARG, Distribution, Order
from ._views import as_layout
from .layouts import Layout, made

Old = Union[Layout, str, Any]


def sizes(values: Sequence[int]) -> Any:
    """An array of size_t."""
    negative = next((value for value in values if value < 0), None)
    if negative is not None:
        raise errors.InvalidError(f"{negative} is negative; counts and lengths are not")
    return (ctypes.c_size_t * len(values))(*values)


def displacements_of(values: Sequence[int]) -> Any:
    """An array of ptrdiff_t. Arrays of numpy with integers take a thirtieth of the time of a list."""
    array_type = ctypes.c_ssize_t * len(values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
        return array_type.from_buffer(np.array(values, np.intp))
    return array_type(*values)


def same_length(**lists: Sequence[Any]) -> int:
    """The length that all these lists have."""
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) != 1:
        raise errors.InvalidError("; ".join(f"{name} has {length} entries" for name, length in lengths.items())
                                  + "; all need the same number")
    return next(iter(lengths.values()))


def chosen(kind: Any, name: str, what: str) -> int:
    """The value of an enum's member that is named in lower case."""
    try:
        return int(kind[name.upper()])
    except KeyError:
        raise errors.InvalidError(f"there is no {what} {name!r}; there are "
                                  + ", ".join(member.name.lower() for member in kind)) from None


def contiguous(count: int, old: Old) -> Layout:
    """``count`` elements, one behind the other."""
    return made("dtconv_type_create_contiguous", sizes([count])[0], as_layout(old)._handle)


def vector(count: int, blocklength: int, stride: int, old: Old) -> Layout:
    """``count`` blocks of ``blocklength`` elements, ``stride`` elements from start to start."""
    return made("dtconv_type_create_vector", *sizes([count, blocklength]), stride, as_layout(old)._handle)


def hvector(count: int, blocklength: int, stride: int, old: Old) -> Layout:
    """As ``vector``, with the stride in bytes."""
    return made("dtconv_type_create_hvector", *sizes([count, blocklength]), stride, as_layout(old)._handle)


def indexed(blocklengths: Sequence[int], displacements: Sequence[int], old: Old) -> Layout:
    """Blocks of given lengths at given displacements, in elements."""
    count = same_length(blocklengths=blocklengths, displacements=displacements)
    return made("dtconv_type_create_indexed", count, sizes(blocklengths), displacements_of(displacements),
                as_layout(old)._handle)


def hindexed(blocklengths: Sequence[int], displacements: Sequence[int], old: Old) -> Layout:
    """As ``indexed``, with displacements in bytes."""
    count = same_length(blocklengths=blocklengths, displacements=displacements)
    return made("dtconv_type_create_hindexed", count, sizes(blocklengths), displacements_of(displacements),
                as_layout(old)._handle)


def indexed_block(blocklength: int, displacements: Sequence[int], old: Old) -> Layout:
    """Blocks of one length at given displacements, in elements."""
    return made("dtconv_type_create_indexed_block", len(displacements), *sizes([blocklength]),
                displacements_of(displacements), as_layout(old)._handle)


def hindexed_block(blocklength: int, displacements: Sequence[int], old: Old) -> Layout:
    """As ``indexed_block``, with displacements in bytes."""
    return made("dtconv_type_create_hindexed_block", len(displacements), *sizes([blocklength]),
                displacements_of(displacements), as_layout(old)._handle)


def struct(blocklengths: Sequence[int], displacements: Sequence[int], olds: Sequence[Old]) -> Layout:
    """Blocks of unlike elements at displacements in bytes. A structured dtype gives one too: ``layout(dtype)``."""
    count = same_length(blocklengths=blocklengths, displacements=displacements, olds=olds)
    members = [as_layout(old) for old in olds]
    handles = (ctypes.c_void_p * count)(*(member._handle for member in members))
    return made("dtconv_type_create_struct", runtime().context, count, sizes(blocklengths),
                displacements_of(displacements), handles)


def subarray(shape: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], old: Old, order: str = "c") -> Layout:
    """A box of an array: ``subsizes`` elements from ``starts`` on. ``order`` is ``"c"`` or ``"fortran"``."""
    ndims = same_length(shape=shape, subsizes=subsizes, starts=starts)
    return made("dtconv_type_create_subarray", ndims, sizes(shape), sizes(subsizes), sizes(starts),
                chosen(Order, order, "order"), as_layout(old)._handle)


def darray(size: int, rank: int, shape: Sequence[int], distributions: Sequence[str], dargs: Sequence[Union[int, None]],
           psizes: Sequence[int], old: Old, order: str = "c") -> Layout:
    """The part of a distributed array that process ``rank`` of ``size`` has.

    Each of ``distributions`` is ``"block"``, ``"cyclic"`` or ``"none"``; each of ``dargs`` is a block size, or None
    for the default.
    """
    ndims = same_length(shape=shape, distributions=distributions, dargs=dargs, psizes=psizes)
    kinds = (ctypes.c_int * ndims)(*(chosen(Distribution, name, "distribution") for name in distributions))
    blocks = sizes([DEFAULT_DARG if darg is None else darg for darg in dargs])
    return made("dtconv_type_create_darray", *sizes([size, rank]), ndims, sizes(shape), kinds, blocks, sizes(psizes),
                chosen(Order, order, "order"), as_layout(old)._handle)


def resized(old: Old, lb: int, extent: int) -> Layout:
    """The same data with other bounds, in bytes."""
    return made("dtconv_type_create_resized", as_layout(old)._handle, lb, extent)
