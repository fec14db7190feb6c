# SPDX-License-Identifier: BSD-3-Clause
"""The ways that are measured. Each begins with the sender's arrays and tables of page numbers in the host's memory, and
ends when the receiver has been notified and has every byte in its place."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import shapes
from .end import End, Message, layout_of, piece_rows
from .shapes import RECEIVER, SENDER


class Way:
    """A way from one process to the other."""

    name = ""
    needs: tuple[str, ...] = ()
    about = ""
    is_run = False
    """Whether it moves as many bytes from the beginning of the one pool to that of the other: a ceiling."""

    def __init__(self, end: End) -> None:
        self.end, self.memory = end, end.memory

    def send(self, message: Message) -> None:
        """What the sender does."""
        raise NotImplementedError

    def receive(self, message: Message) -> None:
        """What the receiver does."""
        self.end.link.await_note()


def copy_direct(end: End, message: Message) -> None:
    """Copy from the sender's pages into the receiver's, which are mapped here, and wait."""
    for index in range(len(message.shape.caches)):
        source = end.pages(end.memory, message.shape, index, SENDER)
        target = end.pages(end.peer, message.shape, index, RECEIVER)
        source.copy_to(target, message.tables[SENDER], message.tables[RECEIVER])


class Direct(Way):
    name, needs, about = "direct", ("peer",), "dtconv.Pages from the sender's pool into the receiver's, mapped here"

    def send(self, message: Message) -> None:
        copy_direct(self.end, message)
        self.end.link.note()


class Staged(Way):
    name, needs, about = "staged", ("nixl",), "dtconv.nixl.Bounce: fragments through registered staging memory"

    def send(self, message: Message) -> None:
        bounce = self.end.bounce
        self.end.finish([bounce.start_send(self.end.other, self.memory.words, index, layout=layout_of(message, index, SENDER))
                         for index in range(len(message.shape.caches))])

    def receive(self, message: Message) -> None:
        bounce = self.end.bounce
        self.end.finish([bounce.start_recv(self.end.other, self.memory.words, index,
                                           layout=layout_of(message, index, RECEIVER))
                         for index in range(len(message.shape.caches))])


class OverChannel(Way):
    name, needs, about = "channel", ("channel",), "dtconv.Channel: fragments through staging memory that both map"

    def send(self, message: Message) -> None:
        self.end.finish_channel([self.end.channel.start_send(self.memory.words, index, layout=layout_of(message, index, SENDER))
                                 for index in range(len(message.shape.caches))])

    def receive(self, message: Message) -> None:
        self.end.finish_channel([self.end.channel.start_recv(self.memory.words, index,
                                                             layout=layout_of(message, index, RECEIVER))
                                 for index in range(len(message.shape.caches))])


class Bulk(Way):
    name, about, is_run = "bulk", "one descriptor of NIXL's of as many bytes: NIXL's ceiling", True
    needs: tuple[str, ...] = ("nixl",)

    def send(self, message: Message) -> None:
        self.write(message, 0)

    def receive(self, message: Message) -> None:
        self.end.await_nixl(message)

    def write(self, message: Message, first: int) -> None:
        """One write from an offset to the same offset."""
        row = np.array([[first, message.shape.size()]])
        self.end.nixl_write(row, row, message)


class List(Bulk):
    name, about, is_run = "list", "a list of NIXL's with one descriptor for each piece, made anew", False

    def send(self, message: Message) -> None:
        self.end.nixl_write(piece_rows(message, SENDER), piece_rows(message, RECEIVER), message)


class Gathered(Bulk):
    """Gather into staging memory, one write, scatter from there."""

    is_run = False

    def gather(self, message: Message, index: int) -> None:
        raise NotImplementedError

    def scatter(self, message: Message, index: int) -> None:
        raise NotImplementedError

    def send(self, message: Message) -> None:
        for index in range(len(message.shape.caches)):
            self.gather(message, index)
        self.memory.wait()
        self.write(message, self.memory.pool_bytes)

    def receive(self, message: Message) -> None:
        self.end.await_nixl(message)
        for index in range(len(message.shape.caches)):
            self.scatter(message, index)
        self.memory.wait()


class GatheredPages(Gathered):
    name, about = "pages", "dtconv.Pages packs into registered memory, one descriptor, dtconv.Pages unpacks"

    def gather(self, message: Message, index: int) -> None:
        self.end.pages(self.memory, message.shape, index, SENDER).pack(
            message.tables[SENDER], self.memory.packed(message.shape, index))

    def scatter(self, message: Message, index: int) -> None:
        self.end.pages(self.memory, message.shape, index, RECEIVER).unpack(
            self.memory.packed(message.shape, index), message.tables[RECEIVER])


class GatheredNumpy(Gathered):
    name, about = "numpy", "numpy.take into registered memory, one descriptor, pool[table] = received"

    def gather(self, message: Message, index: int) -> None:
        np.take(self.memory.pool_view(message.shape, index, SENDER), message.tables[SENDER], axis=2,
                out=self.memory.packed(message.shape, index), mode="clip")

    def scatter(self, message: Message, index: int) -> None:
        pool = self.memory.pool_view(message.shape, index, RECEIVER)
        pool[:, :, message.tables[RECEIVER]] = self.memory.packed(message.shape, index)


class GatheredTorch(Gathered):
    name, about = "torch", "torch.index_select, one descriptor, Tensor.index_copy_"
    needs: tuple[str, ...] = ("nixl", "torch")

    def _tensors(self, message: Message, index: int, end: int) -> tuple[Any, Any, Any]:
        """A cache, its part of the staging memory, and the table, on the device."""
        torch, device = self.end.torch, f"cuda:{self.memory.device}"
        whole = torch.as_tensor(self.memory.words, device=device)
        staging = whole[self.memory.pool_bytes // shapes.WORD:]
        return (shapes.view(whole, message.shape, index, end), shapes.packed_views(staging, message.shape)[index],
                torch.from_numpy(message.tables[end]).to(device))

    def gather(self, message: Message, index: int) -> None:
        pool, packed, table = self._tensors(message, index, SENDER)
        self.end.torch.index_select(pool, 2, table, out=packed)

    def scatter(self, message: Message, index: int) -> None:
        pool, packed, table = self._tensors(message, index, RECEIVER)
        pool.index_copy_(2, table, packed)


class Batch(Way):
    name, needs, about = "batch", ("peer", "batch"), "cuMemcpyBatchAsync, one entry for each piece, into the mapped pool"

    def send(self, message: Message) -> None:
        here, there = piece_rows(message, SENDER), piece_rows(message, RECEIVER)
        sources, targets = here[:, 0] + self.memory.address, there[:, 0] + self.end.peer.address
        self.memory.driver.copy_batch(targets, sources, np.ascontiguousarray(here[:, 1]))
        self.memory.wait()
        self.end.link.note()


class Copy(Way):
    name, needs, about, is_run = "copy", ("peer",), "one copy of as many bytes into the mapped pool: direct's ceiling", True

    def send(self, message: Message) -> None:
        self.memory.copy(self.end.peer.address, self.memory.address, message.shape.size())
        self.memory.wait()
        self.end.link.note()


HOST_WAYS: tuple[type[Way], ...] = (Direct, OverChannel, Staged, GatheredPages, GatheredNumpy, List, Bulk, Copy)
DEVICE_WAYS: tuple[type[Way], ...] = (Direct, OverChannel, Staged, GatheredPages, GatheredTorch, Batch, List, Bulk, Copy)


def ways_of(end: End) -> list[Way]:
    """All ways of the kind of memory, also those that lack something."""
    return [way(end) for way in (HOST_WAYS if end.memory.device is None else DEVICE_WAYS)]


def lack(way: Way) -> str:
    """Why a way cannot be measured at this end, or ""."""
    return next((way.end.missing[need] for need in way.needs if need in way.end.missing), "")
