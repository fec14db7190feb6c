/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the run at a position of the packed stream by walking the byte program: the cursor's
 * seek, on the device. For every run it costs the depth of the program plus the logarithms of
 * its tables.
 */
#ifndef DTC_KERNELS_GPU_WALK_CU_H
#define DTC_KERNELS_GPU_WALK_CU_H

/* A run, or the rest of it. */
struct dtc_gpu_span {
	uint64_t address;
	uint64_t bytes;
};

DTC_GPU_FN uint64_t dtc_gpu_divide64(uint64_t x, uint64_t magic, uint32_t shift, uint32_t one)
{
	uint64_t t = dtc_gpu_multiply_high(x, magic);

	return one ? x : (t + ((x - t) >> 1)) >> shift;
}

/* A member of a structure on the device. */
#define DTC_GPU_MEMBER8(address, type, member) \
	dtc_gpu_load8((address) + DTC_GPU_OFFSET(type, member))
#define DTC_GPU_MEMBER4(address, type, member) \
	dtc_gpu_load4((address) + DTC_GPU_OFFSET(type, member))

/* A table on the device. */
struct dtc_gpu_listing {
	uint64_t count;
	uint64_t uniform;
	uint64_t disps;
	uint64_t prefixes;
	uint32_t disp_wide, disp_shift;
	uint32_t prefix_wide, prefix_shift;
};

DTC_GPU_FN void dtc_gpu_read_table(uint64_t table, struct dtc_gpu_listing *listing)
{
	uint32_t forms = DTC_GPU_MEMBER4(table, struct dtc_gpu_table, forms);

	listing->count = DTC_GPU_MEMBER8(table, struct dtc_gpu_table, count);
	listing->uniform = DTC_GPU_MEMBER8(table, struct dtc_gpu_table, uniform);
	listing->disps = table + sizeof(struct dtc_gpu_table);
	listing->prefixes =
		table + DTC_GPU_MEMBER8(table, struct dtc_gpu_table, prefix_offset);
	listing->disp_wide = forms & 0xff;
	listing->disp_shift = forms >> 8 & 0xff;
	listing->prefix_wide = forms >> 16 & 0xff;
	listing->prefix_shift = forms >> 24;
}

DTC_GPU_FN uint64_t dtc_gpu_prefix(uint64_t prefixes, uint32_t wide, uint32_t shift,
				   uint64_t entry)
{
	uint64_t scaled = wide ? dtc_gpu_load8(prefixes + 8 * entry)
			       : dtc_gpu_load4(prefixes + 4 * entry);

	return scaled << shift;
}

DTC_GPU_FN uint64_t dtc_gpu_prefix_of(const struct dtc_gpu_listing *listing, uint64_t entry)
{
	return dtc_gpu_prefix(listing->prefixes, listing->prefix_wide, listing->prefix_shift,
			      entry);
}

DTC_GPU_FN uint64_t dtc_gpu_disp_of(const struct dtc_gpu_listing *listing, uint64_t entry)
{
	return dtc_gpu_listed_disp(listing->disps, listing->disp_wide, listing->disp_shift,
				   entry);
}

/* The entry that covers @unit, in a table with prefixes. */
DTC_GPU_FN uint64_t dtc_gpu_find_entry(const struct dtc_gpu_listing *listing, uint64_t unit)
{
	uint64_t low = 0;
	uint64_t n = listing->count;

	while (n > 1) {
		uint64_t half = n / 2;

		low += dtc_gpu_prefix_of(listing, low + half) <= unit ? half : 0;
		n -= half;
	}
	return low;
}

/* The current position of the walk. */
struct dtc_gpu_step {
	uint64_t op; /* address */
	uint64_t divisor;
	uint64_t address;
	uint64_t position; /* in the operation */
};

DTC_GPU_FN uint64_t dtc_gpu_divide_step(const struct dtc_gpu_step *step, uint64_t x)
{
	uint64_t shift = DTC_GPU_MEMBER8(step->divisor, struct dtc_gpu_divisor, shift);

	return dtc_gpu_divide64(x, DTC_GPU_MEMBER8(step->divisor, struct dtc_gpu_divisor, magic),
				(uint32_t)shift, (uint32_t)(shift >> 32));
}

/* At a leaf: the run that holds the position. */
DTC_GPU_FN struct dtc_gpu_span dtc_gpu_strip_at(const struct dtc_gpu_step *step)
{
	uint64_t unit = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, unit_bytes);
	uint64_t run = dtc_gpu_divide_step(step, step->position);
	uint64_t inside = step->position - run * unit;
	struct dtc_gpu_span span;

	span.address = step->address +
		       run * DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, stride) + inside;
	span.bytes = unit - inside;
	return span;
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_entry_at(const struct dtc_gpu_step *step, uint64_t tables)
{
	struct dtc_gpu_listing listing;
	struct dtc_gpu_span span;
	uint64_t entry, inside;

	dtc_gpu_read_table(tables + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, table),
			   &listing);
	if (listing.uniform) {
		entry = dtc_gpu_divide_step(step, step->position);
		inside = step->position - entry * listing.uniform;
		span.bytes = listing.uniform - inside;
	} else {
		entry = dtc_gpu_find_entry(&listing, step->position);
		inside = step->position - dtc_gpu_prefix_of(&listing, entry);
		span.bytes = dtc_gpu_prefix_of(&listing, entry + 1) - step->position;
	}
	span.address = step->address + dtc_gpu_disp_of(&listing, entry) + inside;
	return span;
}

/* Enter the iteration that holds the position. */
DTC_GPU_FN void dtc_gpu_enter(struct dtc_gpu_step *step, uint32_t kind, uint64_t tables)
{
	uint64_t stride = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, stride);
	uint64_t iteration = dtc_gpu_divide_step(step, step->position);

	step->position -= iteration * DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, unit_bytes);
	if (kind == DTC_GPU_OP_LOOP) {
		step->address += iteration * stride;
	} else {
		struct dtc_gpu_listing listing;
		uint64_t entry = iteration, inside = 0;

		dtc_gpu_read_table(tables + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, table),
				   &listing);
		if (!listing.uniform) {
			entry = dtc_gpu_find_entry(&listing, iteration);
			inside = iteration - dtc_gpu_prefix_of(&listing, entry);
		}
		step->address += dtc_gpu_disp_of(&listing, entry) + inside * stride;
	}
	step->op += sizeof(struct dtc_gpu_op);
	step->divisor += sizeof(struct dtc_gpu_divisor);
}

/* Among consecutive operations, go to the one that holds the position. */
DTC_GPU_FN void dtc_gpu_find_sibling(struct dtc_gpu_step *step)
{
	uint64_t before = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes_before);

	while (step->position >= before + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes)) {
		uint64_t ops = DTC_GPU_MEMBER4(step->op, struct dtc_gpu_op, body) + 1;

		step->op += ops * sizeof(struct dtc_gpu_op);
		step->divisor += ops * sizeof(struct dtc_gpu_divisor);
		before = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes_before);
	}
	step->position -= before;
	step->address += DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, disp);
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_walk_to(const struct dtc_gpu_walk *walk, uint64_t position)
{
	uint64_t instance = dtc_gpu_divide64(position, walk->by_size.magic, walk->by_size.shift,
					     walk->by_size.one);
	uint64_t tables =
		walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, tables);
	struct dtc_gpu_step step;

	step.op = walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, ops);
	step.divisor =
		walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, divisors);
	step.address = walk->user + instance * (uint64_t)walk->extent;
	step.position = position - instance * walk->size;
	for (;;) {
		dtc_gpu_find_sibling(&step);
		uint32_t kind = DTC_GPU_MEMBER4(step.op, struct dtc_gpu_op, kind_flat) & 0xffff;

		if (kind == DTC_GPU_OP_RUN) {
			struct dtc_gpu_span span = {
				step.address + step.position,
				DTC_GPU_MEMBER8(step.op, struct dtc_gpu_op, bytes) -
					step.position
			};
			return span;
		}
		if (kind == DTC_GPU_OP_STRIP)
			return dtc_gpu_strip_at(&step);
		if (kind == DTC_GPU_OP_TABLE)
			return dtc_gpu_entry_at(&step, tables);
		dtc_gpu_enter(&step, kind, tables);
	}
}

#endif
