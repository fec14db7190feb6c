# SPDX-License-Identifier: BSD-3-Clause
"""The calls of the CUDA driver that the measurement makes itself, through ctypes."""
from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from .link import Failure

NON_BLOCKING = 1
IN_STREAM_ORDER = 1
"""CU_MEMCPY_SRC_ACCESS_ORDER_STREAM."""
NAME_BYTES = 128


class Attributes(ctypes.Structure):
    """CUmemcpyAttributes. The hints are for managed memory alone."""

    _fields_ = [("order", ctypes.c_int), ("source_hint", ctypes.c_int * 2), ("target_hint", ctypes.c_int * 2),
                ("flags", ctypes.c_uint)]


class DeviceArray:
    """Words of device memory, as an array of any strides."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], stream: int) -> None:
        self.address, self.shape = address, shape
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": "<i8", "data": (address, False),
                                         "version": 3, "stream": stream}


class Driver:
    """The driver, the primary context of one device, which is current in the thread that calls this, and a stream."""

    def __init__(self, device: int) -> None:
        self.device = device
        try:
            self.lib = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
        except OSError as reason:
            raise Failure(f"there is no CUDA driver: {reason}") from None
        self.must("cuInit", 0)
        ordinal, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.must("cuDeviceGet", ctypes.byref(ordinal), device)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
        self.must("cuCtxSetCurrent", context)
        self.must("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        self.stream = stream.value or 0

    def must(self, name: str, *arguments: Any) -> None:
        """A call. Raises Failure with the driver's name for what it returns."""
        result = getattr(self.lib, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(result, ctypes.byref(text))
            raise Failure(f"{name} returned {result}, {(text.value or b'an unknown error').decode()}")

    def has(self, name: str) -> bool:
        """Whether the driver has an entry point."""
        return hasattr(self.lib, name)

    def version(self) -> str:
        """The CUDA version of the driver."""
        number = ctypes.c_int()
        self.must("cuDriverGetVersion", ctypes.byref(number))
        return f"{number.value // 1000}.{number.value % 1000 // 10}"

    def device_name(self) -> str:
        """What the device is called."""
        text = ctypes.create_string_buffer(NAME_BYTES)
        self.must("cuDeviceGetName", text, NAME_BYTES, self.device)
        return text.value.decode()

    def allocate(self, size: int) -> int:
        """Device memory that another process can map."""
        address = ctypes.c_uint64()
        self.must("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def copy(self, target: int, source: int, size: int) -> None:
        """Queue one copy."""
        self.must("cuMemcpyAsync", ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(size),
                  ctypes.c_void_p(self.stream))

    def copy_batch(self, targets: np.ndarray, sources: np.ndarray, sizes: np.ndarray) -> None:
        """Queue a copy for each entry, by cuMemcpyBatchAsync."""
        attributes, first, failed = Attributes(order=IN_STREAM_ORDER), ctypes.c_size_t(0), ctypes.c_size_t()
        lists = [ctypes.c_void_p(array.ctypes.data) for array in (targets, sources, sizes)]
        common = (*lists, ctypes.c_size_t(len(sizes)), ctypes.byref(attributes), ctypes.byref(first), ctypes.c_size_t(1))
        stream = ctypes.c_void_p(self.stream)
        if self.has("cuMemcpyBatchAsync_v2"):
            self.must("cuMemcpyBatchAsync_v2", *common, stream)
        else:
            self.must("cuMemcpyBatchAsync", *common, ctypes.byref(failed), stream)

    def write(self, address: int, data: np.ndarray) -> None:
        """Copy an array of the host's to the device, and wait."""
        self.must("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(data.ctypes.data),
                  ctypes.c_size_t(data.nbytes))
        self.must("cuCtxSynchronize")

    def read(self, address: int, data: np.ndarray) -> None:
        """Copy device memory to an array of the host's, when all work of the device is done."""
        self.must("cuCtxSynchronize")
        self.must("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address),
                  ctypes.c_size_t(data.nbytes))

    def fill(self, address: int, value: int, size: int) -> None:
        """Set each 4 bytes, and wait."""
        self.must("cuMemsetD32_v2", ctypes.c_uint64(address), ctypes.c_uint(value), ctypes.c_size_t(size // 4))
        self.must("cuCtxSynchronize")

    def wait(self) -> None:
        """Wait for the stream."""
        self.must("cuStreamSynchronize", ctypes.c_void_p(self.stream))


def torch_of(driver: Optional[Driver]) -> Any:
    """PyTorch, which works in the driver's stream from now on. Raises Failure if it cannot be used."""
    if driver is None:
        raise Failure("PyTorch is used on devices only")
    try:
        import torch
    except ImportError as reason:
        raise Failure(f"PyTorch is missing: {reason}") from None
    if not torch.cuda.is_available():
        raise Failure("this PyTorch has no CUDA")
    torch.cuda.set_device(driver.device)
    torch.cuda.set_stream(torch.cuda.ExternalStream(driver.stream, device=f"cuda:{driver.device}"))
    return torch
