/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes slabs to the vendor whose driver is in the process, and has its thread give them back.
 */
#include "config.h"

#include "slab_memory.h"

#include <sys/mman.h>

#include <dtconv/status.h>

#include "base/context.h"
#include "base/log.h"
#include "vendor.h"

int dtc_slab_memory_pin(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_find(context);
	int status = vendor ? vendor->pin_slab(context, memory) : DTCONV_ERR_UNSUPPORTED;

	memory->context = context;
	memory->vendor = status ? NULL : vendor;
	return status;
}

int dtc_slab_memory_allocate(struct dtconv_context *context,
			     struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_find(context);
	int status = vendor ? vendor->allocate_slab(context, memory)
			    : DTCONV_ERR_UNSUPPORTED;

	memory->context = context;
	memory->vendor = status ? NULL : vendor;
	memory->is_allocated = !status;
	return status;
}

/* A range has been opened for it. */
static void note_shared(struct dtconv_context *context, struct dtc_slab_memory *memory,
			int status)
{
	const struct dtc_range *range = &memory->shared.range;

	memory->context = context;
	memory->vendor = status ? NULL : dtc_vendor_find(context);
	memory->why = range->why;
	memory->is_allocated = memory->is_shared = !status;
	memory->base = status ? NULL : range->base;
	memory->owner = range->owner;
	if (!status)
		memory->device = range->device;
}

int dtc_slab_memory_share(struct dtconv_context *context, struct dtc_slab_memory *memory,
			  int *fd)
{
	int status = dtc_shared_memory_create(context, &memory->shared, memory->bytes,
					      memory->device, memory->caller, fd);

	note_shared(context, memory, status);
	return status;
}

int dtc_slab_memory_import(struct dtconv_context *context, struct dtc_slab_memory *memory,
			   int fd)
{
	int status = dtc_shared_memory_import(context, &memory->shared, memory->bytes,
					      memory->device, memory->caller, fd);

	note_shared(context, memory, status);
	return status;
}

int dtc_slab_memory_export(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_find(context);

	return vendor ? vendor->export_slab(context, memory) : DTCONV_ERR_UNSUPPORTED;
}

/* ---- giving back ----------------------------------------------------------------------- */

struct dtc_slab_ledger *dtc_slab_ledger_create(struct dtconv_context *context)
{
	struct dtc_slab_ledger *ledger = dtc_alloc_zeroed(context, sizeof(*ledger));

	if (!ledger)
		return NULL;
	ledger->context = context;
	atomic_store(&ledger->references, 1);
	return ledger;
}

void dtc_slab_ledger_unref(struct dtc_slab_ledger *ledger)
{
	if (ledger && atomic_fetch_sub(&ledger->references, 1) == 1)
		dtc_free(ledger->context, ledger);
}

struct release {
	struct dtc_slab_memory memory;
	struct dtc_slab_ledger *ledger;
};

static void abandon(const struct release *release)
{
	const size_t bytes = release->memory.bytes;

	if (release->ledger)
		atomic_fetch_add(&release->ledger->abandoned_bytes, bytes);
	DTC_LOG(release->memory.context, DTCONV_LOG_WARN,
		"pool: %zu bytes are not given back, because the device context that may write "
		"to them was lost, or the driver refuses",
		bytes);
}

static bool undo(struct dtc_slab_memory *memory)
{
	return memory->is_shared ? dtc_shared_memory_undo(&memory->shared)
				 : memory->vendor->undo_slab(memory);
}

static void run(void *owned)
{
	struct release *release = owned;
	struct dtc_slab_memory *memory = &release->memory;
	const bool undone = !memory->vendor || undo(memory);

	if (!undone)
		abandon(release);
	else if (!memory->is_allocated)
		munmap(memory->base, memory->bytes);
	if (release->ledger)
		atomic_fetch_sub(&release->ledger->releasing_bytes, memory->bytes);
	dtc_slab_ledger_unref(release->ledger);
}

/* In the vendor's thread, if a call of the driver is needed that may block. */
static bool hand_over(const struct release *release)
{
	const struct dtc_slab_memory *memory = &release->memory;

	if (!memory->vendor || memory->vendor->is_slab_lost(memory))
		return false;
	struct release *kept = dtc_alloc(memory->context, sizeof(*kept));
	if (!kept)
		return false;
	*kept = *release;
	if (memory->vendor->hand_over(memory, run, kept))
		return true;
	dtc_free(memory->context, kept);
	return false;
}

void dtc_slab_memory_release(struct dtc_slab_memory *memory,
			     struct dtc_slab_ledger *ledger)
{
	struct release release = { .memory = *memory, .ledger = ledger };

	memory->vendor = NULL;
	memory->base = NULL;
	if (ledger) {
		atomic_fetch_add(&ledger->references, 1);
		atomic_fetch_add(&ledger->releasing_bytes, release.memory.bytes);
	}
	if (!hand_over(&release))
		run(&release);
}

bool dtc_slab_memory_is_lost(const struct dtc_slab_memory *memory)
{
	return memory->vendor && memory->vendor->is_slab_lost(memory);
}
