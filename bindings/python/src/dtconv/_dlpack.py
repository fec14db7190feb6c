# SPDX-License-Identifier: BSD-3-Clause
"""Reads what a DLPack capsule describes. It is not consumed: whoever holds it keeps the memory."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import errors
from ._elements import ElementType
from ._structs import STREAM_LEGACY

CPU, CUDA, CUDA_PINNED, CUDA_MANAGED = 1, 2, 3, 13
READ_ONLY = 1
VERSION = (1, 0)
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}


class DLTensor(ctypes.Structure):
    """struct DLTensor of dlpack.h."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DLManagedTensorVersioned(ctypes.Structure):
    """struct DLManagedTensorVersioned of dlpack.h, from version 1 on."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


class Tensor(NamedTuple):
    """What a capsule describes; strides are in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: ElementType
    itemsize: int
    writable: bool
    device: Optional[int]
    capsule: object


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def capsule_of(array: Any, is_ordered: bool) -> object:
    """The producer's capsule. Where the call names the producer's own current stream, there is nothing to wait for;
    otherwise the producer is told that the legacy default stream comes next."""
    device_type, _ = array.__dlpack_device__()
    stream: dict[str, Any] = {}
    if device_type in (CUDA, CUDA_MANAGED):
        stream = {"stream": -1 if is_ordered else STREAM_LEGACY}
    try:
        return array.__dlpack__(max_version=VERSION, **stream)
    except TypeError:
        # Producers from before version 1 know no max_version.
        return array.__dlpack__(**stream)


def read(array: Any, is_ordered: bool) -> Tensor:
    """Describe an object that has ``__dlpack__``. ``is_ordered``: see ``capsule_of``."""
    capsule = capsule_of(array, is_ordered)
    writable = True
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = DLManagedTensorVersioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != VERSION[0]:
            raise errors.UnsupportedError(f"the array is given as DLPack version {managed.major}; "
                                          f"this package reads version {VERSION[0]}")
        tensor, writable = managed.tensor, not managed.flags & READ_ONLY
    elif _is_valid(capsule, b"dltensor"):
        tensor = DLTensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        raise errors.InvalidError(f"__dlpack__ of {type(array).__name__} has returned no unused DLPack capsule")
    itemsize = tensor.bits * tensor.lanes // 8
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = contiguous_strides(shape, itemsize)
    if tensor.strides:
        strides = tuple(stride * itemsize for stride in tensor.strides[:tensor.ndim])
    return Tensor((tensor.data or 0) + tensor.byte_offset, shape, strides, element_of(tensor), itemsize, writable,
                  device_of(tensor), capsule)


def element_of(tensor: DLTensor) -> ElementType:
    """The element type of a tensor."""
    if tensor.bits * tensor.lanes % 8 or not tensor.bits:
        raise errors.UnsupportedError(f"elements of {tensor.bits} bits are no whole bytes")
    if tensor.lanes == 1 and (tensor.code, tensor.bits) == (4, 16):
        return "bfloat16"
    if tensor.lanes == 1 and (tensor.code, tensor.bits) == (6, 8):
        return np.dtype(np.bool_)
    kind = _KINDS.get(tensor.code)
    try:
        dtype = np.dtype(f"{kind}{tensor.bits // 8}") if kind else None
    except TypeError:
        dtype = None
    if dtype is None:
        # Numbers that numpy does not have, such as float8: bytes.
        return np.dtype(f"V{tensor.bits * tensor.lanes // 8}")
    return dtype if tensor.lanes == 1 else np.dtype((dtype, (tensor.lanes,)))


def device_of(tensor: DLTensor) -> Optional[int]:
    """The ordinal of the CUDA device; None for memory that the CPU reads."""
    if tensor.device_type in (CPU, CUDA_PINNED):
        return None
    if tensor.device_type in (CUDA, CUDA_MANAGED):
        return int(tensor.device_id)
    raise errors.UnsupportedError(f"the array is in memory of DLPack's device type {tensor.device_type}; "
                                  "the library reads memory of the CPU and of CUDA devices")


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The byte strides of an array in C order."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))
