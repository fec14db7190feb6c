# SPDX-License-Identifier: BSD-3-Clause
"""dtconv packs and unpacks non-contiguous memory, of the CPU and of NVIDIA GPUs.

It is the Python package of libdtconv. A layout says where the bytes of some data are: that of a strided array, of a
structured dtype, or of an MPI derived datatype. ``pack`` moves them into contiguous memory, ``unpack`` back, ``copy`` from
one layout to another. Arrays of numpy, PyTorch and CuPy are used where they are, without a copy.

>>> import dtconv, numpy as np
>>> matrix = np.arange(10.0).reshape(2, 5)
>>> dtconv.pack(matrix[:, 1:3]).view(float)
array([1., 2., 6., 7.])
>>> dtconv.layout(matrix[:, 1:3])
dtconv.layout('hvector(2, 2, 40, double)')
"""
from __future__ import annotations

from typing import Any

from . import _library, _views
from .batch import Batch, Result
from .channel import Channel, Listener, Message
from .constructors import (contiguous, darray, hindexed, hindexed_block, hvector, indexed, indexed_block, resized, struct,
                           subarray, vector)
from .errors import (AgainError, BackendError, CanceledError, Error, FormatError, InvalidError, LimitError, NoMemoryError,
                     PeerError, RangeError, SignatureError, StateError, TimedOutError, TruncateError, UnsupportedError)
from .fragments import Packer, Unpacker, fragments
from .information import Device, Info, info
from .ipc import IpcArray, IpcHandle, export_memory
from .jobs import Job, start_copy, start_pack, start_unpack
from .layouts import Layout
from .moves import copy, pack, unpack
from .pages import Pages
from .pool import Fragment, Pool
from .reshard import Box, Reshard, ReshardMessage, ReshardPlan
from .segment import Segment, SegmentArray

__all__ = [
    "AgainError", "BackendError", "Batch", "Box", "CanceledError", "Channel", "Device", "Error", "FormatError",
    "Fragment", "Info", "InvalidError", "IpcArray", "IpcHandle", "Job", "Layout", "LimitError", "Listener", "Message",
    "NoMemoryError", "Packer", "Pages", "PeerError", "Pool", "RangeError", "Reshard", "ReshardMessage", "ReshardPlan",
    "Result", "Segment", "SegmentArray", "SignatureError", "StateError", "TimedOutError", "TruncateError", "Unpacker", "UnsupportedError",
    "contiguous", "copy", "darray", "export_memory", "fragments", "hindexed", "hindexed_block", "hvector", "indexed",
    "indexed_block", "info", "layout", "pack", "resized", "start_copy", "start_pack", "start_unpack", "struct",
    "subarray", "unpack", "vector",
]


def __getattr__(name: str) -> str:
    """``__version__`` is that of the library."""
    if name == "__version__":
        return str(_library.runtime().lib.dtconv_version().decode())
    raise AttributeError(f"module 'dtconv' has no attribute {name!r}")


def layout(what: Any) -> Layout:
    """The layout of something.

    An array, or a view of one: of its elements in the order of its indices; displacement 0 is its first element.
    Strides may be negative, and 0. A dtype, or a type of numpy's: of one element; fields of a struct are in the order of
    their names, without the padding. A string: the library's text form, for example
    ``"vector(1000, 2, 5, double)"``. A layout: itself.

    Elements are basic types of the library: int32, float, double and so on. Text, raw bytes, and numbers that are not in
    this machine's byte order, are bytes. Raises InvalidError for references to Python objects.
    """
    return _views.as_layout(what)
