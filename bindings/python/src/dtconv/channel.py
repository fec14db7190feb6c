# SPDX-License-Identifier: BSD-3-Clause
"""Channels: messages from any array to any array with the same elements, to another process of the machine."""
from __future__ import annotations

import atexit
import ctypes
import socket
import weakref
from typing import Any, Optional

from . import _engine, errors
from ._library import runtime
from ._networks import transport_of
from ._sides import Side, side_of
from ._structs import ChannelState, Constant, Memory, Status, channel_attr, channel_params
from .layouts import memory_kind


class Message:
    """A send or a receive under way; ``Channel.start_send`` and ``start_recv`` make them.

    The array is kept alive until the message has ended.
    """

    __slots__ = ("__weakref__", "_channel", "_operation", "_what")

    def __init__(self, channel: Channel, operation: _engine.Operation, what: str) -> None:
        self._channel, self._operation, self._what = channel, operation, what

    def test(self) -> bool:
        """Make progress, and tell whether the message has ended. Never blocks. Raises its error if it has failed."""
        if self._is_pending():
            self._channel._engine.progress()
        return not self._is_pending() and self._result() >= 0

    def wait(self, timeout: Optional[float] = None) -> int:
        """Make progress until the message has ended, and return the number of bytes. Raises its error if it has failed,
        and TimedOutError after ``timeout`` seconds: the message is then still under way."""
        self._channel._engine.wait_until(lambda: not self._is_pending(), timeout, self._what)
        return self._result()

    def _is_pending(self) -> bool:
        return self._operation.status == Status.INPROGRESS

    def _result(self) -> int:
        status = self._operation.status
        if status < 0:
            text = runtime().lib.dtconv_strerror(status).decode()
            raise errors.of_status(status, f"{self._what}: {text}")
        return self._operation.moved


_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    """Close what is open while the interpreter still works."""
    for channel in list(_channels):
        channel.close()


class Channel:
    """A connection to another process: of the machine through shared memory, or over a network.

    A message has a tag. A receive takes the oldest message with its tag, and a message the oldest receive. Its basic
    types must be those with which the receive's elements begin; a receive may have room for more. A send has ended when
    the other process has unpacked it. Progress is made by calls that wait or test, in any thread; several may wait at
    once. Work of CUDA streams on the arrays must be complete before a message is started.

    Options of ``connect``, ``listen``, ``pair`` and ``from_socket``: ``kind`` of the staging memory (``"pinned"``:
    registered with the device driver where there is one; ``"host"``; ``"device"``: memory of the device, which the peer's
    device reads), ``device`` (its ordinal, -1: the current one),
    ``fragment_bytes`` and ``fragments`` of the staging memory (0: the library's defaults), and ``any_user``: whether the
    other process may be another user's. ``direct``: if both ends have it, the receiver copies messages between device
    arrays from the sender's memory with one kernel where it can; the other process can then read and write every
    allocation that a message was sent from. ``network``: ``"ucx"`` or ``"verbs"``, whose library of libdtconv has to be
    installed; None: shared memory. Both ends name the same. ``secret``: at least 16 bytes that only the two processes
    know; addresses ``tcp:ADDRESS:PORT`` need one.
    """

    def __init__(self, engine: _engine.Engine, handle: int) -> None:
        """Take over a channel. Not for users: call ``connect``, ``listen``, ``pair`` or ``from_socket``."""
        self._engine, self._lib = engine, runtime().lib
        self._handle: Optional[int] = handle
        engine.join()
        _channels.add(self)

    @staticmethod
    def connect(address: str, **options: Any) -> Channel:
        """Connect to a process that listens at an address. Raises PeerError if there is none."""
        run, engine, handle = runtime(), _engine.Engine(), ctypes.c_void_p()
        run.check(run.lib.dtconv_channel_connect(engine.handle, address.encode(), ctypes.byref(parameters(**options)),
                                                 ctypes.byref(handle)))
        return Channel(engine, handle.value or 0)

    @staticmethod
    def listen(address: str, **options: Any) -> Listener:
        """Listen at a path, which is created, at ``@`` and a name that is in no file system, or, over a network, at
        ``tcp:ADDRESS:PORT``."""
        return Listener(address, **options)

    @staticmethod
    def pair(**options: Any) -> tuple[Channel, Channel]:
        """Two channels of this process that are connected with each other: for tests, and between threads."""
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return Channel.from_socket(ends[0], **options), Channel.from_socket(ends[1], **options)

    @staticmethod
    def from_socket(connected: socket.socket, **options: Any) -> Channel:
        """A channel over a connected Unix socket of type SOCK_SEQPACKET, which it takes over. The other end must do the
        same."""
        run, engine, handle = runtime(), _engine.Engine(), ctypes.c_void_p()
        run.check(run.lib.dtconv_channel_open(engine.handle, connected.fileno(), ctypes.byref(parameters(**options)),
                                              ctypes.byref(handle)))
        connected.detach()
        return Channel(engine, handle.value or 0)

    def send(self, x: Any, tag: int = 0, *, layout: Any = None, count: int = 1, timeout: Optional[float] = None) -> int:
        """Send an array, and wait until the other process has unpacked it. Arguments as for ``dtconv.pack``."""
        return self.start_send(x, tag, layout=layout, count=count).wait(timeout)

    def recv(self, into: Any, tag: int = 0, *, layout: Any = None, count: int = 1, timeout: Optional[float] = None) -> int:
        """Receive into an array, and return the number of bytes. Arguments as for ``dtconv.unpack``."""
        return self.start_recv(into, tag, layout=layout, count=count).wait(timeout)

    def start_send(self, x: Any, tag: int = 0, *, layout: Any = None, count: int = 1) -> Message:
        """Start to send."""
        return self._start("send", side_of(x, layout, count), tag)

    def start_recv(self, into: Any, tag: int = 0, *, layout: Any = None, count: int = 1) -> Message:
        """Start to receive."""
        return self._start("recv", side_of(into, layout, count, written="into"), tag)

    def _start(self, name: str, side: Side, tag: int) -> Message:
        run, operation = runtime(), _engine.Operation((side, self._engine))
        status = getattr(run.lib, f"dtconv_channel_{name}")(
            self._open(), tag, side.layout._handle, side.instances, side.view.address, _engine.DONE, operation.number)
        if status:
            operation.forget()
            raise run.failure(status)
        return Message(self, operation, f"the {name} of {side.size} bytes with tag {tag}")

    def _open(self) -> int:
        if self._handle is None:
            raise errors.StateError("the channel is closed")
        return self._handle

    def _query(self) -> channel_attr:
        run, attr = runtime(), channel_attr()
        run.check(run.lib.dtconv_channel_query(self._open(), ctypes.byref(attr)))
        return attr

    @property
    def state(self) -> str:
        """``"connecting"``, ``"open"`` or ``"ended"``."""
        self._engine.progress()
        return ChannelState(self._query().state).name.lower()

    @property
    def peer_process(self) -> int:
        """ID of the process that connected, listened, or made the socket pair."""
        return int(self._query().peer_process)

    @property
    def direct(self) -> tuple[int, int]:
        """How many messages were sent and received directly, without staging memory."""
        attr = self._query()
        return int(attr.sent_direct), int(attr.received_direct)

    def close(self) -> None:
        """End the channel: messages under way end with CanceledError, the other process's with PeerError."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        self._lib.dtconv_channel_close(handle)
        destroyed: list[int] = []
        try:
            self._engine.wait_until(lambda: self._destroyed(handle, destroyed), _engine.CLOSE_SECONDS,
                                    "the end of the channel")
        except errors.TimedOutError:
            # A device that does not end. Nothing that the library may still use is freed.
            _engine._leaked.append(self._engine)
        else:
            self._engine.leave()

    def _destroyed(self, handle: int, destroyed: list[int]) -> bool:
        """Destroy it unless that has been done or operations are not complete."""
        if not destroyed and self._lib.dtconv_channel_destroy(handle) == 0:
            destroyed.append(handle)
        return bool(destroyed)

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


class Listener:
    """Listens for processes that connect: ``Channel.listen`` makes it."""

    def __init__(self, address: str, **options: Any) -> None:
        run, handle = runtime(), ctypes.c_void_p()
        self._handle: Optional[int] = None
        self._engine, self._lib = _engine.Engine(), run.lib
        run.check(run.lib.dtconv_channel_listen(self._engine.handle, address.encode(),
                                                ctypes.byref(parameters(**options)), ctypes.byref(handle)))
        self._handle = handle.value
        self._engine.join()

    def accept(self, timeout: Optional[float] = None) -> Channel:
        """Wait for a process that connects. Raises TimedOutError after ``timeout`` seconds."""
        found: list[int] = []
        self._engine.wait_until(lambda: self._accepted(found), timeout, "an accept")
        return Channel(self._engine, found[0])

    def _accepted(self, found: list[int]) -> bool:
        if found:
            return True
        if self._handle is None:
            raise errors.StateError("the listener is closed")
        run, handle = runtime(), ctypes.c_void_p()
        status = self._lib.dtconv_channel_accept(self._handle, ctypes.byref(handle))
        if status == Status.ERR_AGAIN:
            return False
        run.check(status)
        found.append(handle.value or 0)
        return True

    def close(self) -> None:
        """Stop listening. Channels that were accepted stay."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._lib.dtconv_listener_destroy(handle)
            self._engine.leave()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


def parameters(kind: str = "pinned", device: int = -1, fragment_bytes: int = 0, fragments: int = 0,
               any_user: bool = False, direct: bool = False, network: Optional[str] = None,
               secret: bytes = b"") -> channel_params:
    """Options of a channel, as the library takes them."""
    chosen_kind = memory_kind(kind)
    if chosen_kind not in (Memory.PINNED, Memory.HOST, Memory.DEVICE):
        raise errors.InvalidError(f"staging memory of kind {kind!r}; it is pinned, host or device")
    flags = (Constant.CHANNEL_ANY_USER if any_user else 0) | (Constant.CHANNEL_DIRECT if direct else 0)
    return channel_params(kind=chosen_kind, device=device, fragment_bytes=fragment_bytes, fragments=fragments,
                          flags=flags, transport=transport_of(network),
                          secret=ctypes.cast(ctypes.c_char_p(secret), ctypes.c_void_p), secret_bytes=len(secret))
