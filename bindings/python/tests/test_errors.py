# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong is an exception of the right class, with a sentence."""
from __future__ import annotations

import numpy as np
import pytest

import dtconv


def test_each_status_has_a_class_derived_from_error():
    classes = {status: kind for status, kind in dtconv.errors.CLASSES.items()}
    assert sorted(classes) == [int(status) for status in sorted(dtconv._structs.Status) if status < 0]
    for status, kind in classes.items():
        assert issubclass(kind, dtconv.Error) and kind.status == status and getattr(dtconv, kind.__name__) is kind


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda: dtconv.layout("vector(4, 2, 5)"), dtconv.FormatError, "column"),
    (lambda: dtconv.layout("vector(-4, 2, 5, int)"), dtconv.InvalidError, "-4"),
    (lambda: dtconv.vector(2**62, 3, 2**62, "double"), dtconv.RangeError, "overflow|exceed"),
    (lambda: dtconv.contiguous(-1, "int"), dtconv.InvalidError, "-1 is negative"),
    (lambda: dtconv.indexed([1, 2], [0], "int"), dtconv.InvalidError, "blocklengths has 2 entries"),
    (lambda: dtconv.subarray([4], [5], [0], "int"), dtconv.InvalidError, "5"),
    (lambda: dtconv.subarray([4], [2], [0], "int", "rows"), dtconv.InvalidError, "no order 'rows'; there are c, fortran"),
    (lambda: dtconv.layout(np.zeros(3, object)), dtconv.InvalidError, "references to Python objects"),
    (lambda: dtconv.layout([1, 2, 3]), dtconv.InvalidError, "type list is no array"),
    (lambda: dtconv.pack(np.zeros(4), np.zeros(3)), dtconv.TruncateError, "24"),
    (lambda: dtconv.pack(np.zeros(4), np.zeros(8)[::2]), dtconv.InvalidError, "out is packed memory and has to be contiguous"),
    (lambda: dtconv.pack(np.zeros(4), bytes(32)), dtconv.InvalidError, "out is read-only"),
    (lambda: dtconv.pack(np.zeros(4), np.frombuffer(bytes(32))), dtconv.InvalidError, "out is read-only"),
    (lambda: dtconv.pack(np.zeros(4), count=2), dtconv.InvalidError, "no layout to repeat"),
    (lambda: dtconv.pack(np.zeros(4), layout="int", count=-2), dtconv.InvalidError, "count is -2"),
    (lambda: dtconv.pack(np.zeros(4), stream="fast"), dtconv.InvalidError, "stream is of type str"),
    (lambda: dtconv.unpack(bytes(33), np.zeros(4)), dtconv.TruncateError, "33"),
    (lambda: dtconv.unpack(bytes(32), np.frombuffer(bytes(32))), dtconv.InvalidError, "into is read-only"),
    (lambda: dtconv.unpack(bytes(8), np.float64(1)), dtconv.InvalidError, "into is read-only"),
    (lambda: dtconv.unpack(bytes(32), np.zeros(4), op="mean"), dtconv.InvalidError, "no operation 'mean'; there are replace"),
    (lambda: dtconv.unpack(bytes(32), np.zeros(4), op="band"), dtconv.InvalidError, "band"),
    (lambda: dtconv.copy(np.zeros(4), np.zeros(4, np.int64)), dtconv.SignatureError, "signature differs"),
    (lambda: dtconv.copy(np.zeros(4), np.zeros(3)), dtconv.TruncateError, "."),
    (lambda: dtconv.start_pack(np.zeros(4), np.zeros(3)), dtconv.TruncateError, "out has 24 bytes, but 32 are packed"),
    (lambda: dtconv.fragments(np.zeros(4), 0), dtconv.InvalidError, "size is 0"),
    (lambda: dtconv.Channel.connect("@dtconv-nobody"), dtconv.PeerError, "."),
    (lambda: dtconv.Channel.listen("@x", kind="managed"), dtconv.InvalidError, "staging memory of kind 'managed'"),
])
def test_wrong_calls_say_what_is_wrong(call, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert type(caught.value) is kind and len(str(caught.value)) > 10


def test_errors_are_the_usual_exceptions_too():
    with pytest.raises(ValueError):
        dtconv.layout("nonsense(")
    with pytest.raises(TypeError):
        dtconv.copy(np.zeros(2), np.zeros(2, "f4"))
    with pytest.raises(OverflowError):
        dtconv.vector(2**62, 3, 2**62, "double")


def test_a_short_stream_is_unpacked_as_far_as_it_goes():
    target = np.zeros(4, np.uint8)
    assert dtconv.unpack(b"ab", target) == 2
    assert target.tobytes() == b"ab\0\0"
    assert dtconv.copy(np.ones(2), np.zeros(5)) == 16
