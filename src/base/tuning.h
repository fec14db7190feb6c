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

/* A file of this length or more is none of ours. */
#define DTC_TUNING_FILE_MAX 65536

/*
 * The default of stream_bytes where the last cache, which others share, has @last_cache bytes;
 * 0 if it is unknown. It is a part of that cache, because the user's buffer with its gaps needs
 * room there as well.
 */
uint64_t dtc_stream_bytes_by_cache(uint64_t last_cache);

/*
 * Read the thresholds of this machine, which runs the kernels of that name. The context can
 * already log. It cannot fail: what is wrong is logged, and the defaults stay.
 */
void dtc_tuning_read(struct dtconv_context *context, const char *kernels);

/* What holds for devices of that name: the file's own figures, or those of all devices. */
const struct dtc_tuning *dtc_tuning_of_device(const struct dtconv_context *context,
					      const char *name);

/*
 * The name of this machine, with the kernel set of that name, in a tuning file; always shorter
 * than a line.
 */
void dtc_tuning_machine(const char *kernels, char *name, size_t capacity);

/* What became of the file, in words. */
const char *dtc_tuning_state(const struct dtc_tuning_file *file);

/* Describe the machine, the file, the thresholds and the devices of the file, one a line. */
void dtc_tuning_describe(const struct dtconv_context *context, const char *kernels,
			 struct dtc_text *text);

#endif
