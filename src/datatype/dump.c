/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs and signatures as text, for readers and golden files.
 */
#include "config.h"

#include <inttypes.h>

#include "base/base.h"
#include "base/log.h"
#include "base/text.h"
#include "layout.h"
#include "predefined.h"
#include "signature.h"
#include "type.h"

/* The most table entries that are printed; the others are only counted. */
#define ENTRIES_SHOWN 16

static void format_table(struct dtc_text *text, const struct dtc_table *table)
{
	for (uint64_t i = 0; i < table->count && i < ENTRIES_SHOWN; i++)
		dtc_text_printf(text, " %" PRIu64 "@%" PRId64,
				dtc_table_prefix(table, i + 1) - dtc_table_prefix(table, i),
				dtc_table_disp(table, i));
	if (table->count > ENTRIES_SHOWN)
		dtc_text_printf(text, " and %" PRIu64 " more", table->count - ENTRIES_SHOWN);
}

static void format_op(struct dtc_text *text, const struct dtc_program *program,
		      const struct dtc_op *op)
{
	switch (op->kind) {
	case DTC_OP_RUN:
		dtc_text_printf(text, "run %" PRIu64 " bytes @%" PRId64, op->bytes, op->disp);
		break;
	case DTC_OP_STRIP:
		dtc_text_printf(text,
				"strip %" PRIu64 " x %" PRIu64 " bytes, stride %" PRId64
				" @%" PRId64,
				op->count, op->unit_bytes, op->stride, op->disp);
		break;
	case DTC_OP_TABLE:
		dtc_text_printf(text, "table %" PRIu64 " runs @%" PRId64 ":", op->count,
				op->disp);
		format_table(text, dtc_program_table(program, op));
		break;
	case DTC_OP_LOOP:
		dtc_text_printf(text, "loop %" PRIu64 ", stride %" PRId64 " @%" PRId64,
				op->count, op->stride, op->disp);
		break;
	default:
		dtc_text_printf(text, "table loop %" PRIu64 ", stride %" PRId64 " @%" PRId64 ":",
				op->count, op->stride, op->disp);
		format_table(text, dtc_program_table(program, op));
	}
	dtc_text_puts(text, "\n");
}

int dtconv_type_format_program(const struct dtconv_type *type, char *buffer, size_t capacity,
			       size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	const struct dtc_layout *layout = dtc_type_layout(type);
	uint32_t ends[DTC_PROGRAM_DEPTH + 1];
	struct dtc_text text;
	uint32_t depth = 0;

	if (!layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"%s: the type (argument 1) is not committed", __func__);
	dtc_text_init(&text, buffer, capacity);
	if (layout->program->op_count == 0)
		dtc_text_puts(&text, "nothing\n");
	for (uint32_t i = 0; i < layout->program->op_count; i++) {
		const struct dtc_op *op = &layout->program->ops[i];

		while (depth && ends[depth - 1] == i)
			depth--;
		dtc_text_printf(&text, "%*s", (int)(2 * depth), "");
		format_op(&text, layout->program, op);
		if (dtc_op_is_loop(op))
			ends[depth++] = i + op->body + 1;
	}
	return dtc_text_finish(&text, length);
}

static void format_node(struct dtc_text *text, const struct dtc_signature_node *node)
{
	if (node->count > 1)
		dtc_text_printf(text, "%" PRIu64 " x ", node->count);
	if (node->is_loop)
		dtc_text_puts(text, "(");
	else
		dtc_text_puts(text, dtc_predefined_name(node->basic));
}

int dtconv_type_format_signature(const struct dtconv_type *type, char *buffer,
				 size_t capacity, size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	const struct dtc_signature *signature = type->signature;
	size_t ends[DTC_SIGNATURE_DEPTH];
	struct dtc_text text;
	size_t depth = 0;
	bool first = true;

	dtc_text_init(&text, buffer, capacity);
	if (signature->node_count == 0)
		dtc_text_puts(&text, "nothing");
	for (size_t i = 0; i < signature->node_count; i++) {
		const struct dtc_signature_node *node = &signature->nodes[i];

		if (!first)
			dtc_text_puts(&text, ", ");
		format_node(&text, node);
		first = node->is_loop;
		if (node->is_loop)
			ends[depth++] = i + node->body;
		while (depth && ends[depth - 1] == i) {
			dtc_text_puts(&text, ")");
			depth--;
		}
	}
	return dtc_text_finish(&text, length);
}
