# SPDX-License-Identifier: BSD-3-Clause
"""One of the two processes: its memory, its view of the other's, its agent of NIXL, and its lists of pages."""
from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple

import numpy as np

import dtconv
import dtconv.nixl

from . import shapes
from .cuda import torch_of
from .link import Failure, Link
from .shapes import RECEIVER, Shape

NAMES = ("sender", "receiver")
NEVER_BY_LIST = 1 << 62
"""A bounce layer with this ``list_from`` always goes through staging memory."""
CHANNEL_FRAGMENT_BYTES = 4 << 20
"""Of staging memory on a device, where each fragment costs two launches."""
COPY_LIMIT_SECONDS = 0.2
"""How long a wait of the bounce layer takes before it looks whether the other process has given up."""


class Message(NamedTuple):
    """One message: its shape, its two tables, and a number that no other message has."""

    shape: Shape
    tables: tuple[np.ndarray, np.ndarray]
    number: int

    @staticmethod
    def of(shape: Shape, number: int) -> Message:
        """A message with tables of its own."""
        return Message(shape, shapes.tables(shape, number), number)


def new_agent(name: str) -> Any:
    """An agent of NIXL over UCX."""
    from nixl._api import nixl_agent, nixl_agent_config

    return nixl_agent(name, nixl_agent_config(backends=["UCX"]))


class End:
    """One process."""

    def __init__(self, role: int, link: Link, memory: Any, make_agent: Callable[[str], Any] = new_agent,
                 fragment_bytes: int = 1 << 20, fragments: int = 8) -> None:
        self.role, self.link, self.memory = role, link, memory
        self.name, self.other = NAMES[role], NAMES[1 - role]
        self.missing: dict[str, str] = {}
        """Why ways that need something cannot be measured."""
        self.peer: Any = None
        """The receiver's memory, as the sender has mapped it."""
        self.agent: Any = None
        self._pages: dict[tuple[Any, ...], dtconv.Pages] = {}
        self._map_memory()
        self._open_channel()
        self._connect(make_agent, fragment_bytes, fragments)
        self._look_around()

    # ---- what ways need --------------------------------------------------------------------

    def _map_memory(self) -> None:
        """The receiver lets the sender map its memory."""
        self.link.tell(address=self.memory.address, device=self.memory.device or 0)
        about = self.link.hear()
        self.there, self.there_device = about["address"], about["device"]
        if self.role == RECEIVER:
            try:
                self.memory.offer(self.link)
            except (Failure, dtconv.Error) as reason:
                self.link.tell(error=str(reason))
            return
        try:
            self.peer = self.memory.map_peer_memory(self.link, self.memory.pool_bytes,
                                                    self.memory.size - self.memory.pool_bytes)
        except (Failure, dtconv.Error) as reason:
            self.missing["peer"] = f"the receiver's memory cannot be mapped: {reason}"

    def _open_channel(self) -> None:
        """A channel of libdtconv through shared memory, with staging memory where the caches are."""
        on_device = self.memory.device is not None
        options = {"kind": self.memory.kind, "device": self.memory.device or 0,
                   "fragment_bytes": CHANNEL_FRAGMENT_BYTES if on_device else 0}
        address, why, listener = f"@dtconv-kv-{os.getpid()}", "", None
        try:
            if self.role == RECEIVER:
                listener = dtconv.Channel.listen(address, **options)
                self.link.tell(channel=address)
            else:
                self.channel = dtconv.Channel.connect(self.link.hear()["channel"], **options)
                self.link.tell(why="")
            if listener is not None:
                why = self.link.hear()["why"]
                self.channel = None if why else listener.accept(self.link.limit)
                listener.close()
        except (Failure, dtconv.Error) as reason:
            why = str(reason)
            self.link.tell(**({"error": why} if self.role == RECEIVER else {"why": why}))
        if why:
            self.missing["channel"] = f"there is no channel: {why}"

    def _connect(self, make_agent: Callable[[str], Any], fragment_bytes: int, fragments: int) -> None:
        """Make agents that know each other, or learn why there are none."""
        metadata, why = "", ""
        try:
            metadata = self._open_agent(make_agent, fragment_bytes, fragments).hex()
        except ImportError as reason:
            why = f"NIXL is missing: {reason}"
        except Exception as reason:  # NIXL's exceptions have no class in common
            why = f"NIXL cannot be used by the {self.name}: {reason}"
        self.link.tell(metadata=metadata, why=why)
        about = self.link.hear()
        if not why and not about["why"]:
            try:
                self.agent.add_remote_agent(bytes.fromhex(about["metadata"]))
                self.bounce.connect(self.other)
            except Exception as reason:
                why = f"the agents of NIXL cannot be connected: {reason}"
        why = why or about["why"]
        self.link.tell(why=why)
        answer = self.link.hear()["why"]
        if why or answer:
            self.missing["nixl"] = why or answer
            # Its threads would take time from the other ways.
            self.agent = None

    def _open_agent(self, make_agent: Callable[[str], Any], fragment_bytes: int, fragments: int) -> bytes:
        """Make an agent that has registered the memory, and the bounce layer. Returns what the other process needs."""
        memory = self.memory
        self.agent = make_agent(self.name)
        self.agent.register_memory([(memory.address, memory.size, memory.device or 0, "")], memory.nixl_kind)
        self.bounce = dtconv.nixl.Bounce(self.agent, list_from=NEVER_BY_LIST, fragment_bytes=fragment_bytes,
                                         fragments=fragments, kind=memory.kind, device=memory.device or 0)
        metadata: bytes = self.agent.get_agent_metadata()
        return metadata

    def _look_around(self) -> None:
        """What else ways need."""
        driver = self.memory.driver
        try:
            self.torch = torch_of(driver)
        except Failure as reason:
            self.missing["torch"] = str(reason)
        if driver is None:
            self.missing["batch"] = "cuMemcpyBatchAsync copies between devices only"
        elif not driver.has("cuMemcpyBatchAsync"):
            self.missing["batch"] = "this driver has no cuMemcpyBatchAsync"

    # ---- what ways do ----------------------------------------------------------------------

    def pages(self, memory: Any, shape: Shape, index: int, end: int) -> dtconv.Pages:
        """One cache as lists of pages. A program makes this once for each cache, so it is kept."""
        key = (id(memory), shape.name, index, end)
        if key not in self._pages:
            self._pages[key] = dtconv.Pages(memory.pool_view(shape, index, end), page_axis=2, layer_axis=0, part_axis=1)
        return self._pages[key]

    def nixl_write(self, here: np.ndarray, there: np.ndarray, message: Message) -> None:
        """One request of NIXL's with a notification, until it is done. Rows are offsets and lengths in both pools."""
        kind = self.memory.nixl_kind
        local = self.agent.get_xfer_descs(descriptors(here, self.memory.address, self.memory.device or 0), kind)
        remote = self.agent.get_xfer_descs(descriptors(there, self.there, self.there_device), kind)
        handle = self.agent.initialize_xfer("WRITE", local, remote, self.other, note_of(message))
        states = [self.agent.transfer(handle)]

        def is_done() -> bool:
            if states[0] == "PROC":
                states[0] = self.agent.check_xfer_state(handle)
            return bool(states[0] != "PROC")

        self.link.wait_until(is_done, "a write of NIXL's")
        self.agent.release_xfer_handle(handle)
        if states[0] != "DONE":
            raise Failure("a write of NIXL's has failed")

    def await_nixl(self, message: Message) -> None:
        """Wait for the notification of ``nixl_write``."""
        note = note_of(message)
        self.link.wait_until(lambda: bool(self.agent.check_remote_xfer_done(self.other, note)), "a notification of NIXL's")

    def finish(self, under_way: list[Any]) -> None:
        """Wait for messages of the bounce layer; if the other process gives up, cancel them."""
        try:
            for message in under_way:
                self.link.wait_until(lambda: waited(message), "a message of dtconv.nixl")
        except Failure:
            for message in under_way:
                message.cancel()
            raise

    def finish_channel(self, under_way: list[Any]) -> None:
        """Wait for messages of the channel."""
        for message in under_way:
            self.link.wait_until(lambda: waited(message), "a message of the channel")

    def close(self) -> None:
        """Give memory back that others have."""
        if "channel" not in self.missing:
            self.channel.close()
        if self.agent is not None and "nixl" not in self.missing:
            self.bounce.close()


def waited(message: Any) -> bool:
    """Wait for a message of the bounce layer, but not long."""
    try:
        message.wait(COPY_LIMIT_SECONDS)
    except dtconv.TimedOutError:
        return False
    return True


def note_of(message: Message) -> bytes:
    """The notification of a message, which is the beginning of no other."""
    return b"kv%016d" % message.number


def descriptors(rows: np.ndarray, base: int, device: int) -> np.ndarray:
    """Offsets and lengths as NIXL takes them."""
    made = np.empty((len(rows), 3), np.uint64)
    made[:, 0] = rows[:, 0].astype(np.uint64) + np.uint64(base)
    made[:, 1], made[:, 2] = rows[:, 1], device
    return made


def piece_rows(message: Message, end: int) -> np.ndarray:
    """Offsets and lengths of all pieces of a message in one pool."""
    lists = []
    for index, cache in enumerate(message.shape.caches):
        places = shapes.pieces(message.shape, index, end, message.tables[end])
        lists.append(np.stack((places, np.full(len(places), shapes.piece_bytes(cache))), axis=1))
    return np.concatenate(lists)


def layout_of(message: Message, index: int, end: int) -> Any:
    """The layout of one cache's part of a message, from the beginning of the pool."""
    places = shapes.pieces(message.shape, index, end, message.tables[end])
    return dtconv.hindexed_block(shapes.piece_bytes(message.shape.caches[index]), places, "byte")


