/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of a batch and of its entries.
 */
#include "config.h"

#include "batch_query.h"

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "batch_move.h"

int dtc_batch_check_index(const struct dtconv_batch *batch, size_t index,
			  const char *caller)
{
	if (index < batch->count)
		return 0;
	return DTC_FAIL(batch->context, DTCONV_ERR_INVAL,
			"%s: index (argument 2) is %zu, the batch has %zu entries",
			caller, index, batch->count);
}

static size_t bytes_to_move(const struct dtconv_batch *batch)
{
	size_t bytes = 0;

	for (size_t i = 0; i < batch->count; i++)
		bytes += DTC_MIN(batch->items[i].size, batch->items[i].entry.bytes);
	return bytes;
}

int dtconv_batch_query(const struct dtconv_batch *batch, struct dtconv_batch_attr *attr)
{
	if (!batch || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(batch->context, __func__, "attr", "dtconv_batch_attr");
	const struct dtconv_batch_attr all = { .struct_size = attr->struct_size,
					       .count = batch->count,
					       .bytes = bytes_to_move(batch),
					       .in_flight = batch->in_flight,
					       .failed = batch->failed };

	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

/* Of the stream that the entry reads or writes as a whole; of a copy, the source's. */
static size_t length_of(const struct dtc_batch_item *item)
{
	return item->copy ? (size_t)item->copy->source.cursor.size : item->size;
}

int dtconv_batch_query_entry(const struct dtconv_batch *batch, size_t index,
			     struct dtconv_batch_entry_attr *attr)
{
	if (!batch || !attr)
		return DTCONV_ERR_INVAL;
	int status = dtc_batch_check_idle(batch, __func__);

	if (!status)
		status = dtc_batch_check_index(batch, index, __func__);
	if (status)
		return status;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(batch->context, __func__, "attr", "dtconv_batch_entry_attr");
	const struct dtc_batch_item *item = &batch->items[index];
	const struct dtconv_batch_entry_attr all = { .struct_size = attr->struct_size,
						     .status = item->status,
						     .moved = item->moved,
						     .bytes = length_of(item) };
	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}
