/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy-backend interface: a backend is handed a whole job, never single blocks. Each
 * vendor has one folder and one row or more in the registry.
 */
#ifndef DTC_BACKEND_H
#define DTC_BACKEND_H

#include <stdbool.h>

#include <dtconv/convertor.h>

#include "copy_backends/memory/memory.h"
#include "datatype/cursor.h"
#include "kernels/cpu.h"

/* Move the next @bytes bytes of the cursor's stream; the cursor stands behind them after. */
struct dtc_job {
	struct dtc_cursor *cursor;
	char *user; /* displacement 0 */
	char *packed;
	uint64_t bytes;
	uint64_t
		row_bytes; /* of packed memory that this move, and moves before it, fill in one row */
	enum dtc_direction direction;
	/* What follows, devices read; all of it may be 0 where both sides are the host's. */
	struct dtconv_context *context;
	const struct dtconv_type *type; /* whose name the log may tell, or NULL */
	struct dtc_memory user_memory;
	struct dtc_memory packed_memory;
	bool on_stream; /* in the order of @stream, which may be NULL: the default stream */
	bool started;   /* nobody waits for it at once */
	void *stream;
	uint32_t
		forbidden; /* backends that the caller does not allow, see backend_set.h */
	bool at_packed;     /* between two devices: by the one that has packed memory */
	const char *caller;
};

/* What a submitted job is waited for by. A job that ended in submit has no backend here. */
struct dtc_event {
	const struct dtc_backend_ops *backend;
	const char *caller;
	void *owner; /* what follows is the backend's */
	void *stream;
	uint64_t value;
	uint64_t looked_ns;
	uint32_t slot;
	bool recorded;   /* the driver's own event tells the end */
	uint32_t answer; /* of a checksum that has ended; see copy_backends/checksum.h */
};

/* The first @bytes of a stream, in one kind of memory on each side. */
struct dtc_stretch {
	const struct dtc_layout *layout;
	uint64_t count; /* of instances */
	uint64_t bytes; /* more than 0 */
	char *user;     /* displacement 0 */
	char *packed;
	struct dtc_memory user_memory;
	struct dtc_memory packed_memory;
};

/* Stretches of one direction that are moved together. */
struct dtc_batch_job {
	const struct dtc_stretch *const *stretches;
	size_t count;
	enum dtc_direction direction;
	struct dtconv_context *context;
	bool on_stream;
	void *stream;
	const char *caller;
	bool started; /* nobody waits for it at once */
	bool changed; /* the stretches are not those of the last submission */
	void *kept; /* the backend's, from one submission to the next; NULL before the first */
};

/* What a plan is made for. */
struct dtc_question {
	const struct dtc_layout *layout;
	uint64_t count;
	uint64_t bytes; /* packed */
	enum dtconv_memory_kind user_kind;
	enum dtconv_memory_kind packed_kind;
	enum dtc_direction direction;
	struct dtconv_context *context;
	uint32_t forbidden; /* backends that are not asked */
	bool on_stream;     /* in the order of a stream of the caller's */
	bool started;       /* nobody waits for it at once */
	bool is_run;        /* what if all bytes were one run? */
	bool is_mapped;     /* the user's memory is made of mappings */
	bool is_between;    /* the sides are memory of two devices */
	int device; /* the vendor's ordinal of the one that moves; below 0: taken for 0 */
};

/* What a plan for a job is made for. */
struct dtc_question dtc_question_of(const struct dtc_job *job);

/* Whether no work of a stream can read or write either side. */
static inline bool dtc_question_is_ordinary(const struct dtc_question *question)
{
	return question->user_kind == DTCONV_MEMORY_HOST &&
	       question->packed_kind == DTCONV_MEMORY_HOST;
}

/* Whether no device sees one of the sides, or both. */
static inline bool dtc_question_has_ordinary(const struct dtc_question *question)
{
	return question->user_kind == DTCONV_MEMORY_HOST ||
	       question->packed_kind == DTCONV_MEMORY_HOST;
}

struct dtc_text;
struct dtc_vendor_ops;

struct dtc_backend_ops {
	const char *name; /* stable, for logs and explanations */
	const char *what; /* one line: what it moves with */
	const struct dtc_vendor_ops *vendor; /* whose devices it needs; NULL: none */
	/*
	 * Whether it moves what is asked; if not, one reason. No device call; the same question has the
	 * same answer for ever.
	 */
	bool (*can)(const struct dtc_question *question, const char **reason);
	/* Estimated nanoseconds; no allocation, no call that a device is busy with or that may wait. */
	double (*estimate)(const struct dtc_question *question);
	/* Optional: say in a few words how it would move; part of a sentence. */
	void (*detail)(const struct dtc_question *question, struct dtc_text *text);
	/* Start the job; may finish at once. 0 or a negative status, with its sentence. */
	int (*submit)(const struct dtc_job *job, struct dtc_event *event);
	/*
	 * Optional. Start many stretches as one; what of them is in flight ends with the event. What is
	 * kept is given back by forget, when nothing of it is in flight.
	 */
	int (*submit_batch)(struct dtc_batch_job *job, struct dtc_event *event);
	void (*forget)(void *kept);
	/*
	 * 0: done; DTCONV_INPROGRESS; or the failure, with its sentence. Anything but
	 * DTCONV_INPROGRESS ends the event.
	 */
	int (*test)(struct dtc_event *event);
};

extern const struct dtc_backend_ops dtc_host_backend;

/* All backends of this build, in order of preference; ends with NULL. */
extern const struct dtc_backend_ops *const dtc_backends[];

/* The index in dtc_backends of the backend of that name, or -1. */
int dtc_backend_index(const char *name);

#endif
