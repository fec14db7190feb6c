# SPDX-License-Identifier: BSD-3-Clause
"""What a message consists of: pages of the sender's caches, which go to other pages of the receiver's."""
from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

SENDER, RECEIVER = 0, 1
WORD = 8
"""All sizes are multiples of this: arrays have elements of 64 bits, so that every way copies whole words."""
SPARE = 2
"""A pool has this many times the pages of a message."""
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


class Cache(NamedTuple):
    """An array [layers][parts][pages][rows][row] at each end. A message takes the same part of each row."""

    layers: int
    parts: int
    rows: int
    row_bytes: int
    """Bytes of a row that go."""
    strides: tuple[int, int]
    """Bytes from row to row, at the sender and at the receiver."""
    firsts: tuple[int, int] = (0, 0)
    """The first byte of each row that goes."""

    def bytes_of_page(self) -> int:
        """Bytes of a page of one layer's part that go."""
        return self.rows * self.row_bytes

    def pool_bytes(self, end: int, pool_pages: int) -> int:
        """Bytes of the array at one end."""
        return self.layers * self.parts * pool_pages * self.rows * self.strides[end]

    def pieces_of_page(self) -> int:
        """How many pieces a page is in, if a piece is contiguous at both ends."""
        return 1 if self.strides == (self.row_bytes, self.row_bytes) else self.rows


class Shape(NamedTuple):
    """A kind of message. All caches go by one table of pages at each end."""

    name: str
    pages: int
    caches: tuple[Cache, ...]

    @property
    def pool_pages(self) -> int:
        """Pages of a pool."""
        return SPARE * self.pages

    def size(self) -> int:
        """Bytes of a message."""
        return sum(cache.layers * cache.parts * self.pages * cache.bytes_of_page() for cache in self.caches)

    def pieces(self) -> int:
        """Pieces of a message that are contiguous at both ends."""
        return sum(cache.layers * cache.parts * self.pages * cache.pieces_of_page() for cache in self.caches)

    def bases(self, end: int) -> list[int]:
        """The first byte of each cache at one end."""
        sizes = [cache.pool_bytes(end, self.pool_pages) for cache in self.caches]
        return [sum(sizes[:index]) for index in range(len(sizes))]

    def pool_bytes(self, end: int) -> int:
        """Bytes of all caches at one end."""
        return sum(cache.pool_bytes(end, self.pool_pages) for cache in self.caches)


def plain(name: str, pages: int, page_bytes: int, layers: int = 1, parts: int = 1) -> Shape:
    """Whole pages of one cache."""
    return Shape(name, pages, (Cache(layers, parts, 1, page_bytes, (page_bytes, page_bytes)),))


def latent(name: str, pages: int) -> Shape:
    """Multi-head latent attention: entries of 576 bytes and index entries of 132 bytes, in two caches with the same
    tables."""
    return Shape(name, pages, tuple(Cache(61, 1, 1, 64 * entry, (64 * entry, 64 * entry)) for entry in (576, 132)))


def split(name: str, pages: int, by_rows: bool) -> Shape:
    """The second half of the heads of a sender that has 4 of 8, to a receiver that has 2: 80 layers, keys and values,
    pages of 16 tokens. By rows a page is [tokens][heads][dim], else [heads][tokens][dim]."""
    head, tokens = 128 * 2, 16
    rows, row = (tokens, 2 * head) if by_rows else (1, 2 * tokens * head)
    return Shape(name, pages, (Cache(80, 2, rows, row, (2 * row, row), (row, 0)),))


MODELS = {
    "70b": lambda: plain("70b", 32, 16 * 8 * 128 * 2, layers=80, parts=2),
    "mla": lambda: latent("mla", 64),
    "tp2to4": lambda: split("tp2to4", 64, by_rows=False),
    "tp2to4rows": lambda: split("tp2to4rows", 64, by_rows=True),
}
ROWS = ("8192x32KiB", "8192x16KiB", "23252x4KiB", "65536x2KiB", "65536x512B", "65536x576B", "64x4KiB", *MODELS)
"""What is measured unless the user names other rows."""


def shape_of(name: str) -> Shape:
    """The shape that a name means: a model, or PIECESxSIZE. Raises ValueError."""
    if name in MODELS:
        return MODELS[name]()
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)(B|KiB|MiB)", name)
    if found is None:
        raise ValueError(f"{name} is no row: name one of {', '.join(MODELS)}, or PIECESxSIZE such as 64x4KiB")
    page_bytes = int(found[2]) * UNITS[found[3]]
    if page_bytes % WORD:
        raise ValueError(f"{name} is no row: its pieces have to be multiples of {WORD} bytes")
    return plain(name, int(found[1]), page_bytes)


def tables(shape: Shape, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random page numbers for both ends of one message."""
    numbers = np.random.default_rng(seed)
    both = [numbers.permutation(shape.pool_pages)[:shape.pages].astype(np.int64) for _ in (SENDER, RECEIVER)]
    return both[SENDER], both[RECEIVER]


def pieces(shape: Shape, index: int, end: int, table: np.ndarray) -> np.ndarray:
    """Where one cache's pieces are at one end, in bytes from the beginning of the pool, in the order of the stream."""
    cache = shape.caches[index]
    page = cache.rows * cache.strides[end]
    part = shape.pool_pages * page
    places = np.arange(cache.layers * cache.parts, dtype=np.int64)[:, None] * part + table * page
    if cache.pieces_of_page() > 1:
        places = places[:, :, None] + np.arange(cache.rows, dtype=np.int64) * cache.strides[end]
    return places.ravel() + (shape.bases(end)[index] + cache.firsts[end])


def piece_bytes(cache: Cache) -> int:
    """Bytes of each piece of a cache."""
    return cache.bytes_of_page() // cache.pieces_of_page()


def view(words: np.ndarray, shape: Shape, index: int, end: int) -> np.ndarray:
    """The part of each row that goes, of a cache whose pool begins at the array's first word: five axes. Works on
    arrays of numpy and of PyTorch."""
    cache, first = shape.caches[index], shape.bases(end)[index] // WORD
    whole = words[first:first + cache.pool_bytes(end, shape.pool_pages) // WORD].reshape(
        cache.layers, cache.parts, shape.pool_pages, cache.rows, cache.strides[end] // WORD)
    begin = cache.firsts[end] // WORD
    return whole[..., begin:begin + cache.row_bytes // WORD]


def packed_views(words: np.ndarray, shape: Shape) -> list[np.ndarray]:
    """The stream of a message, cache by cache, as arrays of five axes."""
    views, first = [], 0
    for cache in shape.caches:
        dimensions = (cache.layers, cache.parts, shape.pages, cache.rows, cache.row_bytes // WORD)
        count = int(np.prod(dimensions))
        views.append(words[first:first + count].reshape(dimensions))
        first += count
    return views


# What is compared is taken in parts, whose memory stays in the caches and with the process.
PART_BYTES = 4 << 20


def check_pages(shape: Shape, sent: np.ndarray, received: np.ndarray, both: tuple[np.ndarray, np.ndarray],
                canary: int) -> str:
    """Compare every byte of both pools after a message into a pool full of canaries. Returns "" or what is wrong. The pages
    of the message are canaries again in ``received`` then."""
    for index, cache in enumerate(shape.caches):
        source, target = view(sent, shape, index, SENDER), view(received, shape, index, RECEIVER)
        step = max(PART_BYTES // (cache.layers * cache.parts * cache.bytes_of_page()), 1)
        for first in range(0, shape.pages, step):
            ours, theirs = (table[first:first + step] for table in both)
            if not np.array_equal(source[:, :, ours], target[:, :, theirs]):
                wrong = (source[:, :, ours] != target[:, :, theirs]).any(axis=(0, 1, 3, 4)).argmax()
                return f"page {theirs[wrong]} of cache {index} has not the bytes of page {ours[wrong]}"
            target[:, :, theirs] = canary
    if all_are(received[:shape.pool_bytes(RECEIVER) // WORD], canary):
        return ""
    return "bytes outside the pages of the message were written to"


def all_are(words: np.ndarray, value: int) -> bool:
    """Whether all words have a value."""
    step = PART_BYTES // WORD
    return all(bool((words[first:first + step] == value).all()) for first in range(0, len(words), step))


def check_run(shape: Shape, sent: np.ndarray, received: np.ndarray, canary: int) -> str:
    """The same of a message that is one run, from the beginning of the one pool to that of the other."""
    count, step = shape.size() // WORD, PART_BYTES // WORD
    for first in range(0, count, step):
        part = slice(first, min(first + step, count))
        if not np.array_equal(sent[part], received[part]):
            return f"the bytes from {first * WORD} to {part.stop * WORD} of the message are wrong"
    if all_are(received[count:shape.pool_bytes(RECEIVER) // WORD], canary):
        return ""
    return "bytes behind the message were written to"
