# SPDX-License-Identifier: BSD-3-Clause
"""Finds libdtconv, gives its functions their prototypes, and keeps the one context of the process."""
from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Any, Callable, Optional

from . import _structs, errors
from ._declarations import DECLARATIONS, parse

SONAME = "libdtconv.so.0"
FOLDER = pathlib.Path(__file__).parent / "_lib"
"""Where a wheel has the library and the program."""


def library_path() -> str:
    """What to load: DTCONV_LIBRARY, else the wheel's own, else what the system finds."""
    inside = FOLDER / SONAME
    return os.environ.get("DTCONV_LIBRARY") or (str(inside) if inside.exists() else SONAME)


def prepared(path: str, declarations: str) -> ctypes.CDLL:
    """A library, with prototypes. ctypes.CDLL releases the interpreter's lock during calls."""
    library = ctypes.CDLL(path)
    for prototype in parse(declarations):
        function = getattr(library, prototype.name)
        function.restype, function.argtypes = prototype.result, prototype.arguments
    return library


def load() -> ctypes.CDLL:
    """libdtconv."""
    path = library_path()
    try:
        return prepared(path, DECLARATIONS)
    except (OSError, AttributeError) as reason:
        raise ImportError(f"{path} is not a libdtconv that this package can use: {reason}; "
                          "set DTCONV_LIBRARY to the path of the library") from reason


class Runtime:
    """The library and a context of it, which lives as long as the process."""

    def __init__(self) -> None:
        self.lib = load()
        self.context = ctypes.c_void_p()
        status = self.lib.dtconv_context_create(None, ctypes.byref(self.context))
        if status:
            raise errors.of_status(status, "the context could not be created: "
                                   + self.lib.dtconv_strerror(status).decode())

    def failure(self, status: int) -> errors.Error:
        """The exception for a call of this thread that has just failed."""
        sentence = ctypes.create_string_buffer(1024)
        length = self.lib.dtconv_context_error(self.context, sentence, len(sentence))
        text = sentence.value if length and status != _structs.Status.ERR_AGAIN else self.lib.dtconv_strerror(status)
        return errors.of_status(status, text.decode("utf-8", "replace"))

    def check(self, status: int) -> None:
        """Raise the exception for a status that is not 0."""
        if status:
            raise self.failure(status)


_lock = threading.Lock()
_runtime: Optional[Runtime] = None


def runtime() -> Runtime:
    """The process's runtime, loaded on first use."""
    global _runtime
    if _runtime is None:
        with _lock:
            if _runtime is None:
                _runtime = Runtime()
    return _runtime


def text_of(run: Runtime, function: Callable[..., int], *arguments: Any) -> str:
    """What a function writes that takes (..., text, capacity, length)."""
    length = ctypes.c_size_t()
    text = ctypes.create_string_buffer(512)
    status = function(*arguments, text, len(text), ctypes.byref(length))
    while status == _structs.Status.ERR_TRUNCATE:
        text = ctypes.create_string_buffer(length.value + 1)
        status = function(*arguments, text, len(text), ctypes.byref(length))
    run.check(status)
    return text.value.decode()
