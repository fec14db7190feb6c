# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that DLPack describes: of numpy's capsules, of both versions, and of PyTorch where it is installed."""
from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import dtconv


class Producer:
    """Hands out numpy's capsule as the library that made an array would, and no other interface."""

    def __init__(self, array, versions=True, device=(1, 0), change=None):
        self.array, self.versions, self.device, self.change = array, versions, device, change

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versions and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        try:
            capsule = self.array.__dlpack__(**options)
        except TypeError:
            # numpy before version 2.1.
            options.pop("max_version", None)
            capsule = self.array.__dlpack__(**options)
        if self.change:
            self.change(tensor_of(capsule))
        return capsule


def tensor_of(capsule):
    """The struct in a capsule of either version."""
    dlpack = dtconv._dlpack
    if dlpack._is_valid(capsule, b"dltensor_versioned"):
        return dlpack.DLManagedTensorVersioned.from_address(dlpack._pointer(capsule, b"dltensor_versioned")).tensor
    return dlpack.DLTensor.from_address(dlpack._pointer(capsule, b"dltensor"))


@pytest.mark.parametrize("versions", [False, True])
@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "F", "D"])
def test_strided_tensors_of_any_type(versions, dtype):
    array = np.frombuffer(bytearray(i % 251 % (2 if dtype == "?" else 251) for i in range(6 * 8 * 16)), dtype)
    array = array[:48].reshape(6, 8)[::2, ::-3].T
    try:
        array.__dlpack__()
    except TypeError as reason:
        pytest.skip(f"numpy says: {reason}")
    producer = Producer(array, versions)
    assert dtconv.pack(producer).tobytes() == array.tobytes()
    assert dtconv.layout(producer).signature == dtconv.layout(array).signature
    target = np.zeros((6, 4), dtype)
    assert dtconv.unpack(array.tobytes(), Producer(target[:3, :3], versions)) == array.nbytes
    assert target[:3, :3].tobytes() == array.tobytes() and not target[3:].any()


def test_a_scalar_tensor_and_an_empty_one():
    assert dtconv.pack(Producer(np.array(5, np.int32))).view(np.int32).tolist() == [5]
    assert dtconv.pack(Producer(np.zeros((3, 0)))).size == 0


def test_numbers_that_numpy_does_not_have():
    def as_type(code, bits, lanes=1):
        def change(tensor):
            tensor.code, tensor.bits, tensor.lanes = code, bits, lanes
        return change

    halves = np.arange(4, dtype=np.uint16)
    assert dtconv.layout(Producer(halves, change=as_type(4, 16))).signature == "4 x bfloat16"
    assert dtconv.pack(Producer(halves, change=as_type(4, 16))).tobytes() == halves.tobytes()
    assert dtconv.layout(Producer(np.zeros(4, np.uint8), change=as_type(10, 8))).signature == "4 x byte"
    assert dtconv.layout(Producer(np.zeros(4), change=as_type(2, 32, 2))).signature == "8 x float"
    with pytest.raises(dtconv.UnsupportedError, match="4 bits"):
        dtconv.layout(Producer(halves, change=as_type(0, 4)))


def test_contiguous_tensors_may_come_without_strides():
    array = np.arange(6.0).reshape(2, 3)

    def change(tensor):
        tensor.strides = ctypes.POINTER(ctypes.c_int64)()

    assert dtconv.pack(Producer(array, change=change)).tobytes() == array.tobytes()


def test_read_only_tensors_are_not_written():
    array = np.zeros(4)
    array.flags.writeable = False
    capsule_has_flags = True
    try:
        array.__dlpack__(max_version=(1, 0))
    except (TypeError, BufferError):
        capsule_has_flags = False
    if not capsule_has_flags:
        pytest.skip("this numpy makes capsules without flags only")
    assert dtconv.pack(Producer(array)).size == 32
    with pytest.raises(dtconv.InvalidError, match="into is read-only"):
        dtconv.unpack(bytes(32), Producer(array))


def test_memory_of_other_devices_is_refused():
    def change(tensor):
        tensor.device_type = 10

    with pytest.raises(dtconv.UnsupportedError, match="device type 10"):
        dtconv.pack(Producer(np.zeros(4), device=(10, 0), change=change))


def test_an_offset_in_bytes_counts():
    array = np.arange(8, dtype=np.int32)

    def change(tensor):
        tensor.byte_offset = 8
        tensor.shape[0] = 6

    assert dtconv.pack(Producer(array, change=change)).view(np.int32).tolist() == [2, 3, 4, 5, 6, 7]


def test_the_capsule_lives_as_long_as_a_job_and_no_longer():
    array = np.arange(8.0).view(type("Kept", (np.ndarray,), {}))
    gone = weakref.ref(array)
    job = dtconv.start_pack(Producer(array))
    del array
    gc.collect()
    assert gone() is not None
    job.wait()
    gc.collect()
    assert gone() is None


def test_what_returns_no_capsule():
    class Wrong(Producer):
        def __dlpack__(self, **options):
            return None

    with pytest.raises(dtconv.InvalidError, match="no unused DLPack capsule"):
        dtconv.pack(Wrong(np.zeros(3)))


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(120, dtype=torch.float64).reshape(4, 5, 6)[1:, ::2, 1:].transpose(0, 2)
    assert dtconv.pack(tensor).tobytes() == tensor.contiguous().numpy().tobytes()
    target = torch.zeros(5, 4, 3, dtype=torch.float64)
    dtconv.unpack(dtconv.pack(tensor), target[:, :3])
    assert torch.equal(target[:, :3], tensor.contiguous()) and not target[:, 3:].any()
    halves = torch.arange(6, dtype=torch.bfloat16)[::2]
    assert dtconv.layout(halves).signature == "3 x bfloat16"
