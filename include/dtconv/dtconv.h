/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdtconv: derived datatypes and their movement. This header includes all the others.
 */
#ifndef DTCONV_DTCONV_H
#define DTCONV_DTCONV_H

/**
 * @page interface Rules of the interface
 *
 * A type describes a non-contiguous layout in memory (@ref type); a convertor packs a buffer
 * of that type into a contiguous stream, or unpacks one, in fragments that may begin and end
 * at any byte (@ref convertor); a batch moves many buffers at once (@ref batch); a context holds
 * what they share (@ref context).
 *
 * Rules that hold for the whole interface:
 * - **Errors.** A function that can fail returns 0 or a negative enum dtconv_status, and
 *   leaves one sentence for dtconv_context_error. Output arguments are last and are written
 *   only on success; the moved-bytes outputs are exact even on failure.
 * - **NULL.** An object or an output argument that is NULL where the description does not
 *   allow it is answered with DTCONV_ERR_INVAL. There is no sentence then if no context is at
 *   hand. Data pointers are not looked at: they may be absolute.
 * - **Ownership.** `create` and `destroy` for things with one owner, `ref` and `unref` for
 *   types. `destroy` and `unref` accept NULL. User buffers are borrowed, never copied.
 * - **Threads.** A committed type is immutable and may be used by any number of threads. A
 *   convertor belongs to one thread at a time. A context may be used by all.
 * - **Numbers.** Counts and sizes are size_t; displacements, strides, extents and bounds are
 *   ptrdiff_t, in bytes unless said otherwise.
 * - The library never aborts, exits or prints (but for the log), and keeps no global state.
 */

#include <dtconv/batch.h>
#include <dtconv/context.h>
#include <dtconv/convertor.h>
#include <dtconv/memory.h>
#include <dtconv/operation.h>
#include <dtconv/representation.h>
#include <dtconv/status.h>
#include <dtconv/type.h>
#include <dtconv/version.h>

#endif
