# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions: one class for each status of the library, all derived from :class:`Error`."""
from __future__ import annotations

from ._structs import Status


class Error(Exception):
    """A call of libdtconv failed. The text is the library's sentence; ``status`` is its code."""

    status: Status = Status.ERR_INVAL


class InvalidError(Error, ValueError):
    """An argument has an invalid value."""


class NoMemoryError(Error, MemoryError):
    """There is no memory."""

    status = Status.ERR_NOMEM


class RangeError(Error, OverflowError):
    """A size, bound or displacement exceeds its type."""

    status = Status.ERR_OVERFLOW


class UnsupportedError(Error, NotImplementedError):
    """This build, machine or device does not support the call."""

    status = Status.ERR_UNSUPPORTED


class TruncateError(Error, ValueError):
    """The data is longer than the room given."""

    status = Status.ERR_TRUNCATE


class SignatureError(Error, TypeError):
    """Two type signatures do not match."""

    status = Status.ERR_SIGNATURE


class StateError(Error, RuntimeError):
    """The object is not in a state that allows the call."""

    status = Status.ERR_STATE


class BackendError(Error, RuntimeError):
    """A device or its driver refused a call, or its context was lost."""

    status = Status.ERR_BACKEND


class CanceledError(Error):
    """The operation was canceled."""

    status = Status.ERR_CANCELED


class AgainError(Error, BlockingIOError):
    """There is no resource now; the same call may succeed later."""

    status = Status.ERR_AGAIN


class TimedOutError(Error, TimeoutError):
    """A time limit expired."""

    status = Status.ERR_TIMEOUT


class PeerError(Error, ConnectionError):
    """The other process failed or left."""

    status = Status.ERR_PEER


class FormatError(Error, ValueError):
    """A text or a byte stream could not be parsed."""

    status = Status.ERR_FORMAT


class LimitError(Error):
    """A documented limit of the library was exceeded."""

    status = Status.ERR_LIMIT


CLASSES: dict[int, type[Error]] = {
    kind.status: kind
    for kind in (InvalidError, NoMemoryError, RangeError, UnsupportedError, TruncateError, SignatureError, StateError,
                 BackendError, CanceledError, AgainError, TimedOutError, PeerError, FormatError, LimitError)}


def of_status(status: int, sentence: str) -> Error:
    """The exception for a status."""
    return CLASSES.get(status, Error)(sentence)
