# SPDX-License-Identifier: BSD-3-Clause
"""The memory of one end, in the host or on a device: a pool of pages and then staging memory, in one allocation that
the other process can map."""
from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import socket
from typing import Any, Optional

import numpy as np

import dtconv

from . import shapes
from .cuda import DeviceArray, Driver
from .link import Failure, Link
from .shapes import WORD, Shape

CANARY = 0xEEEEEEEE
CANARY_WORD = np.array([CANARY, CANARY], np.uint32).view(np.int64)[0]
SEED = 20260101
"""Of what the sender's pool contains."""


def contents(size: int) -> np.ndarray:
    """What the sender's pool contains."""
    return np.random.default_rng(SEED).integers(-1 << 63, (1 << 63) - 1, size // WORD, np.int64)


class HostMemory:
    """Memory of the host, shared by a file without a name."""

    kind, nixl_kind, device = "host", "DRAM", None

    def __init__(self, pool_bytes: int, staging_bytes: int, file: int = -1) -> None:
        self.pool_bytes, self.size = pool_bytes, pool_bytes + staging_bytes
        self.file = file if file >= 0 else os.memfd_create("kv_rates")
        os.ftruncate(self.file, self.size)
        self.words = np.frombuffer(mmap.mmap(self.file, self.size), np.int64)
        self.address = self.words.ctypes.data
        self.staging = self.words[pool_bytes // WORD:]
        self.driver: Optional[Driver] = None

    def pool_view(self, shape: Shape, index: int, end: int) -> Any:
        """A cache, as Pages takes it."""
        return shapes.view(self.words, shape, index, end)

    def packed(self, shape: Shape, index: int) -> Any:
        """A cache's part of the stream, in the staging memory."""
        return shapes.packed_views(self.staging, shape)[index]

    def write_pool(self, data: np.ndarray) -> None:
        """Set the beginning of the pool."""
        self.words[:len(data)] = data

    def read_pool(self, size: int) -> np.ndarray:
        """The beginning of the pool. What is done with the array may change the pool."""
        return self.words[:size // WORD]

    def fill(self) -> None:
        """Write canaries everywhere."""
        self.words[:] = CANARY_WORD

    def copy(self, target: int, source: int, size: int) -> None:
        """One copy of contiguous bytes."""
        first = (source - self.address) // WORD
        there = np.ctypeslib.as_array((ctypes.c_int64 * (size // WORD)).from_address(target))
        np.copyto(there, self.words[first:first + size // WORD])

    def wait(self) -> None:
        """All copies are done."""

    def offer(self, link: Link) -> None:
        """Let the other process map this memory."""
        socket.send_fds(link.end, [b"memory"], [self.file])

    def map_peer_memory(self, link: Link, pool_bytes: int, staging_bytes: int) -> HostMemory:
        """Map the memory that the other process offers."""
        files = link.files()
        if not files:
            raise Failure("the other process offers no memory")
        return HostMemory(pool_bytes, staging_bytes, files[0])


class DeviceMemory:
    """Memory of a device, shared by CUDA IPC."""

    kind, nixl_kind = "device", "VRAM"

    def __init__(self, pool_bytes: int, staging_bytes: int, driver: Driver, address: int = 0) -> None:
        self.pool_bytes, self.size, self.driver, self.device = pool_bytes, pool_bytes + staging_bytes, driver, driver.device
        self.address = address or driver.allocate(self.size)
        self.words = DeviceArray(self.address, (self.size // WORD,), (WORD,), driver.stream)
        # It has the shapes and strides of the device's array, and is never touched: it takes no memory.
        self._shadow = np.empty(self.size // WORD, np.int64)
        self._read: Optional[np.ndarray] = None
        self.keep: Any = None
        """What keeps the memory mapped."""

    def _as_device(self, there: np.ndarray) -> DeviceArray:
        """The array of the device that a view of the shadow stands for."""
        return DeviceArray(self.address + there.ctypes.data - self._shadow.ctypes.data, there.shape, there.strides,
                           self.driver.stream)

    @property
    def staging(self) -> DeviceArray:
        """The staging memory."""
        return self._as_device(self._shadow[self.pool_bytes // WORD:])

    def pool_view(self, shape: Shape, index: int, end: int) -> DeviceArray:
        """As for HostMemory."""
        return self._as_device(shapes.view(self._shadow, shape, index, end))

    def packed(self, shape: Shape, index: int) -> DeviceArray:
        """As for HostMemory."""
        return self._as_device(shapes.packed_views(self._shadow[self.pool_bytes // WORD:], shape)[index])

    def write_pool(self, data: np.ndarray) -> None:
        """As for HostMemory."""
        self.driver.write(self.address, data)

    def read_pool(self, size: int) -> np.ndarray:
        """As for HostMemory."""
        if self._read is None:
            self._read = np.empty(self.size // WORD, np.int64)
        data = self._read[:size // WORD]
        self.driver.read(self.address, data)
        return data

    def fill(self) -> None:
        """As for HostMemory."""
        self.driver.fill(self.address, CANARY, self.size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Queue one copy of contiguous bytes."""
        self.driver.copy(target, source, size)

    def wait(self) -> None:
        """Wait for the stream."""
        self.driver.wait()

    def offer(self, link: Link) -> None:
        """As for HostMemory."""
        link.tell(handle=pickle.dumps(dtconv.export_memory(self.words)).hex())

    def map_peer_memory(self, link: Link, pool_bytes: int, staging_bytes: int) -> DeviceMemory:
        """As for HostMemory."""
        array = pickle.loads(bytes.fromhex(link.hear()["handle"])).open(self.device)
        mapped = DeviceMemory(pool_bytes, staging_bytes, self.driver, array.__cuda_array_interface__["data"][0])
        mapped.keep = array
        return mapped


def memory_for(device: Optional[int], pool_bytes: int, staging_bytes: int) -> Any:
    """Memory in the host (None) or on a device."""
    if device is None:
        return HostMemory(pool_bytes, staging_bytes)
    return DeviceMemory(pool_bytes, staging_bytes, Driver(device))
