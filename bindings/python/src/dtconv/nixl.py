# SPDX-License-Identifier: BSD-3-Clause
"""A bounce layer for NIXL: messages between arrays of any layout, over an unmodified ``nixl_agent``.

A descriptor list costs NIXL microseconds for each piece. Here the sender packs into staging memory that the agent has
registered, one write with a notification takes a whole fragment to the receiver's, and the receiver unpacks it. This
module does not import NIXL: it takes the agent.
"""
from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Callable, NamedTuple, Optional, Union

import numpy as np

from . import errors
from ._nixl_peer import HELLO, MAGIC, MEMORIES, Peer, Piece, Runs, Write, cut
from ._views import view_of
from .constructors import contiguous
from .fragments import Packer, Unpacker
from .pool import Pool

SPIN_SECONDS, SLEEP_SECONDS = 1e-3, 1e-4
"""How long a wait polls after something has happened, and how long it sleeps then."""
FRAGMENT_ALIGNMENT = 256
"""Fragments of a pool begin at multiples of this."""
CLOSE_SECONDS = 5.0
"""How long ``close`` waits for writes under way."""
RUNS_MOST = 4096
"""Longer lists of runs are not sent to a peer."""


_open: set[Bounce] = set()
"""Objects whose memory NIXL has: it stays where it is until they are closed."""


class Own(NamedTuple):
    """An array of the user's that the agent has registered."""

    first: int
    end: int
    memory: int
    device: int
    registered: Any
    keep: Any


class Message:
    """A send or a receive. A send has ended when the other process has unpacked it."""

    def __init__(self, bounce: Bounce, peer: Peer, tag: int, position: Union[Packer, Unpacker], keep: Any) -> None:
        """Not for users: call ``Bounce.start_send()`` or ``start_recv()``."""
        self._bounce, self._peer, self._tag, self._keep = bounce, peer, tag, keep
        self._position: Union[Packer, Unpacker, None] = position
        self._number = -1
        self._moved, self._size = 0, position.size
        side = position._side
        whole = side.layout if side.instances == 1 else contiguous(side.instances, side.layout)
        self._signature = int(whole._attr.signature_hash)
        self._failure: Optional[errors.Error] = None
        self._is_done = False

    def test(self) -> bool:
        """Make progress, and return whether the message has ended. Raises the error with which it has."""
        self._bounce.progress()
        return self._has_ended()

    def _has_ended(self) -> bool:
        if self._failure is not None:
            raise self._failure
        return self._is_done

    def wait(self, timeout: Optional[float] = None) -> int:
        """Wait until the message has ended, and return its bytes. Raises TimedOutError after ``timeout`` seconds; the
        message goes on then, unless it is canceled."""
        self._bounce._wait_until(self._has_ended, timeout, f"a message with tag {self._tag}")
        return self._moved

    def cancel(self) -> None:
        """End the message with CanceledError at both ends, unless it has ended. Writes under way go on."""
        with self._bounce._lock:
            if not self._is_done and self._failure is None:
                self._peer.give_up(self, errors.CanceledError("the message was canceled"))

    def _end(self, failure: Optional[errors.Error] = None) -> None:
        """The message takes no more part. Its array is not kept alive any longer."""
        self._failure, self._is_done = failure, failure is None
        self._position = self._keep = None


class Bounce:
    """Messages between arrays over a ``nixl_agent``.

    agent: the agent. Its notifications of this module are taken from ``agent.update_notifs()``; yours stay there, so use
       that or ``check_remote_xfer_done()``, not ``get_new_notifs()``.
    peers: the most agents that are connected with.
    fragment_bytes, fragments: size of a fragment, and their number: to send with, and to receive with from each peer.
    list_from: least mean length of the runs of a message, in bytes, for which registered arrays go by a list of
       descriptors, without staging memory.
    kind, device: of the staging memory: ``"host"``, ``"pinned"`` (registered with the device driver), or ``"device"``,
       memory of the device with this ordinal.

    Close it, or use it with ``with``: until then its memory stays registered. Create it before the agents exchange their metadata, which names the memory that it registers. Then call ``connect``
    on both sides, in any order. A message has a tag; a receive takes the oldest message with its tag, and a message the
    oldest receive. The basic types of both ends have to be the same, which is checked where the lengths are equal. Calls
    that wait or test make progress, in any thread; nothing moves without them.
    """

    def __init__(self, agent: Any, *, peers: int = 1, fragment_bytes: int = 1 << 20, fragments: int = 8,
                 list_from: int = 1 << 14, kind: str = "host", device: int = 0) -> None:
        self.agent, self.fragment_bytes, self.list_from = agent, fragment_bytes, list_from
        self._own: list[Own] = []
        self.device = device if kind == "device" else None
        self.orphans: list[Write] = []
        """Writes to peers that have failed."""
        self._lock = threading.RLock()
        self._peers: dict[str, Peer] = {}
        total = fragments * (peers + 1)
        slab = -(-fragment_bytes // FRAGMENT_ALIGNMENT) * FRAGMENT_ALIGNMENT * total
        self._pool = Pool(kind, device=device if kind == "device" else -1, fragment_bytes=fragment_bytes,
                          slab_bytes=slab, start_bytes=slab)
        self._fragments = [self._pool.get() for _ in range(total)]
        self.staging = self._fragments[:fragments]
        self._landings = [self._fragments[first:first + fragments] for first in range(fragments, total, fragments)]
        places = [(*self._place(fragment._attr.address, fragment_bytes), "") for fragment in self._fragments]
        self._registered = [agent.register_memory(places, self._memory)]
        _open.add(self)

    @property
    def _memory(self) -> str:
        """The name that NIXL has for the kind of the staging memory."""
        return MEMORIES[self.device is not None]

    def _place(self, address: int, size: int) -> tuple[int, int, int]:
        """A piece of memory as NIXL describes it."""
        return address, size, self.device or 0

    def register(self, x: Any) -> None:
        """Register an array with the agent, which keeps it alive until ``close``: long runs of messages then go from it, or
        to it, without staging memory. Do it before the agents exchange their metadata. A receive into it that is canceled
        may still be written to until both ends have closed."""
        view = view_of(x)
        first, end = (view.address + byte for byte in view.span())
        memory, device = int(view.device is not None), max(view.device or 0, 0)
        with self._lock:
            registered = self.agent.register_memory([(first, end - first, device, "")], MEMORIES[memory])
            self._own.append(Own(first, end, memory, device, registered, view))

    def connect(self, peer: str) -> None:
        """Open the way from an agent, whose metadata ours must have, else it raises PeerError. Does not wait for the other
        side."""
        with self._lock:
            if peer in self._peers:
                raise errors.StateError(f"{peer} is connected already")
            if not self._landings:
                raise errors.StateError("there are as many peers as this object was made for")
            ours = Peer(self, peer, self._landings.pop())
            addresses = [fragment._attr.address for fragment in ours.landings]
            self._guarded(ours, ours.notify, HELLO, MEMORIES.index(self._memory), self.device or 0,
                          self.fragment_bytes, *addresses)
            if ours.failure is not None:
                self._landings.append(ours.landings)
                raise ours.failure
            self._peers[peer] = ours

    def send(self, peer: str, x: Any, tag: int = 0, *, layout: Any = None, count: int = 1,
             timeout: Optional[float] = None) -> int:
        """Send an array, and wait until the other process has unpacked it. Arguments as for ``dtconv.pack``."""
        return self.start_send(peer, x, tag, layout=layout, count=count).wait(timeout)

    def recv(self, peer: str, into: Any, tag: int = 0, *, layout: Any = None, count: int = 1,
             timeout: Optional[float] = None) -> int:
        """Receive into an array, and return the number of bytes. Arguments as for ``dtconv.unpack``."""
        return self.start_recv(peer, into, tag, layout=layout, count=count).wait(timeout)

    def start_send(self, peer: str, x: Any, tag: int = 0, *, layout: Any = None, count: int = 1) -> Message:
        """Start to send."""
        ours = self._peer(peer, tag)
        message = Message(self, ours, tag, Packer(x, layout=layout, count=count), x)
        self._guarded(ours, ours.offer, message)
        return message

    def start_recv(self, peer: str, into: Any, tag: int = 0, *, layout: Any = None, count: int = 1) -> Message:
        """Start to receive."""
        ours = self._peer(peer, tag)
        message = Message(self, ours, tag, Unpacker(into, layout=layout, count=count), into)
        self._guarded(ours, ours.post, message)
        return message

    def _peer(self, name: str, tag: int) -> Peer:
        """A peer that has not failed, for a message with a tag."""
        if not 0 <= tag < 1 << 64:
            raise errors.InvalidError(f"tag is {tag}; it has to be a number of 64 bits without a sign")
        if name not in self._peers:
            raise errors.StateError(f"{name} is not connected")
        failure = self._peers[name].failure
        if failure is not None:
            raise failure
        return self._peers[name]

    def _guarded(self, peer: Peer, deed: Callable[..., Any], *arguments: Any) -> bool:
        """Do something with a peer. What NIXL refuses, and what breaks the protocol, ends all that is under way there."""
        with self._lock:
            try:
                return bool(deed(*arguments))
            except errors.Error as failure:
                peer.fail(failure)
            except Exception as reason:  # NIXL's exceptions have no class in common
                peer.fail(errors.PeerError(f"{peer.name}: {reason}"))
            return True

    def long_runs(self, message: Message) -> Optional[Runs]:
        """The runs of a message's array, if they are registered and long enough for a list of descriptors."""
        if message._position is None or not message._size:
            return None
        side = message._position._side
        count = side.layout._run_count(side.instances)
        if count > RUNS_MOST or side.size < self.list_from * count:
            return None
        rows = cut(side.layout.runs(side.instances) + np.array([side.view.address, 0]), message._size)
        first, end = int(rows[:, 0].min()), int(rows.sum(axis=1).max())
        for own in self._own:
            if own.first <= first and end <= own.end:
                return Runs(own.memory, own.device, rows)
        return None

    def write(self, peer: Peer, piece: Piece, address: int, note: bytes) -> Any:
        """Start a write of a fragment with a notification, and return its handle."""
        return self.write_list(peer.name, ([self._place(piece.fragment._attr.address, piece.size)], self._memory),
                               ([(address, piece.size, peer.device)], MEMORIES[peer.memory]), note)

    def write_list(self, peer: str, here: tuple[Any, str], there: tuple[Any, str], note: bytes) -> Any:
        """The same of any places, each with the kind of its memory."""
        local, remote = self.agent.get_xfer_descs(*here), self.agent.get_xfer_descs(*there)
        handle = self.agent.initialize_xfer("WRITE", local, remote, peer, note)
        if self.agent.transfer(handle) == "ERR":
            self.agent.release_xfer_handle(handle)
            raise errors.PeerError(f"a write to {peer} has failed")
        return handle

    def reap(self, writes: list[Write]) -> tuple[list[Write], bool]:
        """Take back the staging memory of writes that have ended. Returns the others, and whether one has failed."""
        under_way, failed = [], False
        for write in writes:
            state = self.agent.check_xfer_state(write.handle)
            if state == "PROC":
                under_way.append(write)
                continue
            failed |= state != "DONE"
            self.agent.release_xfer_handle(write.handle)
            if write.piece is not None:
                self.staging.append(write.piece.fragment)
        return under_way, failed

    def progress(self) -> bool:
        """Make what progress there is, without waiting. Returns whether anything happened."""
        with self._lock:
            happened = False
            self.orphans, _ = self.reap(self.orphans)
            for name, texts in self.agent.update_notifs().items():
                ours = [text for text in texts if text.startswith(MAGIC)]
                if ours and name in self._peers:
                    texts[:] = [text for text in texts if not text.startswith(MAGIC)]
                    self._hear(self._peers[name], ours)
                    happened = True
            for peer in self._peers.values():
                if peer.failure is None:
                    happened |= self._guarded(peer, peer.step)
                    self._guarded(peer, peer.ping)
            return happened

    def _hear(self, peer: Peer, texts: list[bytes]) -> None:
        """Handle notifications, until the peer fails."""
        for text in texts:
            if peer.failure is None:
                self._guarded(peer, peer.hear, text)

    def _wait_until(self, is_done: Callable[[], bool], timeout: Optional[float], what: str) -> None:
        """Make progress until something is done: at once after something has happened, soon after, then less often."""
        start = last = time.monotonic()
        while not is_done():
            now = time.monotonic()
            if timeout is not None and now - start > timeout:
                raise errors.TimedOutError(f"{what} was not done after {timeout} s")
            if self.progress():
                last = now
            elif now - last > SPIN_SECONDS:
                time.sleep(SLEEP_SECONDS)

    def _has_no_orphans(self) -> bool:
        return not self.orphans

    def close(self) -> None:
        """End all messages with CanceledError, wait some seconds for writes under way, and unregister all memory."""
        with self._lock:
            for peer in self._peers.values():
                if peer.failure is None:
                    self._guarded(peer, peer.give_up_all, errors.CanceledError("the bounce layer was closed"))
                    peer.fail(errors.StateError("the bounce layer is closed"))
            # If NIXL may still read the memory, it stays registered.
            with contextlib.suppress(errors.TimedOutError):
                self._wait_until(self._has_no_orphans, CLOSE_SECONDS, "a write")
                for registered in (*self._registered, *(own.registered for own in self._own)):
                    self.agent.deregister_memory(registered)
                self._registered, self._own = [], []
                _open.discard(self)

    def __enter__(self) -> Bounce:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
