/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thresholds that depend on the machine, some of them on the device: the table of all with
 * their defaults, and where a context keeps them. tuning.h reads them from a file.
 */
#ifndef DTC_THRESHOLDS_H
#define DTC_THRESHOLDS_H

#include <stddef.h>
#include <stdint.h>

/* The longest path of a tuning file, with the NUL. */
#define DTC_TUNING_PATH_MAX 1024

/* The most device names in a file, and the longest one, with the NUL. */
#define DTC_TUNED_DEVICES   16
#define DTC_DEVICE_NAME_MAX 128

/*
 * All thresholds. Each line becomes a member of struct dtc_tuning, a name in the file and a
 * line of `dtconv info`. Columns: name, default, minimum, maximum, meaning.
 *
 * stream_bytes: larger targets exceed one core's share of the last-level cache on current CPUs.
 * dtc_stream_bytes_by_cache raises the default on CPUs with a very large cache.
 *
 * share_bytes: below it, waking a thread costs more than it saves.
 *
 * staging_threads: together they copy about as fast as the bus of an H200 (doc/performance.md).
 *
 * fragment_*: a fragment of the default size takes the bus of an H200 5 us, as long as a launch. Of four, one is packed
 * while others are ready, in the network, and on their way back.
 *
 * device_*: the planner's cost model; the defaults are measured on an H200 (PCIe 5). Only these
 * may differ between device names in the file.
 */
#define DTC_THRESHOLDS(X)                                                             \
	X(stream_bytes, UINT64_C(8) << 20, 0, INT64_MAX,                              \
	  "targets of at least this many bytes are written with non-temporal stores") \
	X(share_bytes, UINT64_C(256) << 10, 1, INT64_MAX,                             \
	  "least bytes per thread when a call is split among threads")                \
	X(device_wake_ns, 6000, 0, 1000000000,                                        \
	  "nanoseconds until the host sees the completion of a device job")           \
	X(device_launch_ns, 5300, 0, 1000000000, "nanoseconds per kernel launch")     \
	X(device_copy_ns, 2300, 0, 1000000000,                                        \
	  "nanoseconds per copy call of the device driver")                           \
	X(device_rate, 2000, 1, 1000000, "GB/s of copies within a device")            \
	X(device_bus_rate, 55, 1, 1000000,                                            \
	  "GB/s between a device and pinned host memory")                             \
	X(device_peer_rate, 390, 1, 1000000, "GB/s from one device to another")       \
	X(device_pageable_rate, 16, 1, 1000000,                                       \
	  "GB/s from pageable host memory to a device by driver copies")              \
	X(device_staged_rate, 33, 1, 1000000,                                         \
	  "GB/s between a device and pageable host memory through staging buffers")   \
	X(staging_threads, 4, 1, 64,                                                  \
	  "most threads that copy between staging buffers and pageable host memory")  \
	X(fragment_bytes, UINT64_C(256) << 10, 256, UINT64_C(1) << 30,                \
	  "most bytes of a fragment that a send packs")                               \
	X(fragment_depth, 4, 1, 16, "most fragments of a send in use at a time")

#define DTC_COUNT_THRESHOLD(name, normal, least, most, what) +1

#define DTC_THRESHOLD_COUNT (0 DTC_THRESHOLDS(DTC_COUNT_THRESHOLD))

#define DTC_THRESHOLD_MEMBER(name, normal, least, most, what) uint64_t name;

/* What became of the tuning file. */
enum dtc_tuning_origin {
	DTC_TUNING_OFF,      /* DTCONV_TUNING is `none`, or no variable gives a path */
	DTC_TUNING_MISSING,  /* there is none */
	DTC_TUNING_REFUSED,  /* rejected or unreadable */
	DTC_TUNING_STRANGER, /* written for another machine */
	DTC_TUNING_READ      /* thresholds that it does not set keep their defaults */
};

struct dtc_tuning {
	DTC_THRESHOLDS(DTC_THRESHOLD_MEMBER)
};

/* The thresholds of devices with a given name; only the device_* members are used. */
struct dtc_tuned_device {
	char name[DTC_DEVICE_NAME_MAX];
	struct dtc_tuning tuning;
};

struct dtc_tuning_file {
	enum dtc_tuning_origin origin;
	char path[DTC_TUNING_PATH_MAX]; /* empty if the origin is off */
	size_t device_count;
	struct dtc_tuned_device devices[DTC_TUNED_DEVICES];
};

#endif
