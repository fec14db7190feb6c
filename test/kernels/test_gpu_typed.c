/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which kernel moves which typed stream: none that could be moved by words or cells is walked through.
 */
#include "config.h"

#include "datatype/predefined.h"
#include "datatype/representation.h"
#include "datatype/type.h"
#include "kernels/gpu_moves.h"
#include "kernels/launch/typed.h"

#define USER   UINT64_C(0x10000)
#define PACKED UINT64_C(0x8000000)

struct row {
	const char *type;
	const char *representation;
	enum dtconv_op op;
	uint64_t shift; /* of the user's address */
	enum dtc_gpu_kernel unpacks;
};

static const struct row rows[] = {
	{ "contiguous(1000, double)", "external32", DTCONV_OP_REPLACE, 0,
	  DTC_GPU_numbers_unpack },
	{ "vector(90, 1, 2, double)", "native", DTCONV_OP_SUM, 0,
	  DTC_GPU_numbers_unpack },
	{ "contiguous(1000, double)", "native", DTCONV_OP_SUM, 3, DTC_GPU_cells_unpack },
	{ "hvector(90, 1, 17, double)", "native", DTCONV_OP_SUM, 0,
	  DTC_GPU_cells_unpack },
	{ "contiguous(1000, long)", "external32", DTCONV_OP_REPLACE, 0,
	  DTC_GPU_cells_unpack },
	{ "contiguous(50, resized(struct([3,2], [0,20], [float,float]), 0, 48))",
	  "external32", DTCONV_OP_SUM, 0, DTC_GPU_period_unpack },
	{ "contiguous(50, resized(struct([3,2], [0,20], [float,float]), 0, 48))",
	  "external32", DTCONV_OP_SUM, 2, DTC_GPU_cells_unpack },
	{ "contiguous(50, resized(struct([1,1,2], [0,8,16], [int,double,float]), 0, 32))",
	  "s390x", DTCONV_OP_SUM, 0, DTC_GPU_records_unpack },
	{ "contiguous(50, resized(struct([1,1,2], [0,8,16], [int,double,float]), 0, 32))",
	  "s390x", DTCONV_OP_SUM, 2, DTC_GPU_cells_unpack },
	{ "contiguous(50, struct([10,10], [0,80], [double,float]))", "native",
	  DTCONV_OP_SUM, 0, DTC_GPU_records_unpack },
	{ "contiguous(50, struct([10,20], [0,80], [double,float]))", "native",
	  DTCONV_OP_SUM, 0, DTC_GPU_cells_unpack },
	{ "contiguous(50, resized(struct([1,1,2], [0,8,16], [int,double,float]), 0, 32))",
	  "s390x", DTCONV_OP_REPLACE, 4, DTC_GPU_period_unpack },
	{ "contiguous(50, resized(struct([1,1,2], [0,8,16], [int,double,float]), 0, 32))",
	  "s390x", DTCONV_OP_REPLACE, 2, DTC_GPU_cells_unpack },
	{ "contiguous(50, struct([1,1,2], [0,8,16], [int,double,float]))", "s390x",
	  DTCONV_OP_REPLACE, 0, DTC_GPU_period_unpack },
	{ "contiguous(50, struct([1,1], [0,8], [int,long]))", "external32",
	  DTCONV_OP_REPLACE, 0, DTC_GPU_cells_unpack },
	{ "contiguous(50, struct([1,1], [0,4], [int,float]))", "native", DTCONV_OP_SUM, 0,
	  DTC_GPU_records_unpack },
	{ "contiguous(90, 2int)", "native", DTCONV_OP_MINLOC, 0,
	  DTC_GPU_word_couples_unpack },
	{ "contiguous(90, double_int)", "native", DTCONV_OP_MAXLOC, 0,
	  DTC_GPU_word_couples_unpack },
	{ "contiguous(90, float_int)", "s390x", DTCONV_OP_MINLOC, 0,
	  DTC_GPU_word_couples_unpack },
	{ "contiguous(90, double_int)", "native", DTCONV_OP_MAXLOC, 2,
	  DTC_GPU_couples_unpack },
};

static void make_conversions(const char *name, struct dtc_conversion to_wire[])
{
	struct dtc_representation native, wire;
	struct dtconv_representation found;

	ck_assert_int_eq(dtconv_representation_find(name, &found), 0);
	dtc_representation_resolve(NULL, NULL, NULL, &native);
	ck_assert_int_eq(
		dtc_representation_resolve(fixture_context, "test", &found, &wire), 0);
	for (int i = 0; i < DTCONV_PREDEFINED_COUNT; i++) {
		enum dtconv_predefined basic = (enum dtconv_predefined)i;
		struct dtc_element_format from, to;

		if (dtc_predefined_row(basic)->is_pair)
			continue;
		from = dtc_representation_format(&native, basic);
		to = dtc_representation_format(&wire, basic);
		to_wire[i] = dtc_conversion_make(&from, &to);
	}
}

START_TEST(no_program_is_needed)
{
	struct dtc_conversion to_wire[DTCONV_PREDEFINED_COUNT] = { 0 };
	const struct row *row = &rows[_i];
	struct dtconv_type *type = fixture_type(row->type);
	struct dtc_gpu_typing typing = { .signature = type->signature,
					 .count = 1,
					 .to_wire = to_wire,
					 .op = row->op };
	struct dtc_gpu_typed_job job = { .job = { .layout = dtc_type_layout(type),
						  .count = 1,
						  .user = USER + row->shift,
						  .packed = PACKED,
						  .direction = DTC_UNPACK } };
	static struct dtc_gpu_units units; /* too long for a stack */
	static struct dtc_gpu_launch launch;

	make_conversions(row->representation, to_wire);
	typing.couples = row->op == DTCONV_OP_MINLOC || row->op == DTCONV_OP_MAXLOC;
	if (typing.couples)
		dtc_signature_couples(type->signature, &typing.value, &typing.index);
	ck_assert_ptr_null(dtc_gpu_units_make(&typing, &units));
	job.units = &units;
	job.begin = dtc_gpu_units_at(&units, 0);
	job.end = dtc_gpu_units_at(&units, units.count);
	job.job.end = job.end.native;
	ck_assert_int_eq(dtc_gpu_plan_typed(&job, &launch), 0);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel),
			 dtc_gpu_kernel_name(row->unpacks));
	ck_assert_uint_eq(launch.bytes, job.end.wire);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu typed");
	TCase *plans = fixture_case(suite, "plans", 60);

	tcase_add_loop_test(plans, no_program_is_needed, 0,
			    (int)(sizeof(rows) / sizeof(rows[0])));
	return fixture_run(suite);
}
