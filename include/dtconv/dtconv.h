/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdtconv: describe non-contiguous memory layouts (MPI derived datatypes), pack and
 * unpack them. This header includes all others.
 *
 * Device memory: calls without a stream are NOT ordered behind your CUDA work, not even
 * behind the legacy default stream; see convertor.h.
 */
#ifndef DTCONV_DTCONV_H
#define DTCONV_DTCONV_H

/**
 * @page interface Rules of the interface
 *
 * Describe a non-contiguous memory layout once, and pack, unpack or copy data of that
 * layout, on the host and on GPUs.
 *
 * @snippet test_snippets.c main
 *
 * | object | what it is |
 * |---|---|
 * | @ref type "type" | a memory layout, as MPI's derived datatypes describe it |
 * | @ref convertor "convertor" | packs a buffer into a contiguous stream or unpacks it, in fragments that begin and end at any byte |
 * | @ref flight "flight" | a fragment of a convertor's stream in flight, beside others |
 * | @ref batch "batch" | packs and unpacks many buffers at once |
 * | @ref copier "copier" | copies from one layout to another, started and tested |
 * | @ref pages "list of pages" | packs, unpacks and copies pages of a pool by their numbers, without a type |
 * | @ref reshard "reshard" | plans the messages between two distributions of an array |
 * | @ref segment "segment" | device memory that grows without moving, and that other processes map |
 * | @ref channel "channel" | messages to another process of the machine |
 * | @ref ipc "handle of memory" | maps device memory of another process |
 * | @ref context "context" | options, log, errors, counters: all other objects belong to one |
 *
 * Buffers may be device memory. **Calls without a stream, dtconv_pack() among them, are
 * not ordered behind the application's CUDA work, not even behind the legacy default
 * stream**, unless the context has #DTCONV_CONTEXT_DEFAULT_STREAM: see @ref device_memory
 * "Device memory".
 *
 * These rules hold for the whole interface:
 * - **Errors.** A function that can fail returns 0 or a negative enum dtconv_status, and
 *   leaves one sentence for dtconv_context_error(). Output arguments come last and are
 *   written only on success, except the number of moved bytes: it is valid even if the
 *   call fails.
 * - **NULL.** If an object or an output argument is NULL and the description does not
 *   allow it, the call returns DTCONV_ERR_INVAL; without a context at hand there is no
 *   sentence. Data pointers are not checked: NULL may be the base of absolute
 *   displacements.
 * - **Ownership.** Objects with one owner have `create` and `destroy`, types have `ref`
 *   and `unref`. `destroy` and `unref` accept NULL. User buffers are borrowed, never
 *   copied.
 * - **Threads.** A committed type is immutable and may be used by any number of threads.
 *   A convertor belongs to one thread at a time, and so do a batch and a copier. A context
 *   may be used by all threads.
 * - **Numbers.** Counts and sizes are size_t. Displacements, strides, extents and bounds
 *   are ptrdiff_t, in bytes unless stated otherwise.
 * - **Process.** The library never aborts or exits, prints nothing but its log, and keeps
 *   no global state.
 */

#include <dtconv/batch.h>
#include <dtconv/channel.h>
#include <dtconv/context.h>
#include <dtconv/convertor.h>
#include <dtconv/copier.h>
#include <dtconv/flight.h>
#include <dtconv/flow.h>
#include <dtconv/ipc.h>
#include <dtconv/memory.h>
#include <dtconv/operation.h>
#include <dtconv/pages.h>
#include <dtconv/path.h>
#include <dtconv/pool.h>
#include <dtconv/representation.h>
#include <dtconv/reshard.h>
#include <dtconv/segment.h>
#include <dtconv/status.h>
#include <dtconv/type.h>
#include <dtconv/version.h>

#endif
