/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of fragments by number. Everything runs in the thread that makes progress, or while none does.
 */
#include "config.h"

#include "fragment_table.h"

#include <inttypes.h>

#include <dtconv/flow.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "slab.h"

/* Allocated for the peer's fragments at most: so much, or so many times the own. */
#define LANDING_BYTES  (UINT64_C(1) << 30)
#define LANDING_FACTOR 64

/* ---- opening and closing --------------------------------------------------------------- */

/* What all fragments of a pool have in common. One is free. */
static const struct dtc_slab_plan *plan_of(struct dtconv_pool *pool)
{
	struct dtconv_fragment *fragment;
	int status = dtconv_pool_get(pool, &fragment);

	assert(!status);
	(void)status;
	const struct dtc_slab_plan *plan = fragment->slab->plan;
	dtconv_fragment_put(fragment);
	return plan;
}

int dtc_fragment_table_open(struct dtc_fragment_table *table,
			    struct dtconv_context *context, struct dtconv_pool *pool,
			    const char *caller)
{
	*table = (struct dtc_fragment_table){ .context = context, .plan = plan_of(pool) };
	table->departures = dtc_alloc_zeroed(
		context, table->plan->fragments * sizeof(table->departures[0]));
	if (!table->departures)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the list of fragments", caller);
	table->departure_count = table->plan->fragments;
	return 0;
}

struct dtc_wire_packet dtc_fragment_table_hello(const struct dtc_fragment_table *table,
						enum dtc_wire_transport transport)
{
	return (struct dtc_wire_packet){ .kind = DTC_WIRE_HELLO,
					 .version = DTC_WIRE_VERSION,
					 .transport = transport,
					 .fragments = (uint32_t)table->departure_count,
					 .fragment_bytes = table->plan->fragment_bytes };
}

/* The pool has that many fragments and no other user. */
static void take_landings(struct dtc_fragment_table *table, void *connection)
{
	for (size_t i = 0; i < table->landing_count; i++) {
		struct dtc_landing *landing = &table->landings[i];
		int status = dtconv_pool_get(table->pool, &landing->fragment);

		assert(!status);
		(void)status;
		landing->address = dtconv_fragment_address(landing->fragment);
		landing->connection = connection;
	}
}

/* What the peer announces is allocated here, so it is bounded by what this process allocates for itself. */
static int check_landing(const struct dtc_fragment_table *table, size_t count,
			 uint64_t bytes)
{
	const uint64_t own =
		(uint64_t)table->plan->fragment_bytes * table->plan->fragments;
	const uint64_t most = DTC_MAX(LANDING_BYTES, own * LANDING_FACTOR);

	if (bytes * count <= most && bytes * count <= SIZE_MAX / 2)
		return 0;
	return DTC_FAIL(table->context, DTCONV_ERR_LIMIT,
			"channel: the peer sends from %zu fragments of %" PRIu64
			" bytes, for which at most %" PRIu64 " bytes are allocated",
			count, bytes, most);
}

int dtc_fragment_table_land(struct dtc_fragment_table *table, size_t count, size_t bytes,
			    const struct dtconv_registrar *registrar, void *connection)
{
	const struct dtconv_pool_params params = {
		.struct_size = sizeof(params),
		.kind = table->plan->kind,
		.device = table->plan->device,
		.fragment_bytes = bytes,
		/* Fragments begin at multiples of 256. */
		.slab_bytes = (bytes + 255) / 256 * 256 * count,
		.limit_bytes = 1,
		.registrars = registrar,
		.registrar_count = registrar ? 1 : 0
	};

	int status = check_landing(table, count, bytes);
	if (status)
		return status;
	table->landings =
		dtc_alloc_zeroed(table->context, count * sizeof(table->landings[0]));
	if (!table->landings)
		return DTC_FAIL(table->context, DTCONV_ERR_NOMEM,
				"channel: cannot allocate the list of the peer's "
				"fragments");
	status = dtconv_pool_create(table->context, &params, &table->pool);
	if (status)
		return status;
	table->landing_count = count;
	table->landing_bytes = bytes;
	take_landings(table, connection);
	return 0;
}

const char *dtc_fragment_table_reason(int status)
{
	return status == DTCONV_ERR_LIMIT
		       ? "its staging memory is more than is allocated for a peer"
		       : "there is no memory for what the peer sends";
}

void dtc_fragment_table_close(struct dtc_fragment_table *table)
{
	assert(!table->out && !table->full);
	for (size_t i = 0; i < table->landing_count; i++)
		dtconv_fragment_put(table->landings[i].fragment);
	(void)dtconv_pool_destroy(table->pool);
	dtc_free(table->context, table->landings);
	dtc_free(table->context, table->departures);
}

/* ---- own fragments --------------------------------------------------------------------- */

/* Report it as sent, unless the network still reads it or the peer still has it. */
static void settle(struct dtc_fragment_table *table, struct dtc_departure *departure)
{
	const struct dtc_departure ended = *departure;

	if (ended.is_read || !ended.is_returned)
		return;
	*departure = (struct dtc_departure){ 0 };
	table->out--;
	dtconv_fragment_sent(ended.fragment, ended.status);
}

uint32_t dtc_departure_post(struct dtc_fragment_table *table,
			    struct dtconv_fragment *fragment)
{
	assert(fragment->index < table->departure_count);
	table->departures[fragment->index] =
		(struct dtc_departure){ .fragment = fragment, .is_read = true };
	table->out++;
	return fragment->index;
}

void dtc_departure_undo(struct dtc_fragment_table *table, uint32_t number)
{
	table->departures[number] = (struct dtc_departure){ 0 };
	table->out--;
}

void dtc_departure_was_read(struct dtc_fragment_table *table, uint32_t number)
{
	struct dtc_departure *departure = &table->departures[number];

	departure->is_read = false;
	table->lingering -= departure->is_returned;
	settle(table, departure);
}

static void set_returned(struct dtc_fragment_table *table,
			 struct dtc_departure *departure, int status)
{
	departure->is_returned = true;
	departure->status = status;
	table->lingering += departure->is_read;
	settle(table, departure);
}

bool dtc_departure_return(struct dtc_fragment_table *table, uint32_t number, int status)
{
	struct dtc_departure *departure =
		number < table->departure_count ? &table->departures[number] : NULL;

	if (!departure || !departure->fragment || departure->is_returned)
		return false;
	set_returned(table, departure, status);
	return true;
}

void dtc_departures_end(struct dtc_fragment_table *table)
{
	for (size_t i = 0; i < table->departure_count; i++) {
		struct dtc_departure *departure = &table->departures[i];

		if (departure->fragment && !departure->is_returned)
			set_returned(table, departure, DTCONV_ERR_PEER);
	}
}

/* ---- the peer's ------------------------------------------------------------------------ */

bool dtc_landing_is_free(const struct dtc_fragment_table *table, uint32_t number,
			 uint64_t bytes)
{
	return number < table->landing_count && bytes <= table->landing_bytes &&
	       !table->landings[number].is_full;
}

struct dtc_landing *dtc_landing_fill(struct dtc_fragment_table *table, uint32_t number)
{
	struct dtc_landing *landing = &table->landings[number];

	assert(!landing->is_full);
	landing->is_full = true;
	table->full++;
	return landing;
}

uint32_t dtc_landing_clear(struct dtc_fragment_table *table, struct dtc_landing *landing)
{
	assert(landing->is_full);
	landing->is_full = false;
	table->full--;
	return (uint32_t)(landing - table->landings);
}

/* Devices read a device's memory, too. */
static bool is_pinned(struct dtconv_pool *pool)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	return pool && !dtconv_pool_query(pool, &attr) &&
	       (attr.kind == DTCONV_MEMORY_DEVICE || attr.pinned_slabs == attr.slabs);
}

bool dtc_fragments_are_pinned(const struct dtc_fragment_table *table)
{
	return is_pinned(table->plan->pool);
}

bool dtc_landings_are_pinned(const struct dtc_fragment_table *table)
{
	return is_pinned(table->pool);
}
