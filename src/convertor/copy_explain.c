/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_explain_copy: which way a copy between two kinds of memory would take, and why. It follows the decisions of
 * copy.c with kinds of memory in the place of addresses.
 */
#include "config.h"

#include <dtconv/copier.h>

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "copy.h"
#include "copy_backends/layout_copy.h"
#include "copy_backends/plan.h"
#include "datatype/type.h"

/* For people: size matters more than speed. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os")
#endif

/* ---- the way ----------------------------------------------------------------------------- */

struct ask {
	struct dtc_copy copy;
	enum dtconv_memory_kind source_kind, target_kind;
};

static struct dtc_question question_of(const struct ask *ask,
				       const struct dtc_copy_end *end,
				       enum dtconv_memory_kind user_kind,
				       enum dtconv_memory_kind packed_kind,
				       enum dtc_direction direction)
{
	struct dtconv_context *context = end->type->context;

	return (struct dtc_question){ .layout = end->cursor.layout,
				      .count = end->cursor.count,
				      .bytes = ask->copy.end,
				      .user_kind = user_kind,
				      .packed_kind = packed_kind,
				      .direction = direction,
				      .context = context,
				      .forbidden = context->forbidden,
				      .on_stream = context->devices.default_stream };
}

/* The backend that the planner would choose, and its estimate. */
static const char *choose(const struct dtc_question *question,
			  struct dtconv_copy_explanation *e, double *ns)
{
	const struct dtc_backend_ops *backend = dtc_plan_choose(question);

	if (!backend)
		return NULL;
	*ns = backend->estimate(question);
	if (!e->missing)
		e->missing = dtc_plan_why_missing(question, backend);
	return backend->name;
}

/* @packed_kind is the memory of the packed stream. */
static void add_pack(const struct ask *ask, enum dtconv_memory_kind packed_kind,
		     struct dtconv_copy_explanation *e)
{
	const struct dtc_question question = question_of(
		ask, &ask->copy.source, ask->source_kind, packed_kind, DTC_PACK);

	e->pack_backend = choose(&question, e, &e->pack_ns);
}

static void add_unpack(const struct ask *ask, enum dtconv_memory_kind packed_kind,
		       struct dtconv_copy_explanation *e)
{
	const struct dtc_question question = question_of(
		ask, &ask->copy.target, ask->target_kind, packed_kind, DTC_UNPACK);

	e->unpack_backend = choose(&question, e, &e->unpack_ns);
}

static bool is_for_device(const struct ask *ask, const char **reason)
{
	*reason = ask->source_kind == ask->target_kind
			  ? "both sides are host memory"
			  : "no device can access host memory";
	if (ask->source_kind == DTCONV_MEMORY_HOST ||
	    ask->target_kind == DTCONV_MEMORY_HOST)
		return false;
	*reason = "neither side is device memory";
	return ask->source_kind == DTCONV_MEMORY_DEVICE ||
	       ask->target_kind == DTCONV_MEMORY_DEVICE;
}

/* Whether one launch copies; if not, @e has the reason. */
static bool is_launch(const struct ask *ask, struct dtconv_copy_explanation *e)
{
	const struct dtc_question source = question_of(
		ask, &ask->copy.source, ask->source_kind, DTCONV_MEMORY_DEVICE, DTC_PACK);
	const struct dtc_question target = question_of(ask, &ask->copy.target,
						       ask->target_kind,
						       DTCONV_MEMORY_DEVICE, DTC_UNPACK);

	if (!is_for_device(ask, &e->reason))
		return false;
	const struct dtc_copy_foresight foresight =
		dtc_layout_copy_foresee(&source, &target);
	e->reason = foresight.reason;
	if (!foresight.kernel)
		return false;
	e->kernel = foresight.kernel;
	e->missing = foresight.missing;
	e->ns = foresight.ns;
	e->shares_launch = ask->copy.end < DTC_LAYOUT_COPY_ALONE;
	return true;
}

static void explain_steps(const struct ask *ask, struct dtconv_copy_explanation *e)
{
	const bool scratch = ask->source_kind == DTCONV_MEMORY_DEVICE ||
			     ask->target_kind == DTCONV_MEMORY_DEVICE;
	const enum dtconv_memory_kind between = scratch ? DTCONV_MEMORY_DEVICE
							: DTCONV_MEMORY_HOST;

	e->way = scratch ? DTCONV_COPY_SCRATCH : DTCONV_COPY_BUFFER;
	add_pack(ask, between, e);
	add_unpack(ask, between, e);
}

static void explain(const struct ask *ask, struct dtconv_copy_explanation *e)
{
	*e = (struct dtconv_copy_explanation){ .bytes = (size_t)ask->copy.end };
	if (!ask->copy.end)
		return;
	if (dtc_copy_is_row(&ask->copy.source)) {
		e->way = DTCONV_COPY_UNPACK;
		add_unpack(ask, ask->source_kind, e);
	} else if (dtc_copy_is_row(&ask->copy.target)) {
		e->way = DTCONV_COPY_PACK;
		add_pack(ask, ask->target_kind, e);
	} else if (is_launch(ask, e)) {
		e->way = DTCONV_COPY_LAUNCH;
		return;
	} else {
		explain_steps(ask, e);
	}
	e->ns = e->pack_ns + e->unpack_ns;
}

/* ---- in words ---------------------------------------------------------------------------- */

static void explain_side(struct dtc_text *text, const struct dtc_copy_end *end)
{
	const struct dtc_cursor *cursor = &end->cursor;

	dtc_text_printf(text, "%" PRIu64 " x %" PRIu64 " bytes, %s", cursor->count,
			cursor->layout->size,
			dtc_shape_name(dtc_layout_shape(cursor->layout, cursor->count)));
}

static void explain_head(struct dtc_text *text, const struct ask *ask)
{
	dtc_text_printf(text, "%s to %s: ", dtc_memory_kind_name(ask->source_kind),
			dtc_memory_kind_name(ask->target_kind));
	explain_side(text, &ask->copy.source);
	dtc_text_puts(text, "; to ");
	explain_side(text, &ask->copy.target);
	dtc_text_puts(text, "\n");
}

static void explain_step(struct dtc_text *text, const char *what, const char *backend,
			 double ns)
{
	if (backend)
		dtc_text_printf(text, "  %s: %s, about %.0f ns\n", what, backend, ns);
	else
		dtc_text_printf(text, "  %s: no backend can\n", what);
}

static void explain_launch(struct dtc_text *text, const struct dtconv_copy_explanation *e)
{
	dtc_text_printf(text, "  one launch, kernel %s: about %.0f ns\n", e->kernel,
			e->ns);
	dtc_text_puts(text, e->shares_launch
				    ? "  in a batch: shares a launch with other copies\n"
				    : "  in a batch: in a launch of its own\n");
}

static void explain_two_steps(struct dtc_text *text,
			      const struct dtconv_copy_explanation *e)
{
	dtc_text_printf(text, "  two steps, through %s, because %s\n",
			e->way == DTCONV_COPY_SCRATCH ? "scratch memory of the device"
						      : "a buffer of the host",
			e->reason);
	explain_step(text, "to pack", e->pack_backend, e->pack_ns);
	explain_step(text, "to unpack", e->unpack_backend, e->unpack_ns);
	dtc_text_printf(text, "  in all: about %.0f ns\n", e->ns);
	dtc_text_puts(text, e->way == DTCONV_COPY_SCRATCH
				    ? "  in a batch: alone, and the start waits for it\n"
				    : "  in a batch: by the host\n");
}

static void explain_way(struct dtc_text *text, const struct dtconv_copy_explanation *e)
{
	switch (e->way) {
	case DTCONV_COPY_NOTHING:
		dtc_text_puts(text, "  nothing to copy\n");
		break;
	case DTCONV_COPY_PACK:
		explain_step(text, "packed into the target, which is contiguous",
			     e->pack_backend, e->pack_ns);
		dtc_text_puts(text, "  in a batch: a pack\n");
		break;
	case DTCONV_COPY_UNPACK:
		explain_step(text, "unpacked from the source, which is contiguous",
			     e->unpack_backend, e->unpack_ns);
		dtc_text_puts(text, "  in a batch: an unpack\n");
		break;
	case DTCONV_COPY_LAUNCH:
		explain_launch(text, e);
		break;
	default:
		explain_two_steps(text, e);
	}
	if (e->missing)
		dtc_text_printf(text, "  cannot run here: %s\n", e->missing);
}

/* ---- the public calls -------------------------------------------------------------------- */

/* A question about kinds has no address to query: take an unknown kind for host memory. */
static enum dtconv_memory_kind known(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_UNKNOWN ? DTCONV_MEMORY_HOST : kind;
}

/* Looks for drivers first, so that candidates find their devices. */
static int begin(struct ask *ask, const struct dtconv_type *source_type,
		 size_t source_count, enum dtconv_memory_kind source_kind,
		 const struct dtconv_type *target_type, size_t target_count,
		 enum dtconv_memory_kind target_kind, const char *caller)
{
	struct dtconv_context *context = source_type->context;

	dtc_copy_set_end(&ask->copy.source, source_type, DTC_COPY_SOURCE_TYPE, NULL);
	dtc_copy_set_end(&ask->copy.target, target_type, DTC_COPY_TARGET_TYPE, NULL);
	dtc_copy_init(&ask->copy, false, caller);
	ask->source_kind = known(source_kind);
	ask->target_kind = known(target_kind);
	if (!dtconv_memory_kind_name(source_kind) ||
	    !dtconv_memory_kind_name(target_kind))
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: source_kind (argument 3) is %d and target_kind (argument 6) "
			"is %d, but memory kinds end at %d",
			caller, (int)source_kind, (int)target_kind, DTCONV_MEMORY_DEVICE);
	if (!context->devices.none)
		(void)dtc_memory_has_driver(context);
	return dtc_copy_check(&ask->copy, source_count, target_count);
}

int dtconv_explain_copy_way(const struct dtconv_type *source_type, size_t source_count,
			    enum dtconv_memory_kind source_kind,
			    const struct dtconv_type *target_type, size_t target_count,
			    enum dtconv_memory_kind target_kind,
			    struct dtconv_copy_explanation *explanation)
{
	struct dtconv_copy_explanation now;
	struct ask ask;

	if (!source_type || !target_type || !explanation)
		return DTCONV_ERR_INVAL;
	if (explanation->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(source_type->context, __func__, "explanation",
					    "dtconv_copy_explanation");
	int status = begin(&ask, source_type, source_count, source_kind, target_type,
			   target_count, target_kind, __func__);
	if (status)
		return status;
	explain(&ask, &now);
	now.struct_size = explanation->struct_size;
	memcpy(explanation, &now, DTC_MIN(explanation->struct_size, sizeof(now)));
	return 0;
}

int dtconv_explain_copy(const struct dtconv_type *source_type, size_t source_count,
			enum dtconv_memory_kind source_kind,
			const struct dtconv_type *target_type, size_t target_count,
			enum dtconv_memory_kind target_kind, char *buffer,
			size_t capacity, size_t *length)
{
	struct dtconv_copy_explanation explanation;
	struct dtc_text text;
	struct ask ask;

	if (!source_type || !target_type || !length)
		return DTCONV_ERR_INVAL;
	int status = begin(&ask, source_type, source_count, source_kind, target_type,
			   target_count, target_kind, __func__);
	if (status)
		return status;
	explain(&ask, &explanation);
	dtc_text_init(&text, buffer, capacity);
	explain_head(&text, &ask);
	explain_way(&text, &explanation);
	return dtc_text_finish(&text, length);
}
