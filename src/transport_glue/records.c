/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for arrivals: records that were given back are kept for later ones.
 */
#include "config.h"

#include "base/context.h"
#include "engine.h"
#include "engine_state.h"

struct dtc_record {
	struct dtc_record *next;
};

_Static_assert(sizeof(struct dtc_record) <= DTC_RECORD_BYTES,
	       "a free record holds a link");

void *dtc_engine_take_record(struct dtconv_engine *engine)
{
	pthread_mutex_lock(&engine->record_lock);
	struct dtc_record *record = engine->records;
	if (record)
		engine->records = record->next;
	pthread_mutex_unlock(&engine->record_lock);
	return record ? record : dtc_alloc(engine->context, DTC_RECORD_BYTES);
}

void dtc_engine_put_record(struct dtconv_engine *engine, void *memory)
{
	struct dtc_record *record = memory;

	pthread_mutex_lock(&engine->record_lock);
	record->next = engine->records;
	engine->records = record;
	pthread_mutex_unlock(&engine->record_lock);
}

void dtc_engine_free_records(struct dtconv_engine *engine)
{
	while (engine->records) {
		struct dtc_record *record = engine->records;

		engine->records = record->next;
		dtc_free(engine->context, record);
	}
}
