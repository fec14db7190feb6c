/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning file: reads the thresholds of this machine, and describes those in force.
 */
#ifndef DTC_TUNING_H
#define DTC_TUNING_H

#include "thresholds.h"

#include <stddef.h>
#include <stdint.h>

struct dtc_text;
struct dtconv_context;

/* A file of this length or more is rejected. */
#define DTC_TUNING_FILE_MAX 65536

/*
 * The default of stream_bytes for a shared last-level cache of @last_cache bytes (0: unknown).
 * It is a fraction of the cache, because the user's buffer with its gaps needs room there as
 * well.
 */
uint64_t dtc_stream_bytes_by_cache(uint64_t last_cache);

/*
 * Read the thresholds of this machine, whose kernel set is named @kernels. The context has to
 * be able to log. This cannot fail: problems are logged, and the defaults stay.
 */
void dtc_tuning_read(struct dtconv_context *context, const char *kernels);

/*
 * The thresholds for devices of that name: those that the file gives for it, or those of all
 * devices.
 */
const struct dtc_tuning *dtc_tuning_of_device(const struct dtconv_context *context,
					      const char *name);

/* How a tuning file names this machine with a kernel set; always shorter than a line. */
void dtc_tuning_machine(const char *kernels, char *name, size_t capacity);

/* Describe in words what became of the file. */
const char *dtc_tuning_state(const struct dtc_tuning_file *file);

/* Describe the machine, the file, the thresholds and the file's devices, one a line. */
void dtc_tuning_describe(const struct dtconv_context *context, const char *kernels,
			 struct dtc_text *text);

#endif
