# SPDX-License-Identifier: BSD-3-Clause
"""The functions of libdtconv that the package calls, as the C headers declare them.

The text is C. ``parse`` makes ctypes prototypes of it, and test/python/check_prototypes compares it with the headers
word by word. This module needs no numpy.
"""
from __future__ import annotations

import ctypes
import re
from typing import Any, NamedTuple

DECLARATIONS = """
const char *dtconv_version(void);
const char *dtconv_strerror(int status);
int dtconv_context_create(const struct dtconv_context_params *params, struct dtconv_context **context);
size_t dtconv_context_error(struct dtconv_context *context, char *text, size_t capacity);
int dtconv_context_query(struct dtconv_context *context, struct dtconv_context_attr *attr);
int dtconv_context_format_info(struct dtconv_context *context, char *text, size_t capacity, size_t *length);
int dtconv_context_query_device(struct dtconv_context *context, size_t ordinal, struct dtconv_device_attr
    *attr);
const char *dtconv_backend_name(size_t index);
int dtconv_type_create_contiguous(size_t count, struct dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_vector(size_t count, size_t blocklength, ptrdiff_t stride, struct dtconv_type *oldtype,
    struct dtconv_type **newtype);
int dtconv_type_create_hvector(size_t count, size_t blocklength, ptrdiff_t stride, struct dtconv_type *oldtype,
    struct dtconv_type **newtype);
int dtconv_type_create_indexed(size_t count, const size_t blocklengths[], const ptrdiff_t displacements[],
    struct dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_hindexed(size_t count, const size_t blocklengths[], const ptrdiff_t displacements[],
    struct dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_indexed_block(size_t count, size_t blocklength, const ptrdiff_t displacements[], struct
    dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_hindexed_block(size_t count, size_t blocklength, const ptrdiff_t displacements[], struct
    dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_struct(struct dtconv_context *context, size_t count, const size_t blocklengths[], const
    ptrdiff_t displacements[], struct dtconv_type *const oldtypes[], struct dtconv_type **newtype);
int dtconv_type_create_subarray(size_t ndims, const size_t sizes[], const size_t subsizes[], const size_t
    starts[], enum dtconv_order order, struct dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_darray(size_t size, size_t rank, size_t ndims, const size_t gsizes[], const enum
    dtconv_distribution distributions[], const size_t dargs[], const size_t psizes[], enum dtconv_order order,
    struct dtconv_type *oldtype, struct dtconv_type **newtype);
int dtconv_type_create_resized(struct dtconv_type *oldtype, ptrdiff_t lb, ptrdiff_t extent, struct dtconv_type
    **newtype);
int dtconv_type_commit(struct dtconv_type *type);
struct dtconv_type *dtconv_type_ref(struct dtconv_type *type);
void dtconv_type_unref(struct dtconv_type *type);
int dtconv_type_query(const struct dtconv_type *type, struct dtconv_type_attr *attr);
int dtconv_type_parse(struct dtconv_context *context, const char *text, size_t length, struct dtconv_type
    **type);
int dtconv_type_format(const struct dtconv_type *type, char *text, size_t capacity, size_t *length);
int dtconv_type_format_signature(const struct dtconv_type *type, char *text, size_t capacity, size_t *length);
int dtconv_type_format_program(const struct dtconv_type *type, char *text, size_t capacity, size_t *length);
int dtconv_type_serialise(const struct dtconv_type *type, void *bytes, size_t capacity, size_t *length);
int dtconv_type_deserialise(struct dtconv_context *context, const void *bytes, size_t length, struct dtconv_type
    **type);
int dtconv_type_compare_layout(const struct dtconv_type *type_a, size_t count_a, const struct dtconv_type
    *type_b, size_t count_b, int *equal);
int dtconv_type_compare_signature(const struct dtconv_type *type_a, size_t count_a, const struct dtconv_type
    *type_b, size_t count_b, enum dtconv_signature_relation *relation);
int dtconv_explain(const struct dtconv_type *type, size_t count, enum dtconv_memory_kind user_kind, enum
    dtconv_memory_kind packed_kind, char *text, size_t capacity, size_t *length);
int dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer, void *packed, size_t capacity,
    size_t *moved);
int dtconv_unpack(struct dtconv_type *type, size_t count, void *buffer, const void *packed, size_t bytes, size_t
    *moved);
int dtconv_pack_on_stream(struct dtconv_type *type, size_t count, const void *buffer, void *packed, size_t
    capacity, void *stream, size_t *moved);
int dtconv_unpack_with(struct dtconv_type *type, size_t count, void *buffer, const void *packed, size_t bytes, const
    struct dtconv_convertor_params *params, size_t *moved);
int dtconv_copy(struct dtconv_type *source_type, size_t source_count, const void *source, struct dtconv_type
    *target_type, size_t target_count, void *target, size_t *moved);
int dtconv_copy_with(struct dtconv_type *source_type, size_t source_count, const void *source, struct
    dtconv_type *target_type, size_t target_count, void *target, const struct dtconv_copier_params *params, size_t
    *moved);
int dtconv_convertor_create_pack_with(struct dtconv_type *type, size_t count, const void *buffer, const struct
    dtconv_convertor_params *params, struct dtconv_convertor **convertor);
int dtconv_convertor_create_unpack_with(struct dtconv_type *type, size_t count, void *buffer, const struct
    dtconv_convertor_params *params, struct dtconv_convertor **convertor);
void dtconv_convertor_destroy(struct dtconv_convertor *convertor);
int dtconv_convertor_query(const struct dtconv_convertor *convertor, struct dtconv_convertor_attr *attr);
int dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position);
int dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed, size_t capacity, size_t *moved);
int dtconv_convertor_unpack(struct dtconv_convertor *convertor, const void *packed, size_t bytes, size_t
    *moved);
int dtconv_iov_count(const struct dtconv_type *type, size_t count, size_t *iov_count);
int dtconv_iov(const struct dtconv_type *type, size_t count, const void *buffer, size_t first, struct iovec iov[],
    size_t max_iov, size_t *iov_count);
int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed, size_t bytes, dtconv_done_fn done,
    void *arg);
int dtconv_convertor_test(struct dtconv_convertor *convertor, size_t *moved);
int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved);
int dtconv_copier_create(struct dtconv_type *source_type, size_t source_count, const void *source, struct
    dtconv_type *target_type, size_t target_count, void *target, const struct dtconv_copier_params *params, struct
    dtconv_copier **copier);
int dtconv_copier_start(struct dtconv_copier *copier, dtconv_done_fn done, void *arg);
int dtconv_copier_test(struct dtconv_copier *copier, size_t *moved);
int dtconv_copier_wait(struct dtconv_copier *copier, size_t *moved);
void dtconv_copier_destroy(struct dtconv_copier *copier);
int dtconv_batch_create(struct dtconv_context *context, const struct dtconv_batch_entry entries[], size_t count,
    const struct dtconv_batch_params *params, struct dtconv_batch **batch);
int dtconv_batch_rebind_copy(struct dtconv_batch *batch, size_t index, const struct dtconv_batch_copy *copy);
int dtconv_batch_start(struct dtconv_batch *batch, dtconv_done_fn done, void *arg);
int dtconv_batch_test(struct dtconv_batch *batch, size_t *moved);
int dtconv_batch_wait(struct dtconv_batch *batch, size_t *moved);
void dtconv_batch_destroy(struct dtconv_batch *batch);
int dtconv_batch_query_entry(const struct dtconv_batch *batch, size_t index, struct dtconv_batch_entry_attr
    *attr);
int dtconv_pages_query_bytes(struct dtconv_context *context, const struct dtconv_pages *pages, size_t *bytes);
int dtconv_pages_pack(struct dtconv_context *context, const struct dtconv_pages *pages, const void *pool, size_t
    position, void *packed, size_t capacity, size_t *moved);
int dtconv_pages_unpack(struct dtconv_context *context, const struct dtconv_pages *pages, void *pool, size_t position,
    const void *packed, size_t bytes, size_t *moved);
int dtconv_pages_copy(struct dtconv_context *context, const struct dtconv_pages *from, const void *from_pool, const
    struct dtconv_pages *to, void *to_pool, size_t position, size_t bytes, size_t *moved);
int dtconv_reshard_create(const struct dtconv_reshard_params *params, struct dtconv_reshard **reshard);
int dtconv_reshard_check(const struct dtconv_reshard *reshard);
void dtconv_reshard_destroy(struct dtconv_reshard *reshard);
int dtconv_reshard_plan_create(const struct dtconv_reshard *reshard, size_t rank, struct dtconv_reshard_plan **plan);
int dtconv_reshard_plan_query(const struct dtconv_reshard_plan *plan, struct dtconv_reshard_plan_attr *attr);
int dtconv_reshard_plan_query_send(const struct dtconv_reshard_plan *plan, size_t index, struct
    dtconv_reshard_message *message);
int dtconv_reshard_plan_query_recv(const struct dtconv_reshard_plan *plan, size_t index, struct
    dtconv_reshard_message *message);
void dtconv_reshard_plan_destroy(struct dtconv_reshard_plan *plan);
int dtconv_pool_create(struct dtconv_context *context, const struct dtconv_pool_params *params, struct
    dtconv_pool **pool);
int dtconv_pool_get(struct dtconv_pool *pool, struct dtconv_fragment **fragment);
int dtconv_pool_query(struct dtconv_pool *pool, struct dtconv_pool_attr *attr);
int dtconv_pool_destroy(struct dtconv_pool *pool);
void dtconv_fragment_put(struct dtconv_fragment *fragment);
int dtconv_fragment_query(const struct dtconv_fragment *fragment, struct dtconv_fragment_attr *attr);
int dtconv_segment_create(struct dtconv_context *context, const struct dtconv_segment_params *params, struct
    dtconv_segment **segment);
int dtconv_segment_grow(struct dtconv_segment *segment, size_t bytes);
int dtconv_segment_shrink(struct dtconv_segment *segment, size_t bytes);
int dtconv_segment_set_access(struct dtconv_segment *segment, int device, enum dtconv_segment_access access);
int dtconv_segment_alias(struct dtconv_segment *segment, struct dtconv_segment **alias);
int dtconv_segment_send(struct dtconv_segment *segment, int fd);
int dtconv_segment_receive(struct dtconv_context *context, int fd, const struct dtconv_segment_params *params, struct
    dtconv_segment **segment);
int dtconv_segment_dma_buf(struct dtconv_segment *segment, size_t offset, size_t bytes, int *fd);
int dtconv_segment_query(struct dtconv_segment *segment, struct dtconv_segment_attr *attr);
int dtconv_segment_destroy(struct dtconv_segment *segment);
int dtconv_ipc_export(struct dtconv_context *context, const void *address, size_t bytes, struct dtconv_ipc_handle
    *handle);
int dtconv_ipc_open(struct dtconv_context *context, const struct dtconv_ipc_handle *handle, int device, void
    **address);
int dtconv_ipc_close(struct dtconv_context *context, void *address);
int dtconv_ipc_trim(struct dtconv_context *context, size_t keep);
int dtconv_ipc_query(struct dtconv_context *context, struct dtconv_ipc_attr *attr);
int dtconv_engine_create(struct dtconv_context *context, const struct dtconv_engine_params *params, struct
    dtconv_engine **engine);
int dtconv_engine_progress(struct dtconv_engine *engine, size_t budget, size_t *worked);
int dtconv_engine_fd(const struct dtconv_engine *engine);
int dtconv_engine_arm(struct dtconv_engine *engine);
int dtconv_engine_destroy(struct dtconv_engine *engine);
int dtconv_channel_open(struct dtconv_engine *engine, int fd, const struct dtconv_channel_params *params, struct
    dtconv_channel **channel);
int dtconv_channel_connect(struct dtconv_engine *engine, const char *address, const struct dtconv_channel_params
    *params, struct dtconv_channel **channel);
int dtconv_channel_listen(struct dtconv_engine *engine, const char *address, const struct dtconv_channel_params
    *params, struct dtconv_listener **listener);
int dtconv_channel_accept(struct dtconv_listener *listener, struct dtconv_channel **channel);
int dtconv_listener_destroy(struct dtconv_listener *listener);
int dtconv_channel_send(struct dtconv_channel *channel, uint64_t tag, struct dtconv_type *type, size_t count,
    const void *buffer, dtconv_done_fn done, void *arg);
int dtconv_channel_recv(struct dtconv_channel *channel, uint64_t tag, struct dtconv_type *type, size_t count,
    void *buffer, dtconv_done_fn done, void *arg);
int dtconv_channel_query(struct dtconv_channel *channel, struct dtconv_channel_attr *attr);
int dtconv_channel_close(struct dtconv_channel *channel);
int dtconv_channel_destroy(struct dtconv_channel *channel);
"""

NETWORKS = {
    "ucx": """
int dtconv_ucx_open(struct dtconv_context *context, const struct dtconv_ucx_params *params, struct dtconv_ucx **ucx);
const struct dtconv_transport *dtconv_ucx_transport(const struct dtconv_ucx *ucx);
""",
    "verbs": """
int dtconv_verbs_open(struct dtconv_context *context, const struct dtconv_verbs_params *params, struct dtconv_verbs
    **verbs);
const struct dtconv_transport *dtconv_verbs_transport(const struct dtconv_verbs *verbs);
"""}
"""Libraries of transports, by the name of the network: what is called of each."""

NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long": ctypes.c_long,
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


class Prototype(NamedTuple):
    """One function: its name, and the ctypes of its result and of its arguments."""

    name: str
    result: Any
    arguments: list[Any]


def ctype(declaration: str) -> Any:
    """The ctypes type of a C declaration: of a parameter with its name, or of a result."""
    if declaration == "void":
        return None
    if re.match(r"const char \*", declaration):
        return ctypes.c_char_p
    if "*" in declaration or "[" in declaration or re.match(r"dtconv_\w+_fn\b", declaration):
        return ctypes.c_void_p
    if declaration.startswith("enum "):
        return ctypes.c_int
    return NUMBERS[declaration.split()[0]]


def parse(text: str) -> list[Prototype]:
    """The prototypes in a text of C declarations."""
    prototypes = []
    for result, name, arguments in re.findall(r"([a-z_ ]+\**)\b(dtconv_\w+)\(([^)]*)\);", " ".join(text.split())):
        types = [ctype(argument.strip()) for argument in arguments.split(",")]
        prototypes.append(Prototype(name, ctype(result.strip()), [] if types == [None] else types))
    return prototypes
