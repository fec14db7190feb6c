/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by Check suites of types and convertors: one context for each case, types from text,
 * and moves that are verified at once. Every function fails the running case if something is
 * wrong.
 */
#ifndef TEST_SUPPORT_FIXTURE_H
#define TEST_SUPPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

#include "support/choices.h"
#include "support/marks.h"
#include "support/stage.h"
#include "support/status.h"
#include "support/typed_case.h"

/*
 * The case's context; made before it and destroyed after it. A case fails if it leaves a type
 * behind, or if the context leaves memory.
 */
extern struct dtconv_context *fixture_context;

/* Flags that it is made with, more than those for counters; set before the suite runs. */
extern unsigned fixture_flags;

/* Called behind each case, before its context is destroyed and also if it has failed; NULL: nothing is. */
extern void (*fixture_behind)(void);

/* How often the context's allocator has been called, to allocate or to free. */
size_t fixture_allocations(void);

/* From now on a thread of the context gets as few bytes as these, and cuts may be anywhere. */
void fixture_share(struct dtconv_context *context, size_t bytes);

/* A test case with that fixture, added to the suite, allowed so many seconds. */
TCase *fixture_case(Suite *suite, const char *name, double seconds);

/* Runs a suite as CK_* variables ask for; answers what main returns. */
int fixture_run(Suite *suite);

/* Whether everything is asked for (DTCONV_TEST_SLICE=all), not the slice that is fast. */
bool fixture_everything(void);

/* A committed type, one reference owned by the caller. */
struct dtconv_type *fixture_type(const char *text);
struct dtconv_type *fixture_type_in(struct dtconv_context *context, const char *text);

/* What the case's context has counted. */
struct dtconv_counters fixture_counters(void);

/* The numbers of a type. */
struct dtconv_type_attr fixture_attr(const struct dtconv_type *type);

/* The error text of this thread's last failure. */
const char *fixture_error(void);

/* Assert that a call answers a status, or success, and say the error text if not. */
#define fixture_status(call, expected) status_must_be(call, expected, fixture_error())
#define fixture_ok(call)               fixture_status(call, DTCONV_SUCCESS)

/* What a context says of itself, however long that is on this machine; valid until the next call. */
const char *fixture_info(struct dtconv_context *context);

/* The case's random numbers: from DTCONV_TEST_SEED, else fixed; a failure names the seed. */
struct choices fixture_choices(uint64_t salt);

/* A stage of a text form; what is special about it is named if anything fails. */
void fixture_open(struct stage *stage, const char *text, size_t count);
void fixture_close(struct stage *stage);

struct dtconv_convertor *fixture_pack(const struct stage *stage);
struct dtconv_convertor *fixture_unpack(const struct stage *stage);

/* Parameters that ask for the order of a stream, or for one of some backends. */
struct dtconv_convertor_params fixture_in_stream(void *stream);
struct dtconv_convertor_params fixture_by(const char *backends);

/* A convertor that is configured as @params say. */
struct dtconv_convertor *fixture_packer(struct dtconv_type *type, size_t count,
					const void *buffer,
					const struct dtconv_convertor_params *params);
struct dtconv_convertor *fixture_unpacker(struct dtconv_type *type, size_t count,
					  void *buffer,
					  const struct dtconv_convertor_params *params);

/* Packs the next fragment, which begins at position, into guarded memory, and compares. */
void fixture_pack_next(const struct stage *stage, struct dtconv_convertor *convertor,
		       size_t position, size_t bytes);

/* Unpacks the next fragment, which begins at position; fixture_arrived looks at the result. */
void fixture_unpack_next(struct stage *stage, struct dtconv_convertor *convertor,
			 size_t position, size_t bytes);

/* Everything unpacked so far is in its place and every other byte is untouched. */
void fixture_arrived(const struct stage *stage);

/*
 * A type, or a text form, with a representation (NULL: native) and an operation, moved each
 * way; nothing happens if it is not fit (see support/typed_case.h).
 */
void fixture_move_typed(struct dtconv_type *type, size_t count,
			const struct dtconv_representation *representation,
			enum dtconv_op op, struct choices *choices);
void fixture_move_typed_text(const char *text, size_t count,
			     const struct dtconv_representation *representation,
			     enum dtconv_op op, struct choices *choices);

/* A configured convertor of a typed case. */
struct dtconv_convertor *fixture_typed(const struct typed_case *tc, bool packs);

void fixture_seek(struct dtconv_convertor *convertor, size_t position);
size_t fixture_position(const struct dtconv_convertor *convertor);

/* The sizes that cut badly: 1 to 64, then 2^k and a little off. Answers 0 past the last. */
size_t fixture_size(size_t index);

#endif
