# SPDX-License-Identifier: BSD-3-Clause
"""Pools of staging memory in equal fragments, which are registered with the device driver once."""
from __future__ import annotations

import ctypes
from typing import Any, Optional

from . import errors
from ._library import runtime
from ._structs import fragment_attr, pool_attr, pool_params
from .layouts import memory_kind


class Fragment:
    """A piece of a pool's memory. Give it back with ``put()`` or ``with``; else it is given back when it, and each
    array made of it, is gone.

    It is an array of bytes: ``numpy.asarray(fragment)`` has no copy, and every call of the package takes it.
    """

    __slots__ = ("__weakref__", "_attr", "_handle", "_pool")

    def __init__(self, pool: Pool, handle: int) -> None:
        """Take over a fragment. Not for users: call ``Pool.get()``."""
        run = runtime()
        self._pool, self._attr = pool, fragment_attr()
        self._handle: Optional[int] = handle
        run.check(run.lib.dtconv_fragment_query(handle, ctypes.byref(self._attr)))

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return int(self._attr.capacity)

    def put(self) -> None:
        """Give it back now. Arrays made of it must not be used any more: others may write there."""
        handle, self._handle = self._handle, None
        if handle is not None:
            runtime().lib.dtconv_fragment_put(handle)

    def _interface(self) -> dict[str, Any]:
        if self._handle is None:
            raise errors.StateError("the fragment has been given back to its pool")
        return {"shape": (self.size,), "typestr": "|u1", "data": (self._attr.address, False), "version": 3}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What numpy needs; memory of a device has none."""
        if self._pool.kind == "device":
            raise AttributeError("memory of a device has no __array_interface__")
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What CuPy, Numba and PyTorch need; memory of the CPU has none."""
        if self._pool.kind != "device":
            raise AttributeError("memory of the CPU has no __cuda_array_interface__")
        return {**self._interface(), "stream": None}

    def __enter__(self) -> Fragment:
        return self

    def __exit__(self, *_: object) -> None:
        self.put()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.put()


class Pool:
    """Memory in fragments of one size, taken and given back by any thread without a lock.

    kind: ``"pinned"``: registered with the device driver where there is one; ``"host"``: never registered;
       ``"device"``: memory of a device.
    device: ordinal of the device; -1: that of the thread's current device context.
    fragment_bytes, slab_bytes, start_bytes, limit_bytes: size of a fragment, least size of a slab, least size to begin
       with, largest size; 0 means the library's default (256 KiB, 64 MiB, one slab, 1024 slabs).

    The memory lives as long as the pool, each fragment and each array made of one.
    """

    def __init__(self, kind: str = "pinned", *, device: int = -1, fragment_bytes: int = 0, slab_bytes: int = 0,
                 start_bytes: int = 0, limit_bytes: int = 0) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        self._handle: Optional[int] = None
        self._destroy = run.lib.dtconv_pool_destroy
        self.kind = kind
        params = pool_params(kind=memory_kind(kind), device=device, fragment_bytes=fragment_bytes,
                             slab_bytes=slab_bytes, start_bytes=start_bytes, limit_bytes=limit_bytes)
        run.check(run.lib.dtconv_pool_create(run.context, ctypes.byref(params), ctypes.byref(handle)))
        self._handle = handle.value

    def get(self) -> Fragment:
        """Take a free fragment. Raises AgainError if none is free. Never blocks."""
        run, handle = runtime(), ctypes.c_void_p()
        status = run.lib.dtconv_pool_get(self._handle, ctypes.byref(handle))
        if status:
            raise run.failure(status)
        return Fragment(self, handle.value or 0)

    def _query(self) -> pool_attr:
        run, attr = runtime(), pool_attr()
        run.check(run.lib.dtconv_pool_query(self._handle, ctypes.byref(attr)))
        return attr

    @property
    def fragment_bytes(self) -> int:
        """Size of a fragment."""
        return int(self._query().fragment_bytes)

    @property
    def fragments(self) -> int:
        """Number of fragments."""
        return int(self._query().fragments)

    @property
    def free(self) -> int:
        """Number of fragments that can be taken."""
        return int(self._query().free)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._destroy(self._handle)
