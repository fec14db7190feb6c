/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several fragments of one convertor in flight, each at its own position of the stream.
 */
#ifndef DTCONV_FLIGHT_H
#define DTCONV_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/convertor.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup flight Flights
 * @brief Move several fragments of one stream at the same time.
 *
 * @snippet test_snippets.c flight
 *
 * dtconv_convertor_start() has one operation in flight for each convertor. A pipeline
 * needs more: while one fragment is sent, the device packs the next ones. A flight is one
 * such fragment. Any number of flights of a convertor may be in flight, at any positions
 * in any order, and they end in any order.
 *
 * - A flight has its own status and its own part of the checksum. If it fails, the others
 *   go on, and the convertor's checksum does not contain its bytes.
 * - Fragments may be cut anywhere. With a representation or an operation, elements that a
 *   cut divides are moved by the host, and starting such a flight blocks for that:
 *   dtconv_flight_granularity() says where cuts divide no element.
 * - Starting never waits for another job. Where a resource is missing, it returns
 *   DTCONV_ERR_AGAIN and nothing has happened.
 * - Two flights must not move the same bytes of the stream at the same time, except when
 *   both pack.
 * - While flights are in flight, other calls of the convertor but query return
 *   DTCONV_ERR_STATE. dtconv_convertor_destroy() waits for them; they keep their status.
 * - The convertor's position is behind the flight that was started last.
 * - A convertor belongs to one thread at a time, and its flights with it. Flights of
 *   different convertors are independent.
 * - Without DTCONV_CONVERTOR_STREAM, flights are in no order among each other.
 * @{
 */

/**
 * A fragment in flight, in memory of the caller's, who neither reads, moves nor changes it
 * until the flight has ended. Needs no initialisation and no destruction.
 */
struct dtconv_flight {
	/** the library's own */
	union {
		void *pointer;
		uint64_t words[40];
	} opaque;
};

/**
 * Start to pack or unpack a fragment at any position of the stream.
 *
 * @param convertor the convertor, of either direction.
 * @param flight    [out] the flight, which is not in flight.
 * @param position  offset of the fragment in the stream, in bytes.
 * @param packed    packed memory: written by a convertor that packs, read by one that
 *                  unpacks; borrowed until the flight has ended.
 * @param bytes     length of the fragment in bytes.
 * @return 0 if it is in flight or has ended already; DTCONV_ERR_AGAIN if a resource is
 *         missing, and nothing has happened: test other flights, then call again;
 *         DTCONV_ERR_INVAL if the fragment does not end within the stream;
 *         DTCONV_ERR_STATE if an operation that dtconv_convertor_start() has started is in
 *         flight; the error of the flight if it failed at once: see @ref device_errors
 *         "device memory". After any failure the flight is not in flight.
 *
 * Host memory is copied before the call returns. Device work does not block the call,
 * except in the cases that @ref device_blocking "Blocking calls" lists. Does not allocate
 * in the steady state.
 */
DTCONV_API int dtconv_flight_start(struct dtconv_convertor *convertor,
				   struct dtconv_flight *flight, size_t position,
				   void *packed, size_t bytes);

/**
 * Ask whether a flight has ended.
 *
 * @param flight a flight that was started.
 * @param moved  [out] number of bytes moved, once it has ended; may be NULL. 0 if a device
 *               failed.
 * @return DTCONV_INPROGRESS; then the flight's status, 0 or an error, as often as asked.
 *
 * Never blocks. Call it in the thread that uses the convertor.
 */
DTCONV_API int dtconv_flight_test(struct dtconv_flight *flight, size_t *moved);

/**
 * Wait until a flight has ended.
 *
 * @param flight a flight that was started.
 * @param moved  [out] as in dtconv_flight_test().
 * @return the flight's status, 0 or an error.
 */
DTCONV_API int dtconv_flight_wait(struct dtconv_flight *flight, size_t *moved);

/**
 * Ask which of many flights have ended.
 *
 * @param flights [in] flights that were started, of any convertors of this thread.
 * @param count   number of flights.
 * @param status  [out] for each of them what dtconv_flight_test() returns.
 * @param ended   [out] number of flights that are not in flight; may be NULL.
 * @return 0, also if flights have failed; DTCONV_ERR_INVAL.
 *
 * Never blocks.
 */
DTCONV_API int dtconv_flight_test_many(struct dtconv_flight *const flights[],
				       size_t count, int status[], size_t *ended);

/**
 * Ask where a stream may be cut without dividing an element.
 *
 * @param convertor the convertor.
 * @param bytes     [out] fragments that begin and end at multiples of this divide no
 *                  element that has to be moved as a whole: 1 without a representation and
 *                  an operation; the element's size in the stream if all elements have the
 *                  same size; else the size of one instance of the type.
 * @return 0; DTCONV_ERR_INVAL.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_flight_granularity(const struct dtconv_convertor *convertor,
					 size_t *bytes);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
