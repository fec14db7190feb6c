/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for arrivals: records that were given back are kept for later ones. The last one of them is apart, because a
 * message of one fragment needs one record at a time: taking and giving it back is one exchange each.
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
	struct dtc_record *record = atomic_exchange(&engine->spare_record, NULL);

	if (record)
		return record;
	pthread_mutex_lock(&engine->record_lock);
	record = engine->records;
	if (record)
		engine->records = record->next;
	pthread_mutex_unlock(&engine->record_lock);
	return record ? record : dtc_alloc(engine->context, DTC_RECORD_BYTES);
}

void dtc_engine_put_record(struct dtconv_engine *engine, void *memory)
{
	struct dtc_record *record = atomic_exchange(&engine->spare_record, memory);

	if (!record)
		return;
	pthread_mutex_lock(&engine->record_lock);
	record->next = engine->records;
	engine->records = record;
	pthread_mutex_unlock(&engine->record_lock);
}

void dtc_engine_free_records(struct dtconv_engine *engine)
{
	dtc_free(engine->context, atomic_load(&engine->spare_record));
	while (engine->records) {
		struct dtc_record *record = engine->records;

		engine->records = record->next;
		dtc_free(engine->context, record);
	}
}
