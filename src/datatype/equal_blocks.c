/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equal blocks. One pass narrows the displacements into the table and finds out on the way whether that was right:
 * whether all fit, which power of two divides them, and how many blocks touch. The power is foretold from the first
 * blocks; if it was too large, a second pass takes the right one.
 */
#include "config.h"

#include "equal_blocks.h"

#if defined(__x86_64__) && PTRDIFF_MAX == INT64_MAX
#include <immintrin.h>
#define HAVE_AVX 1
#endif

#include <limits.h>

#include "base/base.h"
#include "base/checked.h"
#include "normal_form.h"

/* Blocks from which a list's power of two and its regularity are foretold. */
#define SAMPLE 128

/* Blocks between two looks at whether all of them fit; their entries stay in the first cache. */
#define CHUNK 4096

/*
 * Lists are read once, from memory or the last cache, and one after another: ask for them so far ahead (bytes; 65,536
 * displacements from memory take 14 us instead of 21 on a Zen 5, 4 KiB ahead 18).
 */
#define AHEAD 8192

/* Entries before they are multiplied lie between the negative of this and this. */
#define ENTRY_MOST (INT64_C(1) << 30)

/* ---- one pass ------------------------------------------------------------------------ */

/* Displacements are relative to the first one. */
struct pass {
	const ptrdiff_t *displacements;
	uint64_t count;
	int32_t *entries;
	unsigned at_once;
	unsigned shift; /* by which entries are less than displacements */
	uint64_t
		bias; /* added to displacements, those that fit are less than 2^(31 + shift) */
	uint64_t outside;        /* their union, biased */
	uint64_t bits;           /* the union of all displacements */
	uint64_t step;           /* from a block to one that touches it */
	uint64_t touching;       /* blocks that touch the one before */
	int32_t lowest, highest; /* of the entries */
};

static inline void take(struct pass *pass, uint64_t i)
{
	const uint64_t value = (uint64_t)pass->displacements[i];
	const uint64_t disp = value - (uint64_t)pass->displacements[0];
	const int32_t entry = (int32_t)(uint32_t)(disp >> pass->shift);

	pass->entries[i] = entry;
	pass->outside |= disp + pass->bias;
	pass->bits |= disp;
	pass->lowest = DTC_MIN(pass->lowest, entry);
	pass->highest = DTC_MAX(pass->highest, entry);
	if (i > 0)
		pass->touching += value - (uint64_t)pass->displacements[i - 1] ==
				  pass->step;
}

static void take_all(struct pass *pass, uint64_t begin, uint64_t end)
{
	/* Of its own, so that the entries cannot overlap it. */
	struct pass own = *pass;

	for (uint64_t i = begin; i < end; i++)
		take(&own, i);
	*pass = own;
}

#ifdef HAVE_AVX

#define AVX2 __attribute__((target("avx2")))

/* May be behind the list. */
static inline void ask_ahead(const ptrdiff_t *displacements)
{
	__builtin_prefetch((const void *)((uintptr_t)displacements + AHEAD));
}

/* Four displacements at a time; the figures of a pass as vectors. */
struct figures {
	__m256i first, bias, step;
	__m128i shift;
	__m256i outside, bits, touching, lowest, highest;
};

AVX2 static inline __m256i load(const ptrdiff_t *displacements)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)displacements);
}

/* Returns the entries in the low halves of the lanes. */
AVX2 static inline __m256i take_four(struct figures *all, const ptrdiff_t *displacements)
{
	const __m256i values = load(displacements);
	const __m256i disps = _mm256_sub_epi64(values, all->first);
	const __m256i steps = _mm256_sub_epi64(values, load(displacements - 1));

	all->outside = _mm256_or_si256(all->outside, _mm256_add_epi64(disps, all->bias));
	all->bits = _mm256_or_si256(all->bits, disps);
	all->touching =
		_mm256_sub_epi64(all->touching, _mm256_cmpeq_epi64(steps, all->step));
	return _mm256_srl_epi64(disps, all->shift);
}

AVX2 static inline void take_eight(struct figures *all, const ptrdiff_t *displacements,
				   int32_t *entries)
{
	const __m256 low = _mm256_castsi256_ps(take_four(all, displacements));
	const __m256 high = _mm256_castsi256_ps(take_four(all, displacements + 4));
	const __m256i halves = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
	const __m256i eight = _mm256_permute4x64_epi64(halves, 0xd8);

	all->lowest = _mm256_min_epi32(all->lowest, eight);
	all->highest = _mm256_max_epi32(all->highest, eight);
	_mm256_storeu_si256((__m256i *)(void *)entries, eight);
}

AVX2 static uint64_t union_of(__m256i bits)
{
	uint64_t lanes[4];

	_mm256_storeu_si256((__m256i *)(void *)lanes, bits);
	return lanes[0] | lanes[1] | lanes[2] | lanes[3];
}

AVX2 static uint64_t sum_of(__m256i counts)
{
	uint64_t lanes[4];

	_mm256_storeu_si256((__m256i *)(void *)lanes, counts);
	return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

AVX2 static void join_figures(struct pass *pass, const struct figures *all)
{
	int32_t lowest[8], highest[8];

	_mm256_storeu_si256((__m256i *)(void *)lowest, all->lowest);
	_mm256_storeu_si256((__m256i *)(void *)highest, all->highest);
	for (int i = 0; i < 8; i++) {
		pass->lowest = DTC_MIN(pass->lowest, lowest[i]);
		pass->highest = DTC_MAX(pass->highest, highest[i]);
	}
	pass->outside |= union_of(all->outside);
	pass->bits |= union_of(all->bits);
	pass->touching += sum_of(all->touching);
}

/* Block @begin is not the first one. */
AVX2 static uint64_t take_eights(struct pass *pass, uint64_t begin, uint64_t end)
{
	struct figures all = {
		.first = _mm256_set1_epi64x(pass->displacements[0]),
		.bias = _mm256_set1_epi64x((long long)pass->bias),
		.step = _mm256_set1_epi64x((long long)pass->step),
		.shift = _mm_cvtsi32_si128((int)pass->shift),
	};

	for (; end - begin >= 8; begin += 8) {
		ask_ahead(pass->displacements + begin);
		take_eight(&all, pass->displacements + begin, pass->entries + begin);
	}
	join_figures(pass, &all);
	return begin;
}

/* ---- the same by AVX-512 -------------------------------------------------------------- */

#define AVX512 __attribute__((target("avx512f")))

struct wide_figures {
	__m512i first, bias, step, before; /* the displacements before the next eight */
	__m128i shift;
	__m512i outside, bits, touching;
	__m256i lowest, highest;
};

AVX512 static inline __m512i load_eight(const ptrdiff_t *displacements)
{
	return _mm512_loadu_si512((const void *)displacements);
}

AVX512 static inline void take_wide(struct wide_figures *all,
				    const ptrdiff_t *displacements, int32_t *entries)
{
	const __m512i values = load_eight(displacements);
	const __m512i disps = _mm512_sub_epi64(values, all->first);
	const __m512i steps =
		_mm512_sub_epi64(values, _mm512_alignr_epi64(values, all->before, 7));
	const __m256i eight = _mm512_cvtepi64_epi32(_mm512_srl_epi64(disps, all->shift));

	all->outside = _mm512_or_si512(all->outside, _mm512_add_epi64(disps, all->bias));
	all->bits = _mm512_or_si512(all->bits, disps);
	all->touching = _mm512_mask_add_epi64(all->touching,
					      _mm512_cmpeq_epi64_mask(steps, all->step),
					      all->touching, _mm512_set1_epi64(1));
	all->lowest = _mm256_min_epi32(all->lowest, eight);
	all->highest = _mm256_max_epi32(all->highest, eight);
	all->before = values;
	_mm256_storeu_si256((__m256i *)(void *)entries, eight);
}

AVX512 static void join_wide(struct pass *pass, const struct wide_figures *all)
{
	const struct figures halves[] = {
		{ .outside = _mm512_castsi512_si256(all->outside),
		  .bits = _mm512_castsi512_si256(all->bits),
		  .touching = _mm512_castsi512_si256(all->touching),
		  .lowest = all->lowest,
		  .highest = all->highest },
		{ .outside = _mm512_extracti64x4_epi64(all->outside, 1),
		  .bits = _mm512_extracti64x4_epi64(all->bits, 1),
		  .touching = _mm512_extracti64x4_epi64(all->touching, 1),
		  .lowest = all->lowest,
		  .highest = all->highest },
	};

	join_figures(pass, &halves[0]);
	join_figures(pass, &halves[1]);
}

/* Block @begin is not the first one. */
AVX512 static uint64_t take_wide_eights(struct pass *pass, uint64_t begin, uint64_t end)
{
	struct wide_figures all = {
		.first = _mm512_set1_epi64(pass->displacements[0]),
		.bias = _mm512_set1_epi64((long long)pass->bias),
		.step = _mm512_set1_epi64((long long)pass->step),
		.before = _mm512_set1_epi64(pass->displacements[begin - 1]),
		.shift = _mm_cvtsi32_si128((int)pass->shift),
	};

	for (; end - begin >= 8; begin += 8) {
		ask_ahead(pass->displacements + begin);
		take_wide(&all, pass->displacements + begin, pass->entries + begin);
	}
	join_wide(pass, &all);
	return begin;
}

/* ---- which ----------------------------------------------------------------------------- */

static uint64_t take_most(struct pass *pass, uint64_t begin, uint64_t end)
{
	if (pass->at_once >= 8 && __builtin_cpu_supports("avx512f"))
		return take_wide_eights(pass, begin, end);
	if (pass->at_once >= 4 && __builtin_cpu_supports("avx2"))
		return take_eights(pass, begin, end);
	return begin;
}

#else

static uint64_t take_most(struct pass *pass, uint64_t begin, uint64_t end)
{
	(void)pass;
	(void)end;
	return begin;
}

#endif

static bool all_fit(const struct pass *pass)
{
	return pass->outside >> (31 + pass->shift) == 0;
}

static void multiply(int32_t *entries, uint64_t n, int32_t factor)
{
	for (uint64_t i = 0; i < n; i++)
		entries[i] = (int32_t)((uint32_t)entries[i] * (uint32_t)factor);
}

/* Fill the column; false as soon as some displacements do not fit. */
static bool run_pass(struct pass *pass, unsigned shift, int32_t factor)
{
	pass->shift = shift;
	pass->bias = (uint64_t)ENTRY_MOST << shift;
	pass->outside = pass->bits = pass->touching = 0;
	pass->lowest = pass->highest = 0;
	for (uint64_t begin = 0, end; begin < pass->count && all_fit(pass); begin = end) {
		end = DTC_MIN(begin + CHUNK, pass->count);
		take_all(pass, begin, DTC_MIN(begin + 1, end));
		take_all(pass, take_most(pass, DTC_MIN(begin + 1, end), end), end);
		if (factor != 1)
			multiply(pass->entries + begin, end - begin, factor);
	}
	return all_fit(pass);
}

/* ---- what the table has in common ------------------------------------------------------ */

/* Displacements in bytes are entries << scale; entries are (displacements >> shift) x factor. */
struct scaling {
	unsigned scale, shift;
	int64_t factor;
};

/* Of displacements in units of @unit bytes, all multiples of 2^@zeros. */
static struct scaling scale_by(int64_t unit, unsigned zeros)
{
	const unsigned unit_zeros = (unsigned)__builtin_ctzll((uint64_t)unit);
	const unsigned scale =
		DTC_MIN(zeros + unit_zeros, (unsigned)DTC_TABLE_SHIFT_MOST);
	const unsigned of_unit = DTC_MIN(unit_zeros, scale);

	return (struct scaling){ .scale = scale,
				 .shift = scale - of_unit,
				 .factor = unit / (INT64_C(1) << of_unit) };
}

static unsigned zeros_of(uint64_t bits)
{
	return bits ? (unsigned)__builtin_ctzll(bits) : 63;
}

/* The displacement that separates blocks that touch, or 0 if none can. */
static uint64_t touching_step(const struct dtc_equal_blocks *blocks)
{
	const uint64_t unit = dtc_magnitude(blocks->unit);

	if (blocks->bytes % unit)
		return 0;
	return blocks->unit < 0 ? -(blocks->bytes / unit) : blocks->bytes / unit;
}

struct sample {
	uint64_t count;
	uint64_t bits;
	uint64_t touching;
	bool is_regular; /* blocks that touch make runs of one length */
};

static struct sample take_sample(const struct dtc_equal_blocks *blocks, uint64_t step)
{
	const ptrdiff_t *values = blocks->displacements;
	struct sample sample = { .count = DTC_MIN(blocks->count, (uint64_t)SAMPLE),
				 .is_regular = true };
	uint64_t first = 0, run = 0; /* blocks of the first run, and of this one */

	for (uint64_t i = 1; i < sample.count; i++) {
		const bool touches = step && (uint64_t)values[i] -
						     (uint64_t)values[i - 1] == step;

		sample.bits |= (uint64_t)values[i] - (uint64_t)values[0];
		sample.touching += touches;
		run++;
		if (!touches) {
			first = first ? first : run;
			sample.is_regular &= run == first;
			run = 0;
		}
	}
	sample.is_regular &= first != 1;
	return sample;
}

static bool is_progression(const struct dtc_equal_blocks *blocks)
{
	const ptrdiff_t *values = blocks->displacements;
	const uint64_t step = (uint64_t)values[1] - (uint64_t)values[0];
	uint64_t i = 2;

	while (i < blocks->count && (uint64_t)values[i] - (uint64_t)values[i - 1] == step)
		i++;
	return i == blocks->count;
}

/* Whether @count blocks, of which some touch the one before, stay apart in the normal form, as in normalise.c. */
static bool stay_apart(uint64_t count, uint64_t touching)
{
	const uint64_t merged = count - touching;

	return merged > DTC_FEW_RUNS && dtc_stay_apart(count, merged);
}

/* ---- the program ----------------------------------------------------------------------- */

static struct dtc_table table_of(const struct dtc_equal_blocks *blocks)
{
	struct dtc_table table = {
		.count = blocks->count,
		.uniform = blocks->bytes,
		.prefix_shift = dtc_common_shift(blocks->bytes),
	};

	table.prefix_wide = blocks->count * blocks->bytes >> table.prefix_shift >
			    UINT32_MAX;
	table.prefix_offset = sizeof(table) + dtc_column_bytes(blocks->count, false);
	table.table_bytes = table.prefix_offset;
	return table;
}

static struct dtc_table *stored_table(struct dtc_program *program)
{
	return (struct dtc_table *)(uintptr_t)dtc_program_tables(program);
}

/* Whether entries stay in 32 bits when they are multiplied. */
static bool product_fits(int32_t lowest, int32_t highest, int64_t factor)
{
	int64_t low, high;

	if (__builtin_mul_overflow(lowest, factor, &low) ||
	    __builtin_mul_overflow(highest, factor, &high))
		return false;
	return low == (int32_t)low && high == (int32_t)high;
}

/* The caller's values of the lowest and the highest displacement, and the bytes between them. */
static bool measure(const struct pass *pass, const struct dtc_equal_blocks *blocks,
		    struct dtc_equal_list *list, uint64_t *span)
{
	const int64_t first = blocks->displacements[0];
	const int64_t step = INT64_C(1) << pass->shift;
	int64_t bytes;

	if (__builtin_add_overflow(first, pass->lowest * step, &list->lowest) ||
	    __builtin_add_overflow(first, pass->highest * step, &list->highest) ||
	    __builtin_mul_overflow((int64_t)pass->highest - pass->lowest,
				   blocks->unit * step, &bytes))
		return false;
	*span = dtc_magnitude(bytes);
	return true;
}

/* Fill in the table; false if it cannot hold the blocks or is not what they become. */
static bool fill(struct dtc_program *program, const struct dtc_equal_blocks *blocks,
		 uint64_t step, unsigned zeros, struct dtc_equal_list *list)
{
	struct dtc_table *table = stored_table(program);
	struct pass pass = { .displacements = blocks->displacements,
			     .count = blocks->count,
			     .entries = (int32_t *)(table + 1),
			     .at_once = blocks->at_once ? blocks->at_once : UINT_MAX,
			     .step = step };
	struct scaling scaling = scale_by(blocks->unit, zeros);

	if (scaling.factor != (int32_t)scaling.factor ||
	    !run_pass(&pass, scaling.shift, (int32_t)scaling.factor))
		return false;
	if (scale_by(blocks->unit, zeros_of(pass.bits)).scale < scaling.scale) {
		scaling = scale_by(blocks->unit, zeros_of(pass.bits));
		if (!run_pass(&pass, scaling.shift, (int32_t)scaling.factor))
			return false;
	}
	if (!product_fits(pass.lowest, pass.highest, scaling.factor) ||
	    !measure(&pass, blocks, list, &table->span) ||
	    (step && !stay_apart(blocks->count, pass.touching)))
		return false;
	if (blocks->count % 2)
		pass.entries[blocks->count] = 0;
	table->disp_shift = (uint8_t)scaling.scale;
	list->displacements = (struct dtc_ints){ .values = pass.entries,
						 .count = (size_t)blocks->count,
						 .width = sizeof(pass.entries[0]),
						 .unit = blocks->unit,
						 .shift = scaling.scale,
						 .first = blocks->displacements[0] };
	return true;
}

static bool may_be_listed(const struct dtc_equal_blocks *blocks,
			  const struct sample *sample)
{
	uint64_t bytes;
	int64_t disp;

	if (__builtin_mul_overflow(blocks->count, blocks->bytes, &bytes) ||
	    __builtin_mul_overflow((int64_t)blocks->displacements[0], blocks->unit,
				   &disp) ||
	    __builtin_add_overflow(disp, blocks->disp, &disp))
		return false;
	/* Long runs are better merged, and short blocks into runs of one length, as far as the sample shows. */
	if (sample->touching &&
	    ((sample->is_regular && blocks->bytes <= DTC_SHORT_BLOCK) ||
	     !dtc_stay_apart(sample->count, sample->count - sample->touching)))
		return false;
	return !is_progression(blocks);
}

bool dtc_equal_blocks_list(const struct dtc_equal_blocks *blocks,
			   struct dtc_equal_list *list, size_t *bytes)
{
	list->program = NULL;
	if (blocks->count <= DTC_FEW_RUNS || blocks->unit == 0 || blocks->bytes == 0)
		return true;
	const uint64_t step = touching_step(blocks);
	const struct sample sample = take_sample(blocks, step);
	if (!may_be_listed(blocks, &sample))
		return true;
	const struct dtc_table table = table_of(blocks);
	struct dtc_program *program =
		dtc_program_allocate(blocks->context, 1, (size_t)table.table_bytes);
	*bytes = (size_t)table.table_bytes;
	if (!program)
		return false;
	*stored_table(program) = table;
	if (!fill(program, blocks, step, zeros_of(sample.bits), list)) {
		dtc_program_unref(program);
		return true;
	}
	program->bytes = blocks->count * blocks->bytes;
	program->ops[0] =
		(struct dtc_op){ .kind = DTC_OP_TABLE,
				 .disp = blocks->displacements[0] * blocks->unit +
					 blocks->disp,
				 .bytes = program->bytes,
				 .count = blocks->count,
				 .unit_bytes = blocks->bytes };
	list->program = program;
	return true;
}
