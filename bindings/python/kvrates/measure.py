# SPDX-License-Identifier: BSD-3-Clause
"""What the two processes do: the receiver serves, the sender lets the ways take turns and takes the times."""
from __future__ import annotations

import statistics
import time
from typing import Any, Callable, NamedTuple

from . import memory, ways
from .end import End, Message
from .link import Failure, Lost
from .shapes import RECEIVER, SENDER, Shape, check_pages, check_run, shape_of

LEAST_MESSAGES = 3
"""Messages of each way that are timed, however long they take."""
Emit = Callable[..., None]


class Limits(NamedTuple):
    """How long a way may take for a row."""

    messages: int
    """Most messages that are timed."""
    seconds: float
    """When the messages of a way have taken this long together, the way is done with the row."""


def memory_sizes(wanted: list[Shape]) -> tuple[int, int]:
    """Bytes of the pool and of the staging memory that serve all shapes at both ends."""
    return (max(max(shape.pool_bytes(end), shape.size()) for shape in wanted for end in (SENDER, RECEIVER)),
            max(shape.size() for shape in wanted))


def sentence(reason: Exception) -> str:
    """An exception in one line."""
    text = " ".join(str(reason).split())
    return text if isinstance(reason, Failure) else f"{type(reason).__name__}: {text}"


# ---- the receiver ----------------------------------------------------------------------------

class Receiver:
    """Receives what the sender announces, until it says that it is done."""

    def __init__(self, end: End) -> None:
        self.end, self.ways = end, {way.name: way for way in ways.ways_of(end)}
        self.sent = memory.contents(end.memory.pool_bytes)

    def serve(self) -> None:
        """Handle the sender's commands."""
        self.end.link.tell(lacks={name: ways.lack(way) for name, way in self.ways.items()})
        while True:
            try:
                command = self.end.link.hear()
            except Lost:
                raise
            except Failure:
                # The sender has given up a message that has failed here too.
                continue
            if command["do"] == "end":
                self.end.link.tell(ended=True)
                return
            self._one(command)

    def _one(self, command: dict[str, Any]) -> None:
        """One message, and one answer."""
        way, message = self.ways[command["way"]], Message.of(shape_of(command["row"]), command["number"])
        try:
            if command["verify"]:
                self.end.memory.fill()
            self.end.link.tell(ready=True)
            way.receive(message)
            end = time.monotonic_ns()
            wrong = self._wrong(way, message) if command["verify"] else ""
        except Lost:
            raise
        except Exception as reason:
            self.end.link.tell(error=f"the receiver: {sentence(reason)}")
        else:
            self.end.link.tell(end=end, wrong=wrong)

    def _wrong(self, way: ways.Way, message: Message) -> str:
        """What is wrong in the pool after a message, or ""."""
        received = self.end.memory.read_pool(max(message.shape.pool_bytes(RECEIVER), message.shape.size()))
        if way.is_run:
            return check_run(message.shape, self.sent, received, memory.CANARY_WORD)
        return check_pages(message.shape, self.sent, received, message.tables, memory.CANARY_WORD)


# ---- the sender ------------------------------------------------------------------------------

class Sender:
    """Measures rows, and emits what it finds: one call for each row and way, with keywords."""

    def __init__(self, end: End, limits: Limits, emit: Emit, only: list[str]) -> None:
        self.end, self.limits, self.emit, self.numbers = end, limits, emit, 0
        end.memory.write_pool(memory.contents(end.memory.pool_bytes))
        lacks = end.link.hear()["lacks"]
        self.ways = []
        for way in ways.ways_of(end):
            why = ways.lack(way) or lacks[way.name]
            if only and way.name not in only:
                continue
            if why:
                emit(way=way.name, left_out=why)
            else:
                self.ways.append(way)

    def measure(self, row: str) -> None:
        """All ways of a row."""
        shape = shape_of(row)
        going = [way for way in self.ways if self._verify(way, shape)]
        times: dict[str, list[float]] = {way.name: [] for way in going}
        while True:
            due = [way for way in going if self._is_due(times[way.name])]
            if not due:
                break
            for way in due:
                taken = self._try(way, shape)
                if taken is None:
                    going.remove(way)
                else:
                    times[way.name].append(taken)
        for way in going:
            if self._verify(way, shape):
                self._emit(way, shape, times[way.name])

    def _is_due(self, times: list[float]) -> bool:
        """Whether a way has messages left."""
        return len(times) < self.limits.messages and (len(times) < LEAST_MESSAGES or sum(times) < self.limits.seconds)

    def _verify(self, way: ways.Way, shape: Shape) -> bool:
        """One message that is not timed but verified."""
        return self._try(way, shape, verify=True) is not None

    def _try(self, way: ways.Way, shape: Shape, verify: bool = False) -> Any:
        """Seconds of one message; None if it fails, and the way with it."""
        try:
            taken, wrong = self._one(way, shape, verify)
        except Lost:
            raise
        except Failure as reason:
            self.emit(row=shape.name, way=way.name, left_out=str(reason))
            return None
        if wrong:
            self.emit(row=shape.name, way=way.name, wrong=wrong)
            return None
        return taken

    def _one(self, way: ways.Way, shape: Shape, verify: bool) -> tuple[float, str]:
        """Seconds from the sender's call until the receiver has all, and what is wrong."""
        self.numbers += 1
        message, link = Message.of(shape, self.numbers), self.end.link
        link.tell(do="message", way=way.name, row=shape.name, number=message.number, verify=verify)
        link.hear()
        start = time.monotonic_ns()
        try:
            way.send(message)
        except Lost:
            raise
        except Exception as reason:
            self._give_up(sentence(reason))
        answer = link.hear()
        return (answer["end"] - start) / 1e9, answer["wrong"]

    def _give_up(self, why: str) -> None:
        """Tell the receiver, and wait until it has given up too."""
        self.end.link.tell(error=f"the sender: {why}")
        try:
            self.end.link.hear()
        except Lost:
            raise
        except Failure:
            pass
        raise Failure(why)

    def _emit(self, way: ways.Way, shape: Shape, times: list[float]) -> None:
        self.emit(row=shape.name, way=way.name, bytes=shape.size(), pieces=shape.pieces(), verified=2,
                  ms=[round(1e3 * seconds, 4) for seconds in times], median_ms=round(1e3 * statistics.median(times), 4),
                  GB_per_s=round(shape.size() / statistics.median(times) / 1e9, 3),
                  cut_short=len(times) < self.limits.messages)

    def end_all(self) -> None:
        """The receiver may end."""
        self.end.link.tell(do="end")
        self.end.link.hear()
