# SPDX-License-Identifier: BSD-3-Clause
"""What ``dtconv.nixl`` has under way with one agent, and the notifications that both ends exchange.

A sender offers a message. The receiver lets it go when a receive with the tag is posted. The sender writes fragments to
the receiver's landings, each with a notification, and the receiver gives the landings back: they are the credits. The
receiver says when it has unpacked all.

Where both arrays are registered and have long runs, the receiver lists its runs as it lets the message go, and the sender
writes all by one list of descriptors.
"""
from __future__ import annotations

import collections
import struct
import time
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

import numpy as np

from . import errors
from .fragments import Packer, Unpacker
from .pool import Fragment

if TYPE_CHECKING:
    from .nixl import Bounce, Message

MAGIC = b"dtconv1"
"""What the notifications of this module begin with."""
HELLO, OFFER, GO, DATA, WHOLE, CREDIT, DONE, FAILED = range(8)
HEAD = struct.Struct("<7sB")
NUMBERS = {OFFER: 4, DATA: 4, WHOLE: 1, DONE: 1, FAILED: 3}
"""How many numbers follow the head. HELLO, GO and CREDIT have any number."""
PING_SECONDS = 0.5
"""How long a peer may be silent while something is expected of it."""


def encode(kind: int, *numbers: int) -> bytes:
    """A notification."""
    return HEAD.pack(MAGIC, kind) + struct.pack(f"<{len(numbers)}Q", *numbers)


def decode(text: bytes) -> tuple[int, tuple[int, ...]]:
    """The kind and the numbers of a notification. Raises FormatError for what this module has not written."""
    kind = text[HEAD.size - 1] if len(text) >= HEAD.size else -1
    count, rest = divmod(len(text) - HEAD.size, 8)
    if not HELLO <= kind <= FAILED or rest or count != NUMBERS.get(kind, count):
        raise errors.FormatError("a notification of the peer is no message of dtconv.nixl")
    return kind, struct.unpack_from(f"<{count}Q", text, HEAD.size)


class Piece:
    """The beginning of a fragment, as an array of bytes."""

    def __init__(self, fragment: Fragment, size: int, device: Optional[int]) -> None:
        self.fragment, self.size = fragment, size
        interface = {"shape": (size,), "typestr": "|u1", "data": (fragment._attr.address, False), "version": 3}
        if device is None:
            self.__array_interface__ = interface
        else:
            self.__cuda_array_interface__ = {**interface, "stream": None}


class Write(NamedTuple):
    """A fragment on its way to a peer; without a piece, a whole message from its array."""

    handle: Any
    piece: Optional[Piece]


class Runs(NamedTuple):
    """Where an array that an agent has registered has the bytes of a message, in packed order."""

    memory: int
    """Index in MEMORIES."""
    device: int
    rows: np.ndarray[Any, Any]
    """Addresses and lengths."""


MEMORIES = ("DRAM", "VRAM")


def cut(runs: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """The runs of the first bytes of a stream."""
    ends = np.cumsum(runs[:, 1])
    kept = runs[:int(np.searchsorted(ends, size)) + 1].copy()
    kept[-1, 1] -= int(ends[len(kept) - 1]) - size
    return kept


def descriptors(addresses: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any], device: int) -> np.ndarray[Any, Any]:
    """Pieces of memory as NIXL takes them."""
    rows = np.empty((len(addresses), 3), np.uint64)
    rows[:, 0], rows[:, 1], rows[:, 2] = addresses, lengths, device
    return rows


def common_pieces(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """Two lists of runs of the same stream, cut where either one has an end: addresses of each, and lengths."""
    ends = [np.cumsum(runs[:, 1]) for runs in (ours, theirs)]
    cuts = np.union1d(*ends)
    starts = np.concatenate(([0], cuts[:-1]))
    addresses = []
    for runs, ends_of_runs in zip((ours, theirs), ends):
        index = np.searchsorted(ends_of_runs, starts, side="right")
        addresses.append(runs[index, 0] + starts - (ends_of_runs - runs[:, 1])[index])
    return addresses[0], addresses[1], cuts - starts


class Offer(NamedTuple):
    """A message that a peer wants to send."""

    number: int
    tag: int
    size: int
    signature: int
    """The hash of its basic types."""


class Peer:
    """What is under way with one agent: the landings that it writes to, and ours at its end."""

    def __init__(self, bounce: Bounce, name: str, landings: list[Fragment]) -> None:
        self.bounce, self.name, self.landings = bounce, name, landings
        self.failure: Optional[errors.Error] = None
        self.memory, self.device = 0, 0
        """Where the peer's landings are: index in MEMORIES, and ordinal of the device."""
        self.credits: collections.deque[tuple[int, int]] = collections.deque()
        """The landings at the peer that are free: number and address."""
        self.addresses: tuple[int, ...] = ()
        self.room = 0
        self.used: list[int] = []
        """Our landings that can be given back."""
        self.numbers = 0
        self.offered: dict[int, Message] = {}
        self.going: dict[int, Message] = {}
        self.receiving: dict[int, Message] = {}
        self.arrived: list[Offer] = []
        """Offers that no receive has taken, the oldest first."""
        self.posted: list[Message] = []
        """Receives that no offer has met, the oldest first."""
        self.writes: list[Write] = []
        self.heard = time.monotonic()

    # ---- what the user starts --------------------------------------------------------------

    def offer(self, message: Message) -> None:
        """Ask the peer for a receive."""
        message._number, self.numbers = self.numbers, self.numbers + 1
        self.offered[message._number] = message
        self.notify(OFFER, message._number, message._tag, message._size, message._signature)

    def post(self, message: Message) -> None:
        """Take the oldest offer with the tag, or wait for one."""
        offer = next((offer for offer in self.arrived if offer.tag == message._tag), None)
        if offer is None:
            self.posted.append(message)
        else:
            self.arrived.remove(offer)
            self.match(message, offer)

    def give_up(self, message: Message, failure: errors.Error) -> None:
        """End a message here, and tell the peer if it knows of it."""
        is_send = isinstance(message._position, Packer)
        if message in self.posted:
            self.posted.remove(message)
        for under_way in (self.offered, self.going, self.receiving):
            if under_way.get(message._number) is message:
                del under_way[message._number]
                self.notify(FAILED, message._number, -failure.status, int(is_send))
        message._end(failure)

    # ---- what the peer says ----------------------------------------------------------------

    def hear(self, text: bytes) -> None:
        """Handle a notification."""
        self.heard = time.monotonic()
        kind, numbers = decode(text)
        handlers: dict[int, Callable[..., None]] = {
            HELLO: self.on_hello, OFFER: self.on_offer, GO: self.on_go, DATA: self.on_data,
            WHOLE: self.on_whole, CREDIT: self.on_credit, DONE: self.on_done, FAILED: self.on_failed}
        handlers[kind](*numbers)

    def on_hello(self, *numbers: int) -> None:
        """The peer's landings. A hello without numbers asks whether this process is there."""
        if not numbers:
            return
        if self.addresses or len(numbers) < 4 or numbers[0] >= len(MEMORIES) or not numbers[2]:
            raise errors.FormatError("the peer describes landings that cannot be, or describes them twice")
        self.memory, self.device, self.addresses = numbers[0], numbers[1], numbers[3:]
        self.room = min(numbers[2], self.bounce.fragment_bytes)
        self.credits.extend(enumerate(self.addresses))

    def on_offer(self, *numbers: int) -> None:
        """A message that the peer wants to send."""
        offer = Offer(*numbers)
        message = next((message for message in self.posted if message._tag == offer.tag), None)
        if message is None:
            self.arrived.append(offer)
        else:
            self.posted.remove(message)
            self.match(message, offer)

    def match(self, message: Message, offer: Offer) -> None:
        """A receive meets an offer."""
        failure: Optional[errors.Error] = None
        if offer.size > message._size:
            failure = errors.TruncateError(f"a message of {offer.size} bytes has arrived for {message._size}")
        elif offer.size == message._size and offer.signature != message._signature:
            failure = errors.SignatureError("a message of other basic types has arrived")
        if failure is not None:
            self.notify(FAILED, offer.number, -failure.status, 0)
            message._end(failure)
            return
        message._number, message._size = offer.number, offer.size
        self.receiving[offer.number] = message
        runs = self.bounce.long_runs(message)
        if runs is None:
            self.notify(GO, offer.number)
        else:
            self.notify(GO, offer.number, runs.memory, runs.device, *runs.rows.ravel().tolist())
        self.end_if_whole(message)

    def on_go(self, *numbers: int) -> None:
        """The peer has a receive for an offer; perhaps it lists the runs of its array."""
        if not numbers:
            raise errors.FormatError("the peer lets a message go without a number")
        number, rows = numbers[0], np.array(numbers[3:], np.uint64).astype(np.int64)
        message = self.offered.pop(number, None)
        if message is None:
            return
        self.going[number] = message
        if len(rows):
            if len(rows) % 2 or numbers[1] >= len(MEMORIES) or (rows[1::2] <= 0).any() \
                    or rows[1::2].astype(object).sum() != message._size:
                raise errors.FormatError("the peer lists runs that are not those of the message")
            self.write_whole(message, Runs(numbers[1], numbers[2], rows.reshape(-1, 2)))

    def on_data(self, number: int, offset: int, size: int, landing: int) -> None:
        """A fragment has been written to a landing."""
        if landing >= len(self.landings) or size > self.bounce.fragment_bytes:
            raise errors.FormatError("the peer names a landing or a size that it does not have")
        message = self.receiving.get(number)
        if message is not None:
            self.unpack(message, offset, Piece(self.landings[landing], size, self.bounce.device))
        self.used.append(landing)

    def on_whole(self, number: int) -> None:
        """All of a message has been written to its array."""
        message = self.receiving.get(number)
        if message is not None:
            message._moved = message._size
            self.end_if_whole(message)

    def unpack(self, message: Message, offset: int, piece: Piece) -> None:
        """Store a fragment in the receive's array."""
        assert isinstance(message._position, Unpacker)
        try:
            if max(offset, message._moved) + piece.size > message._size:
                raise errors.FormatError("the peer has sent more than it has offered")
            message._position.seek(offset)
            message._position.write(piece)
        except errors.Error as failure:
            self.give_up(message, failure)
            return
        message._moved += piece.size
        self.end_if_whole(message)

    def end_if_whole(self, message: Message) -> None:
        """The receive ends with its last byte."""
        if message._moved == message._size:
            del self.receiving[message._number]
            self.notify(DONE, message._number)
            message._end()

    def on_credit(self, *landings: int) -> None:
        """Landings at the peer are free again."""
        for landing in landings:
            if landing >= len(self.addresses):
                raise errors.FormatError("the peer gives back a landing that it does not have")
            self.credits.append((landing, self.addresses[landing]))

    def on_done(self, number: int) -> None:
        """The peer has unpacked a message."""
        message = self.going.pop(number, None)
        if message is not None:
            message._end()

    def on_failed(self, number: int, status: int, by_sender: int) -> None:
        """The peer gives a message up, as its sender or as its receiver."""
        failure = errors.of_status(-status, "the other process has ended the message")
        lists = [self.receiving] if by_sender else [self.offered, self.going]
        for messages in lists:
            message = messages.pop(number, None)
            if message is not None:
                message._end(failure)
        if by_sender:
            self.arrived = [offer for offer in self.arrived if offer.number != number]

    # ---- progress --------------------------------------------------------------------------

    def step(self) -> bool:
        """End writes, start others, give landings back. Returns whether anything happened."""
        happened = self.end_writes()
        for message in list(self.going.values()):
            while message._moved < message._size and self.credits and self.bounce.staging:
                if not self.write_next(message):
                    break
                happened = True
        # A notification costs NIXL up to milliseconds. The other half is enough for the sender to go on.
        if 2 * len(self.used) >= len(self.landings):
            used, self.used = self.used, []
            self.notify(CREDIT, *used)
            happened = True
        return happened

    def end_writes(self) -> bool:
        """Take back the staging memory of writes that are done."""
        before = len(self.writes)
        self.writes, failed = self.bounce.reap(self.writes)
        if failed:
            raise errors.PeerError(f"a write to {self.name} has failed")
        return len(self.writes) != before

    def write_whole(self, message: Message, theirs: Runs) -> None:
        """Write a message by one list of descriptors, if its array has long runs too."""
        ours = self.bounce.long_runs(message)
        if ours is None:
            return
        local, remote, lengths = common_pieces(ours.rows, theirs.rows)
        handle = self.bounce.write_list(
            self.name, (descriptors(local, lengths, ours.device), MEMORIES[ours.memory]),
            (descriptors(remote, lengths, theirs.device), MEMORIES[theirs.memory]), encode(WHOLE, message._number))
        message._moved = message._size
        self.writes.append(Write(handle, None))

    def write_next(self, message: Message) -> bool:
        """Pack a fragment and send it on its way; false if packing fails, which ends the message."""
        assert isinstance(message._position, Packer)
        size = min(self.room, message._size - message._moved)
        piece = Piece(self.bounce.staging[-1], size, self.bounce.device)
        try:
            message._position.readinto(piece)
        except errors.Error as failure:
            self.give_up(message, failure)
            return False
        landing, address = self.credits.popleft()
        note = encode(DATA, message._number, message._moved, size, landing)
        self.writes.append(Write(self.bounce.write(self, piece, address, note), piece))
        self.bounce.staging.pop()
        message._moved += size
        return True

    def notify(self, kind: int, *numbers: int) -> None:
        """Send a notification without data."""
        if self.failure is None:
            self.bounce.agent.send_notif(self.name, encode(kind, *numbers))

    def ping(self) -> None:
        """Ask whether a peer that has been silent is still there: NIXL tells only who sends."""
        if time.monotonic() - self.heard > PING_SECONDS and self.under_way():
            self.heard = time.monotonic()
            self.notify(HELLO)

    def under_way(self) -> list[Message]:
        """All messages with this peer."""
        return [*self.offered.values(), *self.going.values(), *self.receiving.values(), *self.posted]

    def give_up_all(self, failure: errors.Error) -> None:
        """End all messages here, and tell the peer."""
        for message in self.under_way():
            self.give_up(message, failure)

    def fail(self, failure: errors.Error) -> None:
        """Everything with this peer ends. Writes under way still have their staging memory."""
        self.failure = failure
        for message in self.under_way():
            message._end(failure)
        for messages in (self.offered, self.going, self.receiving):
            messages.clear()
        self.posted, self.arrived = [], []
        self.bounce.orphans += self.writes
        self.writes = []
