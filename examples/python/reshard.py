#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reshard: turns a checkpoint of four files, cut by rows, into one of three files, cut by columns.

Each new file is written from the mapped old ones, without the whole matrix in memory. doc/resharding.md explains the plan.
"""
import pathlib
import sys
import tempfile

import numpy as np

import dtconv

SHAPE = (1000, 768)
ELEMENT = np.dtype(np.float32)
OLD_RANKS, NEW_RANKS = 4, 3


def shares(length, ranks):
    """The ends of each rank's share of a dimension."""
    return [(rank * length // ranks, (rank + 1) * length // ranks) for rank in range(ranks)]


def by_rows():
    """The boxes of the old files: rows, stored as in C."""
    return [dtconv.Box(rank, (first, 0), (end - first, SHAPE[1]))
            for rank, (first, end) in enumerate(shares(SHAPE[0], OLD_RANKS))]


def by_columns():
    """The boxes of the new files: columns, stored one after another."""
    return [dtconv.Box(rank, (0, first), (SHAPE[0], end - first), order=(1, 0))
            for rank, (first, end) in enumerate(shares(SHAPE[1], NEW_RANKS))]


def write_old(folder, whole):
    """The checkpoint as it is."""
    for box in by_rows():
        first = box.lower[0]
        np.save(folder / f"old{box.rank}.npy", whole[first:first + box.shape[0]])


def write_new(folder, reshard, box):
    """One file of the new checkpoint; each of the new ranks does this for its own."""
    new = np.lib.format.open_memmap(folder / f"new{box.rank}.npy", "w+", ELEMENT, tuple(reversed(box.shape)))
    moved = 0
    for message in reshard.plan(box.rank).recvs:
        old = np.load(folder / f"old{message.peer}.npy", mmap_mode="r")
        sent = next(sent for sent in reshard.plan(message.peer).sends if sent.peer == box.rank)
        moved += dtconv.copy(old, new, source_layout=sent.layout, target_layout=message.layout)
    new.flush()
    print(f"new{box.rank}.npy: {moved} bytes")


def main():
    whole = np.random.default_rng(7).random(SHAPE, ELEMENT)
    reshard = dtconv.Reshard(SHAPE, ELEMENT, by_rows(), by_columns())
    reshard.check()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_old(folder, whole)
        for box in by_columns():
            write_new(folder, reshard, box)
        columns = np.concatenate([np.load(folder / f"new{rank}.npy") for rank in range(NEW_RANKS)])
    return 0 if (columns == whole.T).all() else 1


if __name__ == "__main__":
    sys.exit(main())
