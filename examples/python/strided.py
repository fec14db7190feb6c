#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strided: packs the six faces of a box of particles in one batch, and unpacks them into the ghost layers of another one.

The particles are a structured dtype with padding, which is not packed. doc/python.md is the guide.
"""
import sys

import numpy as np

import dtconv

PARTICLE = np.dtype([("kind", "i1"), ("place", "f8", (3,)), ("charge", "f4")], align=True)
SIZE = 12


def faces(box, layer):
    """The views of a box at a distance from its six sides."""
    inner = slice(1, -1)
    for axis in range(3):
        for index in (layer, -1 - layer):
            where = [inner] * 3
            where[axis] = index
            yield box[tuple(where)]


def filled():
    """A box with particles that differ."""
    box = np.zeros((SIZE, SIZE, SIZE), PARTICLE)
    numbers = np.arange(box.size).reshape(box.shape)
    box["kind"], box["charge"] = numbers % 100, numbers / 2
    box["place"] = numbers[..., None] + np.array([0.25, 0.5, 0.75])
    return box


def main():
    here, there = filled(), np.zeros((SIZE, SIZE, SIZE), PARTICLE)
    packing, unpacking, buffers = dtconv.Batch(), dtconv.Batch(), []
    for face, ghost in zip(faces(here, 1), faces(there, 0)):
        buffers.append(np.empty(dtconv.layout(face).size, np.uint8))
        packing.pack(face, buffers[-1])
        unpacking.unpack(buffers[-1], ghost)
    packed, unpacked = packing.run(), unpacking.run()
    print(dtconv.layout(next(faces(here, 1))))
    print(f"{packed} bytes of {len(packing)} faces, {PARTICLE.itemsize} bytes a particle in memory, "
          f"{dtconv.layout(PARTICLE).size} packed")
    same = all((face == ghost).all() for face, ghost in zip(faces(here, 1), faces(there, 0)))
    return 0 if same and packed == unpacked and not there[1:-1, 1:-1, 1:-1]["kind"].any() else 1


if __name__ == "__main__":
    sys.exit(main())
