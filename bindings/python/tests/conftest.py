# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: random numbers whose seed a failure prints, and random arrays with their packed bytes."""
from __future__ import annotations

import os
import secrets

import numpy as np
import pytest

SEED = int(os.environ.get("DTCONV_TEST_SEED") or hex(secrets.randbits(32)), 0)
WAIT = 60
"""Seconds after which something that is waited for does not come any more."""


def pytest_report_header() -> str:
    return f"DTCONV_TEST_SEED={SEED:#x} repeats the random cases"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A test's own random numbers: those of its name and the seed."""
    print(f"DTCONV_TEST_SEED={SEED:#x}")
    return np.random.default_rng([SEED, *request.node.name.encode()])


SIMPLE = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "F", "D", "G", "M8[s]", "m8[ns]",
          "S5", "U3", "V7", ">i4", ">f8"]


def random_dtype(rng: np.random.Generator, depth: int = 2) -> np.dtype:
    """A plain dtype, a struct with gaps and fields in any order, or fields that are arrays."""
    if depth == 0 or rng.random() < 0.5:
        return np.dtype(str(rng.choice(SIMPLE)))
    formats, offsets, end = [], [], 0
    for _ in range(rng.integers(1, 5)):
        field = random_dtype(rng, depth - 1)
        if rng.random() < 0.3:
            field = np.dtype((field, tuple(rng.integers(1, 4, size=rng.integers(1, 3)))))
        end += int(rng.integers(0, 6))
        formats.append(field)
        offsets.append(end)
        end += field.itemsize
    order = rng.permutation(len(formats))
    return np.dtype({"names": [f"f{i}" for i in range(len(formats))], "formats": [formats[i] for i in order],
                     "offsets": [offsets[i] for i in order], "itemsize": end + int(rng.integers(0, 9))})


def random_view(rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
    """A view of random bytes: sliced with steps of either sign, and with its axes in any order."""
    shape = [int(n) for n in rng.integers(1, 7, size=rng.integers(0, 5))]
    base = np.frombuffer(bytearray(rng.bytes(int(np.prod(shape, dtype=int)) * dtype.itemsize)), dtype=np.uint8)
    array = base.view(np.dtype((np.void, dtype.itemsize))).view(dtype).reshape(shape)
    slices = []
    for length in shape:
        start, stop = sorted(int(n) for n in rng.integers(0, length + 1, size=2))
        step = int(rng.integers(1, 4))
        slices.append(slice(start, stop, step))
    # The dots keep an array without dimensions from becoming a scalar.
    array = array[(*slices, ...)][(*(slice(None, None, -1 if rng.random() < 0.3 else 1) for _ in shape), ...)]
    return array.transpose(rng.permutation(array.ndim))


def element_bytes(memory: bytes, dtype: np.dtype) -> bytes:
    """The data of one element in the order of a struct's names, without padding."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return b"".join(element_bytes(memory[i * base.itemsize:(i + 1) * base.itemsize], base)
                        for i in range(int(np.prod(shape))))
    if dtype.names is not None:
        fields = [dtype.fields[name] for name in dtype.names]
        return b"".join(element_bytes(memory[field[1]:field[1] + field[0].itemsize], field[0]) for field in fields)
    return memory[:dtype.itemsize]


def packed_bytes(array: np.ndarray) -> bytes:
    """The packed stream, element by element."""
    return b"".join(element_bytes(array[(*index, ...)].tobytes(), array.dtype) for index in np.ndindex(array.shape))
