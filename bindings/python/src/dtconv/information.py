# SPDX-License-Identifier: BSD-3-Clause
"""What the library is and what it has found on this machine."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Optional

from ._library import library_path, runtime, text_of
from ._structs import context_attr, device_attr


@dataclass(frozen=True)
class Device:
    """A CUDA device."""

    name: str
    """The driver's name for it."""
    compute: tuple[int, int]
    """Compute capability."""
    bytes: int
    """Size of its memory."""
    driver_version: tuple[int, int]
    """CUDA version of the driver."""


@dataclass(frozen=True)
class Info:
    """Build and machine. ``str()`` of it is what ``dtconv info`` prints."""

    version: str
    """Version of the library."""
    library: str
    """What was loaded: a path, or a name that the system has found."""
    compiler: str
    """Compiler that built the library."""
    processor: str
    """CPU family that it was built for."""
    kernels: str
    """Set of CPU kernels in use."""
    kernel_sets: tuple[str, ...]
    """All sets that this CPU supports."""
    threads: int
    """Maximum number of threads of one pack or unpack."""
    tuning_path: Optional[str]
    """Path of the tuning file."""
    backends: tuple[str, ...]
    """Copy backends of the library."""
    devices: tuple[Device, ...]
    """Devices, once the process has loaded and initialised their driver."""
    no_devices: Optional[str]
    """Why there are none, for people."""
    text: str = field(repr=False)
    """All of it in words."""

    def __str__(self) -> str:
        return self.text


def info() -> Info:
    """What the library is and what it finds on this machine."""
    run, attr = runtime(), context_attr()
    run.check(run.lib.dtconv_context_query(run.context, ctypes.byref(attr)))
    return Info(
        version=run.lib.dtconv_version().decode(), library=library_path(), compiler=attr.compiler.decode(),
        processor=attr.processor.decode(), kernels=attr.kernels.decode(),
        kernel_sets=tuple(attr.kernel_sets.decode().split()), threads=attr.threads,
        tuning_path=attr.tuning_path.decode() if attr.tuning_path else None, backends=_backends(),
        devices=tuple(map(_device, range(attr.devices))),
        no_devices=attr.no_devices.decode() if attr.no_devices else None,
        text=text_of(run, run.lib.dtconv_context_format_info, run.context))


def _backends() -> tuple[str, ...]:
    run, names = runtime(), []
    name = run.lib.dtconv_backend_name(0)
    while name is not None:
        names.append(name.decode())
        name = run.lib.dtconv_backend_name(len(names))
    return tuple(names)


def _device(ordinal: int) -> Device:
    run, attr = runtime(), device_attr()
    run.check(run.lib.dtconv_context_query_device(run.context, ordinal, ctypes.byref(attr)))
    version = attr.driver_version
    return Device(attr.name.decode(), (attr.compute_major, attr.compute_minor), attr.bytes,
                  (version // 1000, version % 1000 // 10))
