# SPDX-License-Identifier: BSD-3-Clause
"""The structs and enums of libdtconv that the package uses.

test/python/check_prototypes compares each member's offset and size, and each value, with the C headers. A struct
has the tag of the C struct without ``dtconv_``. This module needs no numpy.
"""
from __future__ import annotations

import ctypes
import enum
from ctypes import c_char, c_char_p, c_int, c_long, c_size_t, c_ssize_t, c_uint, c_uint64, c_void_p
from typing import Any, ClassVar


class Struct(ctypes.Structure):
    """A struct of the library. Its member ``struct_size``, if it has one, is set at creation."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)


class context_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("compiler", c_char_p), ("processor", c_char_p), ("kernels", c_char_p),
        ("kernel_sets", c_char * 64), ("machine", c_char * 256), ("tuning_path", c_char_p), ("tuning_state", c_char_p),
        ("tuning_read", c_int), ("threads", c_size_t), ("thresholds", c_size_t), ("devices", c_size_t),
        ("no_devices", c_char_p)]


class device_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("name", c_char * 128), ("driver_version", c_int), ("compute_major", c_int),
        ("compute_minor", c_int), ("bytes", c_size_t), ("unified_addressing", c_int), ("vmm", c_int),
        ("vmm_host_numa", c_int), ("posix_fd_handles", c_int), ("fabric_handles", c_int), ("multicast", c_int),
        ("gpudirect_rdma", c_int), ("gpudirect_rdma_vmm", c_int), ("dma_buf", c_int)]


class type_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("size", c_size_t), ("lb", c_ssize_t), ("extent", c_ssize_t),
        ("true_lb", c_ssize_t), ("true_extent", c_ssize_t), ("element_count", c_size_t), ("alignment", c_size_t),
        ("signature_hash", c_uint64), ("combiner", c_int), ("predefined", c_int), ("committed", c_int),
        ("contiguous", c_int)]


class ipc_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("open", c_size_t), ("idle", c_size_t), ("hits", c_uint64),
        ("driver_opens", c_uint64), ("evicted", c_uint64), ("replaced", c_uint64), ("dropped", c_uint64)]


class representation(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("byte_order", c_int), ("long_double", c_int), ("long_size", c_size_t),
        ("address_size", c_size_t), ("wchar_size", c_size_t)]


class convertor_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("representation", ctypes.POINTER(representation)), ("op", c_int),
        ("op_fn", c_void_p), ("op_arg", c_void_p), ("flags", c_uint), ("user_memory", c_int),
        ("packed_memory", c_int), ("stream", c_void_p), ("backends", c_char_p)]


class convertor_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("size", c_size_t), ("position", c_size_t), ("in_flight", c_int),
        ("held", c_size_t)]


class copier_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("flags", c_uint), ("stream", c_void_p), ("op", c_int), ("op_fn", c_void_p),
        ("op_arg", c_void_p)]


class batch_entry(Struct):
    _fields_: ClassVar = [
        ("type", c_void_p), ("count", c_size_t), ("buffer", c_void_p), ("packed", c_void_p), ("bytes", c_size_t),
        ("direction", c_int), ("user_memory", c_int), ("packed_memory", c_int)]


class batch_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("flags", c_uint), ("stream", c_void_p), ("capacity", c_size_t)]


class batch_copy(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("source_type", c_void_p), ("source_count", c_size_t), ("source", c_void_p),
        ("target_type", c_void_p), ("target_count", c_size_t), ("target", c_void_p), ("op", c_int),
        ("op_fn", c_void_p), ("op_arg", c_void_p)]


class batch_entry_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("status", c_int), ("moved", c_size_t), ("bytes", c_size_t)]


class pages(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("table", c_void_p), ("count", c_size_t), ("number", c_int),
        ("pool_pages", c_size_t), ("page_bytes", c_size_t), ("page_stride", c_size_t), ("offset", c_ssize_t),
        ("layer_count", c_size_t), ("layer_stride", c_ssize_t), ("part_count", c_size_t), ("part_stride", c_ssize_t),
        ("bytes", c_size_t), ("flags", c_uint), ("stream", c_void_p), ("table_memory", c_int), ("pool_memory", c_int),
        ("packed_memory", c_int), ("fault", c_void_p), ("row_bytes", c_size_t), ("row_stride", c_size_t)]


class reshard_box(Struct):
    _fields_: ClassVar = [
        ("rank", c_size_t), ("lower", c_void_p), ("sizes", c_void_p), ("strides", c_void_p), ("order", c_void_p),
        ("offset", c_ssize_t)]


class reshard_placement(Struct):
    _fields_: ClassVar = [("box_count", c_size_t), ("boxes", c_void_p)]


class reshard_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("rank_count", c_size_t), ("ndims", c_size_t), ("sizes", c_void_p),
        ("element", c_void_p), ("source", reshard_placement), ("target", reshard_placement)]


class reshard_plan_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("send_count", c_size_t), ("recv_count", c_size_t), ("send_bytes", c_size_t),
        ("recv_bytes", c_size_t)]


class reshard_message(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("peer", c_size_t), ("bytes", c_size_t), ("pieces", c_size_t), ("type", c_void_p)]


class pool_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("kind", c_int), ("device", c_int), ("fragment_bytes", c_size_t),
        ("slab_bytes", c_size_t), ("start_bytes", c_size_t), ("limit_bytes", c_size_t), ("flags", c_uint),
        ("numa_node", c_int), ("registrars", c_void_p), ("registrar_count", c_size_t)]


class pool_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("kind", c_int), ("fragment_bytes", c_size_t), ("slab_bytes", c_size_t),
        ("slabs", c_size_t), ("pinned_slabs", c_size_t), ("fragments", c_size_t), ("free", c_size_t),
        ("out", c_size_t), ("abandoned", c_size_t), ("abandoned_bytes", c_size_t), ("releasing_bytes", c_size_t)]


class fragment_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("address", c_void_p), ("capacity", c_size_t), ("kind", c_int),
        ("slab", c_size_t), ("slab_offset", c_size_t), ("slab_fd", c_int), ("handles", c_void_p),
        ("handle_count", c_size_t)]


class segment_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("device", c_int), ("flags", c_uint), ("start_bytes", c_size_t),
        ("reserve_bytes", c_size_t)]


class segment_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("base", c_void_p), ("bytes", c_size_t), ("reserve_bytes", c_size_t),
        ("granularity", c_size_t), ("mappings", c_size_t), ("device", c_int), ("user_device", c_int),
        ("received", c_int), ("shareable", c_int), ("compressed", c_int)]


class channel_params(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("flags", c_uint), ("kind", c_int), ("device", c_int),
        ("fragment_bytes", c_size_t), ("fragments", c_size_t), ("transport", c_void_p), ("secret", c_void_p),
        ("secret_bytes", c_size_t)]


class channel_attr(Struct):
    _fields_: ClassVar = [
        ("struct_size", c_size_t), ("state", c_int), ("status", c_int), ("peer_process", c_long),
        ("peer_user", c_long), ("fragments", c_size_t), ("free", c_size_t), ("operations", c_size_t),
        ("waiting", c_size_t), ("sent", c_uint64), ("received", c_uint64), ("peer_is_pinned", c_int),
        ("sent_direct", c_uint64), ("received_direct", c_uint64)]


STRUCTS: tuple[type[Struct], ...] = (
    context_attr, device_attr, type_attr, representation, convertor_params, convertor_attr, copier_params, batch_entry,
    batch_params, batch_copy, batch_entry_attr, pages, reshard_box, reshard_placement, reshard_params,
    reshard_plan_attr, reshard_message, pool_params, pool_attr, fragment_attr, segment_params, segment_attr,
    channel_params, channel_attr)


class Status(enum.IntEnum):
    """Status codes: enum dtconv_status."""

    SUCCESS = 0
    INPROGRESS = 1
    ERR_INVAL = -1
    ERR_NOMEM = -2
    ERR_OVERFLOW = -3
    ERR_UNSUPPORTED = -4
    ERR_TRUNCATE = -5
    ERR_SIGNATURE = -6
    ERR_STATE = -7
    ERR_BACKEND = -8
    ERR_CANCELED = -9
    ERR_AGAIN = -10
    ERR_TIMEOUT = -11
    ERR_PEER = -12
    ERR_FORMAT = -13
    ERR_LIMIT = -14


class Memory(enum.IntEnum):
    """Memory kinds: enum dtconv_memory_kind."""

    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    MANAGED = 3
    DEVICE = 4


class Order(enum.IntEnum):
    """Which index of an array runs fastest: enum dtconv_order."""

    C = 0
    FORTRAN = 1


class Distribution(enum.IntEnum):
    """How darray distributes a dimension: enum dtconv_distribution."""

    BLOCK = 0
    CYCLIC = 1
    NONE = 2


class Direction(enum.IntEnum):
    """Direction of a batch's entry: enum dtconv_batch_direction."""

    PACK = 0
    UNPACK = 1


class Relation(enum.IntEnum):
    """How two signatures relate: enum dtconv_signature_relation."""

    EQUAL = 0
    PREFIX = 1
    EXTENDS = 2
    DIFFERENT = 3


class PageNumber(enum.IntEnum):
    """Type of the numbers in a table of pages: enum dtconv_page_number."""

    NUMBER_32 = 0
    NUMBER_64 = 1


class SegmentAccess(enum.IntEnum):
    """What a device may do with a segment: enum dtconv_segment_access."""

    NONE = 0
    READ = 1
    READ_WRITE = 2


class ChannelState(enum.IntEnum):
    """How far a channel is: enum dtconv_channel_state."""

    CONNECTING = 0
    OPEN = 1
    ENDED = 2


class Operation(enum.IntEnum):
    """What unpacking, or a copy, does with an element that arrives: enum dtconv_op."""

    REPLACE = 0
    NO_OP = 1
    SUM = 2
    PROD = 3
    MIN = 4
    MAX = 5
    LAND = 6
    LOR = 7
    LXOR = 8
    BAND = 9
    BOR = 10
    BXOR = 11
    MINLOC = 12
    MAXLOC = 13


class Constant(enum.IntEnum):
    """Flags, each of its own enum."""

    CONVERTOR_STREAM = 2
    COPIER_STREAM = 1
    BATCH_STREAM = 1
    PAGES_STREAM = 1
    PAGES_WAIT = 2
    SEGMENT_COMPRESSIBLE = 1
    SEGMENT_ANY_USER = 2
    CHANNEL_ANY_USER = 1
    CHANNEL_DIRECT = 2


ENUMS: tuple[tuple[str, str, type[enum.IntEnum]], ...] = (
    ("status", "", Status), ("memory_kind", "MEMORY_", Memory), ("order", "ORDER_", Order),
    ("distribution", "DISTRIBUTE_", Distribution), ("batch_direction", "BATCH_", Direction),
    ("signature_relation", "SIGNATURE_", Relation), ("channel_state", "CHANNEL_", ChannelState),
    ("page_number", "PAGE_", PageNumber), ("segment_access", "SEGMENT_", SegmentAccess),
    ("op", "OP_", Operation), ("", "", Constant))
"""Each enum with its tag in C, if it is one there, and what its names begin with behind ``DTCONV_``."""
DEFAULT_DARG = ctypes.c_size_t(-1).value
"""The default block size of darray: DTCONV_DISTRIBUTE_DFLT_DARG."""
STREAM_LEGACY = 1
"""The legacy default stream: DTCONV_STREAM_LEGACY."""
