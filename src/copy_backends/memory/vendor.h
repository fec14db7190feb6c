/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a vendor of devices tells the library, beside its backends: whether its driver is in the
 * process, and which memory is its own. What it keeps for a context hangs off the context.
 */
#ifndef DTC_VENDOR_H
#define DTC_VENDOR_H

#include <stdbool.h>

struct dtc_backend_ops;
struct dtconv_context;
struct dtconv_device_attr;
struct dtc_event;
struct dtc_job;
struct dtc_scratch;
struct dtc_memory;
struct dtc_text;
struct dtc_typed_job;

struct dtc_vendor_ops {
	/*
	 * Look for the driver in the process; 1 once it is there, 0 if it is not, DTCONV_ERR_NOMEM if it is and
	 * the allocator refuses what the vendor keeps for the context, DTCONV_ERR_UNSUPPORTED if it is and will
	 * not do, which the log then says. Initialises no device.
	 */
	int (*find_driver)(struct dtconv_context *context);
	/*
	 * Fill in @memory and answer true if the address is the vendor's. The kind is unknown if the
	 * driver refuses to tell, or will not do.
	 */
	bool (*query_memory)(struct dtconv_context *context, const void *address,
			     struct dtc_memory *memory);
	/* Whether kernels of the device that owns @user may touch @packed, which another one owns. */
	bool (*reaches)(struct dtconv_context *context, const struct dtc_memory *user,
			const struct dtc_memory *packed);
	/* See dtc_scratch_acquire. */
	bool (*acquire_scratch)(struct dtconv_context *context,
				const struct dtc_memory *near,
				struct dtc_scratch *scratch);
	/* The backend that typed jobs like that are counted to, and forbidden with. */
	const struct dtc_backend_ops *(*typed_backend)(const struct dtc_job *job);
	/* Start a typed job in the vendor's memory; see dtc_typed_submit. */
	int (*submit_typed)(const struct dtc_typed_job *job, struct dtc_event *event);
	/* Start a checksum in the vendor's memory; see dtc_checksum_submit. */
	int (*submit_checksum)(const struct dtc_job *job, struct dtc_event *moving,
			       struct dtc_event *event);
	/* How many devices this process can use as it is now; if 0, @why says the reason. */
	int (*count_devices)(struct dtconv_context *context, const char **why);
	/* Describe one of them; false if the driver does not. struct_size is left alone. */
	bool (*query_device)(struct dtconv_context *context, int ordinal,
			     struct dtconv_device_attr *attr);
	/* Tell a user what was found. */
	void (*describe)(struct dtconv_context *context, struct dtc_text *text);
	/* Give back what the vendor keeps for the context. No job is in flight. */
	void (*close)(struct dtconv_context *context);
};

/* The vendors of this build; ends with NULL. */
extern const struct dtc_vendor_ops *const dtc_vendors[];

#endif
