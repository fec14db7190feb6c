/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner and its explanation: who is a candidate for which memory, and what is said of a
 * job that nobody can move.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "copy_backends/plan.h"
#include "datatype/type.h"
#include "support/fixture.h"
#ifdef HAVE_CUDA
#include "copy_backends/cuda/planning/cost_model.h"
#include "support/marks.h"
#endif

static const char *explain(const struct dtconv_type *type, size_t count,
			   enum dtconv_memory_kind user, enum dtconv_memory_kind packed)
{
	static char text[4096];
	size_t length;

	fixture_ok(
		dtconv_explain(type, count, user, packed, text, sizeof(text), &length));
	ck_assert_uint_eq(length, strlen(text));
	return text;
}

static const struct dtc_backend_ops *choice(const struct dtconv_type *type, size_t count,
					    enum dtconv_memory_kind user,
					    enum dtconv_memory_kind packed)
{
	const struct dtc_layout *layout = dtc_type_layout(type);

	return dtc_plan_choose(&(struct dtc_question){ .layout = layout,
						       .count = count,
						       .bytes = layout->size * count,
						       .user_kind = user,
						       .packed_kind = packed });
}

START_TEST(host_and_pinned_memory_go_to_the_host_backend)
{
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	const enum dtconv_memory_kind kinds[] = { DTCONV_MEMORY_HOST, DTCONV_MEMORY_PINNED };

	/* Of whatever length. */
	for (size_t count = 3; count < 1000000; count *= 5)
		for (size_t i = 0; i < 4; i++)
			ck_assert_ptr_eq(choice(type, count, kinds[i / 2], kinds[i % 2]),
					 &dtc_host_backend);
	dtconv_type_unref(type);
}
END_TEST

/* What moves device memory: nothing in a build without CUDA. */
#ifdef HAVE_CUDA
#define CHOICE(name) name
#else
#define CHOICE(name) "none"
#endif

START_TEST(device_memory_goes_to_the_backend_that_is_made_for_it)
{
	static const struct {
		const char *expr;
		size_t count;
		enum dtconv_memory_kind user, packed;
		const char *backend;
	} cases[] = {
		{ "vector(100, 1, 2, double)", 10000, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_DEVICE, CHOICE("cuda_kernel") },
		{ "vector(100, 1, 2, double)", 1000, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_PINNED, CHOICE("cuda_kernel") },
		{ "vector(100, 1, 2, double)", 1000, DTCONV_MEMORY_HOST,
		  DTCONV_MEMORY_DEVICE, CHOICE("cuda_staged") },
		{ "contiguous(100000000, double)", 1, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_PINNED, CHOICE("cuda_copy") },
		/* Long rows are for the copy engine, short ones and boxes of many are not. */
		{ "vector(100000, 32, 64, double)", 1, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_PINNED, CHOICE("cuda_copy") },
		{ "vector(200000, 8, 16, double)", 1, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_PINNED, CHOICE("cuda_kernel") },
		{ "vector(2000000, 8, 16, double)", 1, DTCONV_MEMORY_DEVICE,
		  DTCONV_MEMORY_PINNED, CHOICE("cuda_relay") },
		{ "subarray([500,500,500], [400,400,400], [0,0,0], c, double)", 1,
		  DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE, CHOICE("cuda_kernel") },
	};
	struct dtconv_type *type = fixture_type(cases[_i].expr);
	const struct dtc_backend_ops *backend =
		choice(type, cases[_i].count, cases[_i].user, cases[_i].packed);

	ck_assert_str_eq(backend ? backend->name : "none", cases[_i].backend);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(the_reason_is_given_for_who_cannot)
{
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	const char *text = explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST);

	ck_assert_ptr_nonnull(strstr(text, "cannot access device memory"));
	ck_assert_int_eq(strstr(text, "no backend of this build can move it") == NULL,
			 !strcmp(CHOICE("some"), "some"));
	dtconv_type_unref(type);
}
END_TEST

/* ---- the data behind the text ----------------------------------------------------------- */

static struct dtconv_explanation rated(const struct dtconv_type *type,
				       enum dtconv_memory_kind user,
				       enum dtconv_memory_kind packed, size_t place)
{
	struct dtconv_explanation explanation = { .struct_size = sizeof(explanation) };

	fixture_ok(dtconv_explain_backend(type, 1, user, packed,
					  dtc_backends[place]->name, &explanation));
	return explanation;
}

/* One direction of one pair: the winner is the planner's, and no candidate costs less. */
static void check_winner(const struct dtconv_type *type, enum dtconv_memory_kind user,
			 enum dtconv_memory_kind packed, enum dtc_direction direction)
{
	const struct dtc_question question = { .layout = dtc_type_layout(type),
					       .count = 1,
					       .bytes = dtc_type_layout(type)->size,
					       .user_kind = user,
					       .packed_kind = packed,
					       .direction = direction,
					       .context = fixture_context };
	int winner = dtc_plan_choose_index(&question);

	for (size_t i = 0; dtc_backends[i]; i++) {
		const struct dtconv_explanation e = rated(type, user, packed, i);
		bool packs = direction == DTC_PACK;
		double ns = packs ? e.pack_ns : e.unpack_ns;
		const char *reason = NULL;

		ck_assert_int_eq(packs ? e.chosen_to_pack : e.chosen_to_unpack,
				 winner == (int)i);
		ck_assert_int_eq(e.refused == NULL,
				 dtc_backends[i]->can(&question, &reason));
		ck_assert(ns == (e.refused ? 0 : dtc_backends[i]->estimate(&question)));
	}
}

START_TEST(each_direction_has_the_planners_winner)
{
	static const char *const layouts[] = { "vector(1000, 2, 5, double)",
					       "vector(3000, 3, 7, byte)",
					       "vector(20000, 5, 9, double)",
					       "hvector(70000, 100, 300, byte)" };
	struct dtconv_type *type = fixture_type(layouts[_i]);

	for (int user = DTCONV_MEMORY_HOST; user <= DTCONV_MEMORY_DEVICE; user++)
		for (int packed = DTCONV_MEMORY_HOST; packed <= DTCONV_MEMORY_DEVICE;
		     packed++) {
			check_winner(type, (enum dtconv_memory_kind)user,
				     (enum dtconv_memory_kind)packed, DTC_PACK);
			check_winner(type, (enum dtconv_memory_kind)user,
				     (enum dtconv_memory_kind)packed, DTC_UNPACK);
		}
	dtconv_type_unref(type);
}
END_TEST

#ifdef HAVE_CUDA
/* Reading over the bus and writing over it do not cost the same, so that one winner does not tell the other. */
START_TEST(directions_may_have_different_winners)
{
	struct dtconv_type *type = fixture_type("vector(1000000, 2, 5, double)");
	size_t differences = 0;

	for (size_t i = 0; dtc_backends[i]; i++) {
		const struct dtconv_explanation e =
			rated(type, DTCONV_MEMORY_PINNED, DTCONV_MEMORY_PINNED, i);

		differences += e.chosen_to_pack != e.chosen_to_unpack;
	}
	ck_assert_uint_eq(differences, 2);
	check_winner(type, DTCONV_MEMORY_PINNED, DTCONV_MEMORY_PINNED, DTC_UNPACK);
	dtconv_type_unref(type);
}
END_TEST
#endif

/* The text has every candidate with the numbers and reasons of the query. */
START_TEST(the_text_says_what_the_query_answers)
{
	struct dtconv_type *type = fixture_type("vector(1000, 2, 5, double)");

	for (size_t i = 0; dtc_backends[i]; i++) {
		const struct dtconv_explanation e =
			rated(type, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED, i);
		const char *text =
			explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED);
		char line[400];

		snprintf(line, sizeof(line),
			 "  candidate %s (%s): ", dtc_backends[i]->name, e.what);
		if (e.refused)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s\n",
				 e.refused);
		else
			snprintf(line + strlen(line), sizeof(line) - strlen(line),
				 "about %.0f ns", e.pack_ns);
		ck_assert_msg(strstr(text, line) != NULL, "no '%s' in: %s", line, text);
		ck_assert_str_eq(e.shape, "strided");
	}
	dtconv_type_unref(type);
}
END_TEST

/* A program that was compiled with a shorter struct gets no byte more. */
START_TEST(an_explanation_is_as_long_as_its_caller_knows_it)
{
	struct dtconv_type *type = fixture_type("vector(1000, 2, 5, double)");
	struct dtconv_explanation e = { .struct_size = offsetof(struct dtconv_explanation,
								unpack_ns),
					.unpack_ns = 99 };

	fixture_ok(dtconv_explain_backend(type, 1, DTCONV_MEMORY_UNKNOWN,
					  DTCONV_MEMORY_HOST, "host", &e));
	ck_assert_int_eq(e.chosen_to_pack, 1);
	ck_assert(e.pack_ns > 0);
	ck_assert(e.unpack_ns == 99);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(backends_and_kinds_have_names)
{
	size_t count = 0;

	for (; dtconv_backend_name(count); count++)
		ck_assert_str_eq(dtconv_backend_name(count), dtc_backends[count]->name);
	ck_assert_ptr_null(dtc_backends[count]);
	ck_assert_ptr_null(dtconv_backend_name(SIZE_MAX));
	ck_assert_str_eq(dtconv_memory_kind_name(DTCONV_MEMORY_PINNED), "pinned");
	ck_assert_str_eq(dtconv_memory_kind_name(DTCONV_MEMORY_DEVICE), "device");
	ck_assert_ptr_null(dtconv_memory_kind_name((enum dtconv_memory_kind)5));
	ck_assert_ptr_null(dtconv_memory_kind_name((enum dtconv_memory_kind) - 1));
}
END_TEST

#ifdef HAVE_CUDA
START_TEST(what_needs_a_device_is_told_from_what_runs_here)
{
	struct dtconv_type *type = fixture_type("vector(1000, 2, 5, double)");
	const char *text = explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE);

	ck_assert_ptr_nonnull(strstr(text,
				     "; the cheapest: would be chosen; cannot run here: "
				     "the CUDA driver is not loaded in this process\n"));
	text = explain(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST);
	ck_assert_ptr_nonnull(strstr(text, "; the cheapest: chosen\n"));
	ck_assert_ptr_null(strstr(text, "cannot run here"));
	ck_assert_ptr_null(strstr(text, "candidate cuda"));
	ck_assert_ptr_nonnull(strstr(text,
				     "  candidates that need a device are left out: the "
				     "CUDA driver is not loaded in this process\n"));
	dtconv_type_unref(type);
}
END_TEST

/* The line of a candidate in an explanation. */
static void find_line(const char *text, const char *backend, char line[], size_t capacity)
{
	char start[64];

	snprintf(start, sizeof(start), "  candidate %s (", backend);
	const char *found = strstr(text, start);
	ck_assert_msg(found != NULL, "no %s in %s", backend, text);
	snprintf(line, capacity, "%.*s", (int)strcspn(found, "\n"), found);
}

/* What is said of a candidate that is the cheapest to pack, to unpack, both or neither. */
static const char *const verdicts[] = {
	NULL, "; the cheapest to pack: ", "; the cheapest to unpack: ", "; the cheapest: "
};

static void check_verdicts(const char *text, const int winners[2])
{
	char line[1024];

	for (int i = 0; dtc_backends[i]; i++) {
		int wins = (winners[0] == i) + 2 * (winners[1] == i);

		find_line(text, dtc_backends[i]->name, line, sizeof(line));
		for (int verdict = 1; verdict < 4; verdict++)
			ck_assert_msg((strstr(line, verdicts[verdict]) != NULL) ==
					      (verdict == wins),
				      "%s", line);
	}
}

/* Rows of few bytes are gathered and scattered at different costs. */
START_TEST(each_direction_has_its_winner)
{
	size_t unlike = 0;

	for (int blocks = 8; blocks <= 1 << 20; blocks *= 2)
		for (int length = 8; length <= 4096; length *= 2) {
			char expr[80];
			int winners[2];

			snprintf(expr, sizeof(expr), "hvector(%d, %d, %d, byte)", blocks,
				 length, 2 * length);
			struct dtconv_type *type = fixture_type(expr);
			struct dtc_question question = {
				.layout = dtc_type_layout(type),
				.count = 1,
				.bytes = (uint64_t)blocks * (uint64_t)length,
				.user_kind = DTCONV_MEMORY_DEVICE,
				.packed_kind = DTCONV_MEMORY_PINNED,
				.context = fixture_context
			};
			winners[0] = dtc_plan_choose_index(&question);
			question.direction = DTC_UNPACK;
			winners[1] = dtc_plan_choose_index(&question);
			unlike += winners[0] != winners[1];
			check_verdicts(explain(type, 1, DTCONV_MEMORY_DEVICE,
					       DTCONV_MEMORY_PINNED),
				       winners);
			dtconv_type_unref(type);
		}
	ck_assert_uint_gt(unlike, 0);
}
END_TEST

START_TEST(each_direction_has_its_kernel)
{
	struct dtconv_type *type = fixture_type("hvector(512, 128, 258, byte)");
	const char *text = explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE);

	ck_assert_ptr_nonnull(strstr(text,
				     "; strided kernel, 1-byte words to pack, strided "
				     "kernel, 2-byte words to unpack; "));
	dtconv_type_unref(type);
}
END_TEST

START_TEST(staged_bytes_are_named)
{
	struct dtconv_type *type = fixture_type(
		"resized(hindexed([3, 5, 7, 9], [0, 4, 12, 21], byte), 0, 33)");
	const char *text =
		explain(type, 1000000, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE);

	ck_assert_ptr_nonnull(strstr(text, "; periodic kernel, staged bytes; "));
	dtconv_type_unref(type);
}
END_TEST
#endif

/* ---- what is allowed ------------------------------------------------------------------- */

static const char strided[] = "vector(100, 1, 2, double)";

/* Packs ordinary memory in every way there is; all of them answer the same. */
static int pack_with(const char *backends)
{
	const struct dtconv_convertor_params params = fixture_by(backends);
	struct dtconv_type *type = fixture_type(strided);
	static double data[200], packed[100];
	struct dtconv_convertor *convertor;
	size_t moved = 1;

	int status = dtconv_pack_with(type, 1, data, packed, 800, &params, &moved);
	ck_assert_uint_eq(moved, status ? 0 : 800);
	fixture_ok(dtconv_convertor_create_pack(type, 1, data, &convertor));
	int configured = dtconv_convertor_configure(convertor, &params);
	for (int round = 0; round < 2 && !configured; round++) {
		ck_assert_int_eq(dtconv_convertor_pack(convertor, packed, 800, &moved), status);
		fixture_ok(dtconv_convertor_rebind_pack(convertor, type, 1, data));
		ck_assert_int_eq(dtconv_convertor_pack(convertor, packed, 400, &moved), status);
		fixture_ok(dtconv_convertor_rebind_pack(convertor, type, 1, data));
	}
	ck_assert_int_eq(configured, configured ? status : 0);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	return status;
}

START_TEST(a_caller_chooses_among_the_backends)
{
	static const struct {
		const char *backends;
		int status;
	} cases[] = { { NULL, 0 },
		      { "host", 0 },
		      { "=host", 0 },
		      { "^host", DTCONV_ERR_UNSUPPORTED },
		      { "abacus", DTCONV_ERR_INVAL },
		      { "host,", DTCONV_ERR_INVAL },
		      { "^", DTCONV_ERR_INVAL },
		      { "", DTCONV_ERR_INVAL } };

	ck_assert_int_eq(pack_with(cases[_i].backends), cases[_i].status);
}
END_TEST

/* One-shot calls, dense and not, whole and cut, typed, and a copy. */
static int pack_in(struct dtconv_context *context)
{
	static double data[200], packed[100];
	struct dtconv_type *type = fixture_type_in(context, strided);
	struct dtconv_type *dense = dtconv_type_predefined(context, DTCONV_DOUBLE);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_CRC32C };
	int status = dtconv_pack(type, 1, data, packed, 800, NULL);

	ck_assert_int_eq(dtconv_pack(dense, 1, data, packed, 8, NULL), status);
	ck_assert_int_eq(dtconv_pack(dense, 50, data, packed, 400, NULL), status);
	ck_assert_int_eq(dtconv_unpack(type, 1, data, packed, 801 - 1, NULL), status);
	ck_assert_int_eq(dtconv_unpack(type, 1, data, packed, 7, NULL), status);
	ck_assert_int_eq(dtconv_pack_with(type, 1, data, packed, 800, &params, NULL), status);
	ck_assert_int_eq(dtconv_copy(type, 1, data, dense, 100, packed, NULL), status);
	dtconv_type_unref(type);
	return status;
}

/* Why the host's backend may not move host memory; empty if it may. */
static const char *refusal_of_host(struct dtconv_context *context)
{
	struct dtconv_explanation e = { .struct_size = sizeof(e) };

	fixture_ok(dtconv_explain_backend(dtconv_type_predefined(context, DTCONV_INT), 1,
					  DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST, "host",
					  &e));
	ck_assert_int_eq(e.chosen_to_pack, e.refused == NULL);
	ck_assert_int_eq(e.forbidden, e.refused != NULL);
	return e.refused ? e.refused : "";
}

START_TEST(the_environment_chooses_among_the_backends)
{
	static const struct {
		const char *value;
		int status;
	} cases[] = { { "", 0 },
		      { "=host", 0 },
		      { "^host", DTCONV_ERR_UNSUPPORTED },
		      { "abacus", 0 } };
	struct dtconv_context *context;

	setenv("DTCONV_BACKENDS", cases[_i].value, 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	unsetenv("DTCONV_BACKENDS");
	ck_assert_int_eq(pack_in(context), cases[_i].status);
	ck_assert_str_eq(refusal_of_host(context),
			 cases[_i].status ? "disabled by DTCONV_BACKENDS" : "");
	dtconv_context_destroy(context);
}
END_TEST

/* A face without cells is no reason to refuse the others. */
START_TEST(what_has_no_bytes_needs_nobody)
{
	struct dtconv_convertor_params params = fixture_by("^host");
	struct dtconv_context *context;
	size_t moved = 1;

	setenv("DTCONV_BACKENDS", "^host", 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	unsetenv("DTCONV_BACKENDS");
	struct dtconv_type *type = dtconv_type_predefined(context, DTCONV_DOUBLE);
	const struct dtconv_batch_entry empty = { .type = type };
	fixture_ok(dtconv_pack(type, 0, NULL, NULL, 0, &moved));
	fixture_ok(dtconv_unpack_with(type, 0, NULL, NULL, 0, &params, &moved));
	fixture_ok(dtconv_batch_move(context, &empty, 1, NULL, NULL, &moved));
	ck_assert_uint_eq(moved, 0);
	dtconv_context_destroy(context);
}
END_TEST

START_TEST(shapes_are_named)
{
	static const struct {
		const char *expr;
		size_t count;
		const char *shape;
	} cases[] = {
		{ "contiguous(0, int)", 1, "empty" },
		{ "contiguous(9, int)", 4, "contiguous" },
		{ "vector(9, 1, 2, int)", 1, "strided" },
		{ "subarray([20,20,20], [5,5,5], [0,0,0], c, int)", 1, "strided" },
		{ "contiguous(20, resized(vector(20, 1, 20, double), 0, 8))", 1, "transposing" },
		{ "resized(struct([1,1],[0,8],[int,int64]), 0, 24)", 9, "periodic" },
		{ "indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],int)", 1,
		  "indexed" },
	};
	char wanted[64];
	struct dtconv_type *type = fixture_type(cases[_i].expr);

	snprintf(wanted, sizeof(wanted), "bytes, %s\n", cases[_i].shape);
	const char *text =
		explain(type, cases[_i].count, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST);
	ck_assert_msg(strstr(text, wanted) != NULL, "%s: %s", cases[_i].expr, text);
	dtconv_type_unref(type);
}
END_TEST

#ifdef HAVE_CUDA
START_TEST(a_fragment_costs_its_share_of_copies)
{
	struct dtconv_type *type =
		fixture_type("subarray([1000,8,8], [1000,4,4], [0,0,0], c, double)");
	const struct dtc_layout *layout = dtc_type_layout(type);
	struct dtc_question question = { .layout = layout,
					 .count = 1,
					 .bytes = layout->size,
					 .user_kind = DTCONV_MEMORY_DEVICE,
					 .packed_kind = DTCONV_MEMORY_PINNED };
	size_t copies = 0;

	while (strcmp(dtc_backends[copies]->name, "cuda_copy"))
		copies++;
	double whole = dtc_backends[copies]->estimate(&question);
	question.bytes /= 1000;
	ck_assert(dtc_backends[copies]->estimate(&question) < whole / 100);
	dtconv_type_unref(type);
}
END_TEST

static double estimate_of(const char *backend, const char *expr,
			  enum dtconv_memory_kind user, enum dtconv_memory_kind packed,
			  bool is_between)
{
	struct dtconv_type *type = fixture_type(expr);
	const struct dtc_layout *layout = dtc_type_layout(type);
	const struct dtc_question question = { .layout = layout,
					       .count = 1,
					       .bytes = layout->size,
					       .user_kind = user,
					       .packed_kind = packed,
					       .context = fixture_context,
					       .is_between = is_between };
	size_t place = 0;

	while (strcmp(dtc_backends[place]->name, backend))
		place++;
	double ns = dtc_backends[place]->estimate(&question);
	dtconv_type_unref(type);
	return ns;
}

/* Several threads copy what is long enough for them, and are so much faster. */
START_TEST(long_staged_jobs_are_counted_on_several_threads)
{
	double shorter = estimate_of("cuda_staged", "vector(32767, 1, 2, double)",
				     DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST, false);
	double longer = estimate_of("cuda_staged", "vector(32768, 1, 2, double)",
				    DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST, false);

	ck_assert(longer < shorter);
}
END_TEST

/* The driver copies rows of odd lengths into ordinary memory one by one. */
START_TEST(rows_of_whole_words_are_the_fast_ones)
{
	double odd = estimate_of("cuda_copy", "hvector(1000, 47, 100, byte)",
				 DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST, false);
	double whole = estimate_of("cuda_copy", "hvector(1000, 48, 100, byte)",
				   DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST, false);

	ck_assert(2 * whole < odd);
}
END_TEST

/* Packed inside its device, and then copied to the other: the first half does not cross the bus. */
START_TEST(a_detour_is_packed_inside_a_device)
{
	struct dtconv_type *type = fixture_type("vector(100000, 1, 2, double)");
	const struct dtc_layout *layout = dtc_type_layout(type);
	const struct dtc_question between = { .layout = layout,
					      .count = 1,
					      .bytes = layout->size,
					      .user_kind = DTCONV_MEMORY_DEVICE,
					      .packed_kind = DTCONV_MEMORY_DEVICE,
					      .context = fixture_context,
					      .is_between = true };
	double before = dtc_cuda_via_device_ns(&between);

	/* A slower bus between the devices slows the copy down, and nothing else. */
	uint64_t rate = fixture_context->tuning.device_peer_rate;
	fixture_context->tuning.device_peer_rate = 1;
	double slower = dtc_cuda_via_device_ns(&between) - before;
	double copy = (double)between.bytes * (1 - 1 / (double)rate);
	ck_assert(slower > 0.99 * copy && slower < 1.01 * copy);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(the_choice_follows_the_figures_of_the_tuning_file)
{
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	struct dtc_tuning *tuning = &fixture_context->tuning;

	ck_assert_str_eq(
		choice(type, 100, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED)->name,
		"cuda_kernel");
	tuning->device_launch_ns = 10000000;
	ck_assert_str_eq(
		choice(type, 100, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED)->name,
		"cuda_copy");
	tuning->device_copy_ns = 10000000;
	ck_assert_str_eq(
		choice(type, 100, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED)->name,
		"cuda_kernel");
	tuning->device_staged_rate = 1;
	tuning->device_pageable_rate = 1000;
	ck_assert_str_eq(
		choice(type, 100000, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_HOST)->name,
		"cuda_staged"); /* 100000 copies */
	dtconv_type_unref(type);
}
END_TEST

START_TEST(the_way_of_a_candidate_is_told)
{
	static const struct {
		const char *expr, *way;
	} cases[] = {
		{ "vector(1000, 1, 2, double)", "strided kernel, 8-byte words" },
		{ "vector(1000, 1, 2, double)", "one copy of rows of 8 bytes" },
		{ "contiguous(1000, double)", "one copy" },
		{ "contiguous(20, resized(vector(20, 1, 20, double), 0, 8))",
		  "transposing kernel, 8-byte words" },
		{ "struct([1,1,1],[0,1000,2000],[int,double,vector(9,1,4,int)])",
		  "3 copies, one for each block or strip" },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], "
		  "vector(30, 1, 2, int))",
		  "unpack; mapped kernel, 4-byte words; the cheapest" },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], "
		  "vector(30, 1, 2, short))",
		  "unpack; general kernel (not aligned to 4 bytes); the cheapest" },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], "
		  "vector(200000, 1, 2, int))",
		  "unpack; general kernel (too large for a map: 3800000 units); " },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], "
		  "vector(30, 1, 2, int))",
		  "unpack; 19 copies, one for each block or strip; cannot" },
		{ "hindexed([1,2,1,3,1,2,1,3,4,1], "
		  "[0,40000000000,2000,3000,4000,5000,7000,8000,9000,6000], vector(20, 1, 2, int))",
		  "unpack; general kernel (too far apart for a map); the cheapest" },
		{ "struct([1,1], [0,900000], [vector(3000,2,5,double),vector(2000,1,3,short)])",
		  "unpack; batch kernel; the cheapest" },
		{ "contiguous(1000000000000, resized(vector(100, 1, 2, double), 0, 1600))",
		  "unpack; more tiles than one launch can have, copies block by block; cannot" },
		{ "contiguous(0, double)", "no data to move" },
	};
	struct dtconv_type *type = fixture_type(cases[_i].expr);
	const char *text = explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_PINNED);

	ck_assert_msg(strstr(text, cases[_i].way) != NULL, "%s: %s", cases[_i].expr,
		      text);
	dtconv_type_unref(type);
}
END_TEST
#endif

START_TEST(long_structs_are_told_in_their_first_parts)
{
	struct dtconv_type *type =
		fixture_type("struct([1,1,1,1,1],[0,1000,2000,3000,4001],"
			     "[vector(9,1,2,int),vector(9,1,3,int),vector(9,1,4,int),"
			     "vector(9,2,4,int),vector(11,3,5,byte)])");
	const char *text = explain(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST);

	ck_assert_ptr_nonnull(strstr(text, "part 4: strided, 33 bytes at displacement 4001"));
	ck_assert_ptr_null(strstr(text, "parts more"));
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *choosing = fixture_case(suite, "choice", 10);

	tcase_add_test(choosing, host_and_pinned_memory_go_to_the_host_backend);
	tcase_add_loop_test(choosing,
			    device_memory_goes_to_the_backend_that_is_made_for_it, 0, 8);
	tcase_add_test(choosing, the_reason_is_given_for_who_cannot);
	tcase_add_loop_test(choosing, each_direction_has_the_planners_winner, 0, 4);
	tcase_add_test(choosing, the_text_says_what_the_query_answers);
	tcase_add_test(choosing, an_explanation_is_as_long_as_its_caller_knows_it);
	tcase_add_test(choosing, backends_and_kinds_have_names);
#ifdef HAVE_CUDA
	tcase_add_test(choosing, directions_may_have_different_winners);
	tcase_add_test(choosing, what_needs_a_device_is_told_from_what_runs_here);
	tcase_add_test(choosing, each_direction_has_its_kernel);
	tcase_add_test(choosing, staged_bytes_are_named);
	tcase_add_test(choosing, each_direction_has_its_winner);
#endif
	tcase_add_loop_test(choosing, a_caller_chooses_among_the_backends, 0, 8);
	tcase_add_test(choosing, what_has_no_bytes_needs_nobody);
	tcase_add_loop_test(choosing, the_environment_chooses_among_the_backends, 0, 4);
	tcase_add_loop_test(choosing, shapes_are_named, 0, 7);
#ifdef HAVE_CUDA
	tcase_add_test(choosing, a_fragment_costs_its_share_of_copies);
	tcase_add_test(choosing, the_choice_follows_the_figures_of_the_tuning_file);
	tcase_add_test(choosing, long_staged_jobs_are_counted_on_several_threads);
	tcase_add_test(choosing, rows_of_whole_words_are_the_fast_ones);
	tcase_add_test(choosing, a_detour_is_packed_inside_a_device);
	tcase_add_loop_test(choosing, the_way_of_a_candidate_is_told, 0, 13);
#endif
	tcase_add_test(choosing, long_structs_are_told_in_their_first_parts);
	return fixture_run(suite);
}
