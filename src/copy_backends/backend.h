/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The copy-backend interface. A backend receives whole jobs, never single blocks. Each vendor has one
 * folder, and one or more entries in the registry.
 */
#ifndef DTC_BACKEND_H
#define DTC_BACKEND_H

#include <stdbool.h>

#include <dtconv/convertor.h>

#include "base/context.h"
#include "copy_backends/memory/memory.h"
#include "datatype/cursor.h"
#include "kernels/cpu/kernels.h"

/* Move the next @bytes bytes of the cursor's stream and advance the cursor by them. */
struct dtc_job {
	struct dtc_cursor *cursor;
	char *user; /* displacement 0 */
	char *packed;
	uint64_t bytes;
	/* Of consecutive packed memory that this move and moves before it fill. */
	uint64_t row_bytes;
	enum dtc_direction direction;
	/* The rest is for device backends and may be 0 if both sides are host memory. */
	struct dtconv_context *context;
	const struct dtconv_type *type; /* for the log, or NULL */
	struct dtc_memory user_memory;
	struct dtc_memory packed_memory;
	bool on_stream; /* ordered by @stream; NULL is the default stream */
	bool awaited;   /* all work that it is ordered behind has completed */
	bool started;   /* the caller does not wait for it immediately */
	bool no_wait;   /* fails with AGAIN where it would wait for another job */
	bool unattended; /* no completion is recorded: only the stream orders what follows */
	void *stream;
	/* Backends that the caller does not allow, see backend_set.h. */
	uint32_t forbidden;
	bool at_packed; /* between two devices: the one that owns the packed memory moves */
	/* From one layout to another: the user's side is the source, the packed side the target's displacement 0. */
	bool between_layouts;
	const char *caller;
};

/* The completion of a submitted job. Without a backend, the job has completed in submit. */
struct dtc_event {
	const struct dtc_backend_ops *backend;
	const char *caller;
	void *owner; /* from here on the backend's own */
	void *stream;
	uint64_t value;
	uint64_t looked_ns;
	uint32_t slot;
	bool recorded; /* the driver's event signals completion */
	/* The result of a completed checksum or list of pages; see copy_backends/checksum.h and pages.h. */
	uint64_t answer;
};

/*
 * The first @bytes of a stream, in one kind of memory on each side. From one layout to another, the user's side is the
 * source, the packed side the target's displacement 0.
 */
struct dtc_stretch {
	const struct dtc_layout *layout;
	uint64_t count;                  /* of instances */
	const struct dtc_layout *target; /* if it is a copy between layouts */
	uint64_t target_count;
	uint64_t bytes; /* more than 0 */
	char *user;     /* displacement 0 */
	char *packed;
	struct dtc_memory user_memory;
	struct dtc_memory packed_memory;
};

/* Stretches of one direction, or copies between layouts, that one submission moves. */
struct dtc_batch_job {
	const struct dtc_stretch *const *stretches;
	size_t count;
	enum dtc_direction direction;
	bool between_layouts; /* all are copies, and the direction is to pack */
	struct dtconv_context *context;
	bool on_stream;
	void *stream;
	const char *caller;
	bool started; /* the caller does not wait for it immediately */
	bool changed; /* the stretches differ from those of the last submission */
	void *kept; /* what the backend keeps between submissions; NULL before the first */
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
	uint32_t forbidden; /* backends that may not be chosen */
	bool on_stream; /* ordered by a stream of the caller's, or by the default stream */
	bool started;       /* the caller does not wait for it immediately */
	bool is_run;        /* estimate as if all bytes were one run */
	bool is_mapped;     /* the user's memory is made of mappings */
	bool is_between;    /* the sides are memory of two devices */
	int device;         /* the ordinal of the device that moves; negative: 0 */
};

/* What a plan for a job is made for. */
struct dtc_question dtc_question_of(const struct dtc_job *job);

/*
 * Whether a job is ordered by a stream of the application's: its own, or with DTCONV_CONTEXT_DEFAULT_STREAM the
 * legacy default stream, with which the library's stream is in order then.
 */
static inline bool dtc_job_is_ordered(const struct dtc_job *job)
{
	return job->on_stream || (job->context->devices.default_stream && !job->awaited);
}

/* Whether both sides are host memory, which no stream-ordered work accesses. */
static inline bool dtc_question_is_ordinary(const struct dtc_question *question)
{
	return question->user_kind == DTCONV_MEMORY_HOST &&
	       question->packed_kind == DTCONV_MEMORY_HOST;
}

/* Whether devices cannot access one side, or both. */
static inline bool dtc_question_has_ordinary(const struct dtc_question *question)
{
	return question->user_kind == DTCONV_MEMORY_HOST ||
	       question->packed_kind == DTCONV_MEMORY_HOST;
}

struct dtc_alarm;
struct dtc_text;
struct dtc_vendor_ops;

struct dtc_backend_ops {
	const char *name; /* stable, for logs and explanations */
	const char *what; /* one line: what it moves with */
	/* The vendor whose devices it needs; NULL: none. */
	const struct dtc_vendor_ops *vendor;
	/*
	 * Whether the backend supports the job; if not, one reason. Makes no device call, and always
	 * answers the same question in the same way.
	 */
	bool (*can)(const struct dtc_question *question, const char **reason);
	/* Estimated nanoseconds. Does not allocate, use a device or block. */
	double (*estimate)(const struct dtc_question *question);
	/* Optional: describe in a few words how the backend would move the job; part of a sentence. */
	void (*detail)(const struct dtc_question *question, struct dtc_text *text);
	/* Start the job, which may complete at once. 0, or a negative status with its error text. */
	int (*submit)(const struct dtc_job *job, struct dtc_event *event);
	/*
	 * Optional. Start several stretches in one submission; the event completes when all of them have.
	 * Fails with LIMIT, without an error text, if it cannot copy between such layouts together. forget frees what the backend keeps, when nothing of it is in flight.
	 */
	int (*submit_batch)(struct dtc_batch_job *job, struct dtc_event *event);
	void (*forget)(void *kept);
	/*
	 * Never blocks. 0: completed; DTCONV_INPROGRESS; or a failure with its error text. Do not use the
	 * event after anything but DTCONV_INPROGRESS.
	 */
	int (*test)(struct dtc_event *event);
	/* Optional: see dtc_event_set_alarm. Not for jobs that the host has to move on while they are in flight. */
	bool (*set_alarm)(const struct dtc_event *event, const struct dtc_alarm *alarm);
};

extern const struct dtc_backend_ops dtc_host_backend;

/* All backends of this build, in order of preference; ends with NULL. */
extern const struct dtc_backend_ops *const dtc_backends[];

/* The index in dtc_backends of the backend called @name, or -1. */
int dtc_backend_index(const char *name);

#endif
