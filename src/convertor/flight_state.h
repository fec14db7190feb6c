/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a flight consists of: a fragment of a convertor's stream that is being moved. flight.h has its functions.
 */
#ifndef DTC_FLIGHT_STATE_H
#define DTC_FLIGHT_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "convertor/pending_checksum.h"
#include "copy_backends/backend.h"

struct dtconv_convertor;

struct dtc_flight {
	struct dtconv_convertor *convertor;
	size_t position;        /* of its first byte in the stream */
	size_t moved;           /* bytes; 0 if the device failed */
	int status;             /* DTCONV_INPROGRESS, or how it ended */
	struct dtc_event event; /* without a backend it has completed */
	struct dtc_pending_checksum checksum;
	/* In the convertor's list while it is in flight. */
	struct dtc_flight *next, **place;
};

#endif
