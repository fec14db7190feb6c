# SPDX-License-Identifier: BSD-3-Clause
"""In the order of which CUDA stream a call works: the current one of the library that owns the array."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, ContextManager, Optional

from . import errors
from ._structs import STREAM_LEGACY
from ._views import STREAM_OWNERS, View, package_of

DEFAULT_STREAMS = (1, 2)
"""The legacy and the per-thread default stream, which belong to the device context that is current."""


def handle_of(stream: Any) -> int:
    """The CUstream of what a user names: an int, or an object of PyTorch, CuPy, or any with ``__cuda_stream__``."""
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    if not isinstance(stream, int):
        raise errors.InvalidError(f"stream is of type {type(stream).__name__}; it has to be an int or an object with "
                                  "__cuda_stream__, cuda_stream or ptr")
    return stream or STREAM_LEGACY


def current_stream(view: View) -> Optional[int]:
    """The current stream of an array's owner; None for memory of the CPU."""
    if view.device is None:
        return None
    package = package_of(view.owner)
    module = sys.modules.get(package)
    if package == "torch" and module is not None:
        return handle_of(module.cuda.current_stream(view.device))
    if package == "cupy" and module is not None:
        with device_of(view):
            return handle_of(module.cuda.get_current_stream())
    return view.stream or STREAM_LEGACY


def fixed_stream(view: View) -> Optional[int]:
    """The stream of an array whose owner has no current one, for all calls; None: it changes, or the CPU reads the array."""
    return None if view.device is None or package_of(view.owner) in STREAM_OWNERS else view.stream or STREAM_LEGACY


def device_of(view: View) -> ContextManager[Any]:
    """Makes an array's device current, where its owner says which it is and how."""
    package = package_of(view.owner)
    module = sys.modules.get(package)
    if view.device is None or view.device < 0 or module is None:
        return contextlib.nullcontext()
    if package == "torch":
        context: ContextManager[Any] = module.cuda.device(view.device)
        return context
    if package == "cupy":
        context = module.cuda.Device(view.device)
        return context
    return contextlib.nullcontext()


def common_stream(views: list[View], named: Any = None) -> Optional[int]:
    """The stream that orders a call on these arrays; None if all are memory of the CPU and none was named."""
    if named is not None:
        return handle_of(named)
    streams = {stream for stream in map(current_stream, views) if stream is not None}
    if len(streams) > 1:
        raise errors.InvalidError("the arrays have different current streams, "
                                  + " and ".join(f"0x{stream:x}" for stream in sorted(streams))
                                  + "; make one wait for the other, and name it: stream=...")
    return streams.pop() if streams else None


@contextlib.contextmanager
def ready(views: list[View], stream: Optional[int]) -> Any:
    """For the time of a call: where a default stream is meant, the device of the first array on one is current."""
    on_device = next((view for view in views if view.device is not None), None)
    if stream in DEFAULT_STREAMS and on_device is not None:
        with device_of(on_device):
            yield
    else:
        yield
