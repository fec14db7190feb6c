# SPDX-License-Identifier: BSD-3-Clause
"""Opens the libraries of transports, each once in the process."""
from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Optional

from . import errors
from ._declarations import NETWORKS
from ._library import FOLDER, library_path, prepared, runtime

_lock = threading.Lock()
_opened: dict[str, tuple[ctypes.CDLL, int]] = {}


def network_path(network: str) -> str:
    """The library of a network: DTCONV_LIBRARY_UCX and so on, else beside libdtconv, else what the system finds."""
    name = f"libdtconv-{network}.so.0"
    named = os.environ.get(f"DTCONV_LIBRARY_{network.upper()}")
    beside = [folder / name for folder in (FOLDER, pathlib.Path(library_path()).parent) if (folder / name).is_absolute()]
    return named or next((str(path) for path in beside if path.exists()), name)


def transport_of(network: Optional[str]) -> Optional[int]:
    """The transport of a network, which stays open as long as the process; None for shared memory."""
    if network is None:
        return None
    if network not in NETWORKS:
        raise errors.InvalidError(f"there is no network {network!r}; there are " + ", ".join(NETWORKS))
    with _lock:
        if network not in _opened:
            _opened[network] = _open(network)
        return _opened[network][1]


def _open(network: str) -> tuple[ctypes.CDLL, int]:
    run, path, handle = runtime(), network_path(network), ctypes.c_void_p()
    try:
        library = prepared(path, NETWORKS[network])
    except (OSError, AttributeError) as reason:
        raise errors.UnsupportedError(f"the network {network} needs {path}: {reason}; DTCONV_LIBRARY_{network.upper()} "
                                      "may say where it is") from None
    run.check(getattr(library, f"dtconv_{network}_open")(run.context, None, ctypes.byref(handle)))
    return library, getattr(library, f"dtconv_{network}_transport")(handle)
