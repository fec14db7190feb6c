/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a vendor of devices provides besides its backends: whether its driver is in the process, which
 * memory is its own, and its devices. Its state for a context hangs off the context.
 */
#ifndef DTC_VENDOR_H
#define DTC_VENDOR_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc_memory.h"
#include "scratch_memory.h"

struct dtc_backend_ops;
struct dtconv_context;
struct dtconv_device_attr;
struct dtc_copy_job;
struct dtc_event;
struct dtc_job;
struct dtc_preparation;
struct dtc_range_ops;
struct dtc_question;
struct dtc_slab_memory;
struct dtc_stretch;
struct dtc_memory;
struct dtc_pages_job;
struct dtc_text;
struct dtc_typed_job;

struct dtc_vendor_ops {
	/*
	 * Look for the driver in the process. 1: it is usable. 0: it is not loaded. DTCONV_ERR_NOMEM:
	 * it is loaded, but the allocator has no memory for the vendor's state. DTCONV_ERR_UNSUPPORTED:
	 * it is loaded but unusable, and the log says why. Initialises no device.
	 */
	int (*find_driver)(struct dtconv_context *context);
	/*
	 * If the address is the vendor's, fill in @memory and return true. The kind is unknown if the
	 * driver fails or is unusable.
	 */
	bool (*query_memory)(struct dtconv_context *context, const void *address,
			     struct dtc_memory *memory);
	/* Whether kernels of the device that owns @user can access @packed, memory of another device. */
	bool (*reaches)(struct dtconv_context *context, const struct dtc_memory *user,
			const struct dtc_memory *packed);
	/* See dtc_scratch_acquire. */
	bool (*acquire_scratch)(struct dtconv_context *context,
				const struct dtc_memory *near,
				enum dtc_scratch_purpose purpose,
				struct dtc_scratch *scratch);
	/* See slab_memory.h. */
	int (*pin_slab)(struct dtconv_context *context, struct dtc_slab_memory *memory);
	int (*allocate_slab)(struct dtconv_context *context,
			     struct dtc_slab_memory *memory);
	int (*export_slab)(struct dtconv_context *context,
			   struct dtc_slab_memory *memory);
	/*
	 * Undo pinning or allocation; may block until the device is idle. False: the device context is gone, and no call
	 * was made in it, or the driver refused.
	 */
	bool (*undo_slab)(struct dtc_slab_memory *memory);
	/* Have a thread of the vendor's run @run, and free @owned after it; false if that is not possible. */
	bool (*hand_over)(const struct dtc_slab_memory *memory, void (*run)(void *owned),
			  void *owned);
	bool (*is_slab_lost)(const struct dtc_slab_memory *memory);
	/* Ranges of addresses; see address_range.h. */
	const struct dtc_range_ops *ranges;
	/* Describe the allocation around @address for other processes; or a failure with its sentence. */
	int (*export_allocation)(struct dtconv_context *context, const void *address,
				 const char *caller,
				 struct dtc_ipc_allocation *allocation);
	/*
	 * Map the allocation of another process in a context of @mapping->device. May block. A failure has its sentence,
	 * unless @mapping->is_refused: then other mappings may be in the way. With @is_last it is never set.
	 */
	int (*map_allocation)(struct dtconv_context *context,
			      const struct dtc_ipc_allocation *allocation,
			      const char *caller, bool is_last,
			      struct dtc_ipc_mapping *mapping);
	/* Undo it; may block until the device is idle. */
	enum dtc_ipc_end (*unmap_allocation)(const struct dtc_ipc_mapping *mapping);
	bool (*is_mapping_lost)(const struct dtc_ipc_mapping *mapping);
	/* The buffer ID of the allocation at an address of this process; 0: none. */
	uint64_t (*allocation_id)(struct dtconv_context *context, uintptr_t address);
	/* Ordinal of the device whose context is current on the calling thread; -1: none is. */
	int (*current_device)(struct dtconv_context *context);
	/* Have a thread of the vendor's run @run, and free @owned after it. False: no memory. A device context is open. */
	bool (*run_later)(struct dtconv_context *context, void (*run)(void *owned),
			  void *owned);
	/* The backend that counts such typed jobs, and whose prohibition applies to them. */
	const struct dtc_backend_ops *(*typed_backend)(const struct dtc_job *job);
	/* Start a typed job in the vendor's memory; see dtc_typed_submit. */
	int (*submit_typed)(const struct dtc_typed_job *job, struct dtc_event *event);
	/* Start a checksum in the vendor's memory; see dtc_checksum_submit. */
	int (*submit_checksum)(const struct dtc_job *job, struct dtc_event *moving,
			       struct dtc_event *event);
	/* The backend that counts copies between layouts and lists of pages, and whose prohibition applies to them. */
	const struct dtc_backend_ops *copy_backend;
	/* Start a copy between layouts in the vendor's memory; see dtc_layout_copy_submit. */
	int (*submit_copy)(const struct dtc_copy_job *job, struct dtc_event *event);
	/* Which kernel would copy a stretch between layouts in one launch; NULL, and the reason, if none would. */
	const char *(*foresee_copy)(const struct dtc_stretch *copy, const char **reason);
	/* Estimated nanoseconds of that launch, whose sides are a pack and an unpack inside the device. */
	double (*estimate_copy)(const struct dtc_question *source,
				const struct dtc_question *target);
	/* Start a list of pages in the vendor's memory; see dtc_pages_submit. */
	int (*submit_pages)(const struct dtc_pages_job *job, struct dtc_event *event);
	/* See dtc_stream_is_captured. */
	bool (*is_captured)(struct dtconv_context *context, void *stream);
	/* See dtc_alarms_cancel. */
	void (*cancel_alarms)(struct dtconv_context *context, const void *arg);
	/* Make ready what such jobs need; see dtc_prepare. The driver has been found. */
	int (*prepare)(const struct dtc_preparation *preparation);
	/* The number of devices that this process can use; if 0, @why is the reason. */
	int (*count_devices)(struct dtconv_context *context, const char **why);
	/* Fill in the attributes of a device, except struct_size. False if the driver fails. */
	bool (*query_device)(struct dtconv_context *context, int ordinal,
			     struct dtconv_device_attr *attr);
	/* Describe the driver and its devices for users. */
	void (*describe)(struct dtconv_context *context, struct dtc_text *text);
	/* Free the vendor's state of the context. No job may be in flight. */
	void (*close)(struct dtconv_context *context);
};

/* The vendors of this build; ends with NULL. */
extern const struct dtc_vendor_ops *const dtc_vendors[];

/* The first vendor whose driver is in the process and usable; NULL: none, or the context is to use none. */
const struct dtc_vendor_ops *dtc_vendor_find(struct dtconv_context *context);

#endif
