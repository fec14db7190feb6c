/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels' source compiles without a word for every architecture that NVRTC knows, holds all entry
 * points and, on the machine that is measured, spills nothing, also with the numbers of a shape; the
 * images of the build are what they say.
 */
#include "config.h"

#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "datatype/type.h"
#include "kernels/images/images.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/special.h"
#include "kernels/unpack.h"
#include "support/fixture.h"
#include "support/layouts.h"
#include "support/type_choices.h"

/* ---- NVRTC ------------------------------------------------------------------------------------- */

static void *library;

/* POSIX lets dlsym's answer be a function; C needs a detour. */
static void find(const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	ck_assert_msg(symbol != NULL, "NVRTC has no %s", name);
	memcpy(function, &symbol, sizeof(symbol));
}

static void *open_library(void)
{
	static const char *const names[] = { NVRTC_PATH, "libnvrtc.so.13", "libnvrtc.so.12",
					     "libnvrtc.so" };

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(names) && !library; i++)
		library = names[i][0] ? dlopen(names[i], RTLD_NOW) : NULL;
	return library;
}

static int arch_count(int archs[64])
{
	int (*count)(int *number);
	int (*list)(int *numbers);
	int number = 0;

	find("nvrtcGetNumSupportedArchs", &count);
	find("nvrtcGetSupportedArchs", &list);
	ck_assert_int_eq(count(&number), 0);
	ck_assert_int_le(number, 64);
	ck_assert_int_eq(list(archs), 0);
	return number;
}

/* What the compiler has to say; to be freed. */
static char *log_of(void *program)
{
	int (*log_size)(void *which, size_t *bytes);
	int (*read_log)(void *which, char *text);
	size_t bytes = 0;

	find("nvrtcGetProgramLogSize", &log_size);
	find("nvrtcGetProgramLog", &read_log);
	ck_assert_int_eq(log_size(program, &bytes), 0);
	char *text = calloc(bytes + 1, 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(read_log(program, text), 0);
	return text;
}

/* Compile for one architecture; answers the log. A shape's kernel leaves functions unused. */
static char *compile(int arch, const char *source, bool shape, void **program)
{
	int (*create)(void **made, const char *source, const char *name, int headers,
		      const char *const *texts, const char *const *names);
	int (*build)(void *which, int count, const char *const *options);
	char option[64];
	const char *const options[] = { option, "--std=c++11", "--ptxas-options=-v",
					"--disable-warnings" };

	find("nvrtcCreateProgram", &create);
	find("nvrtcCompileProgram", &build);
	snprintf(option, sizeof(option), "--gpu-architecture=sm_%d", arch);
	ck_assert_int_eq(create(program, source, "dtconv.cu", 0, NULL, NULL), 0);
	int status = build(*program, shape ? 4 : 3, options);
	char *log = log_of(*program);
	ck_assert_msg(status == 0, "sm_%d: %.500s", arch, log);
	return log;
}

/* How often a number other than 0 stands before " bytes spill" or " bytes stack". */
static int spills(const char *log)
{
	int found = 0;

	for (const char *at = log; (at = strstr(at, " bytes s")) != NULL; at++)
		if (!strncmp(at, " bytes spill", 12) || !strncmp(at, " bytes stack", 12))
			found += at[-1] != '0' || (at[-2] >= '0' && at[-2] <= '9');
	return found;
}

static void check_entries(const char *log, int arch)
{
	for (int i = 0; i < DTC_GPU_KERNELS; i++) {
		char quoted[128];

		snprintf(quoted, sizeof(quoted), "'%s'",
			 dtc_gpu_kernel_name((enum dtc_gpu_kernel)i));
		ck_assert_msg(strstr(log, quoted) != NULL, "sm_%d has no %s", arch, quoted);
	}
}

/* What the images were compiled from; to be freed. */
static char *read_text(void)
{
	FILE *file = fopen(GPU_TEXT, "r");

	ck_assert_msg(file != NULL, "cannot open %s", GPU_TEXT);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	const size_t bytes = (size_t)ftell(file);
	char *text = calloc(bytes + 1, 1);
	ck_assert_ptr_nonnull(text);
	rewind(file);
	ck_assert_uint_eq(fread(text, 1, bytes, file), bytes);
	fclose(file);
	return text;
}

static void check_arch(int arch)
{
	int (*destroy)(void **program);
	void *program = NULL;
	char *text = read_text();
	char *log = compile(arch, text, false, &program);

	free(text);

	find("nvrtcDestroyProgram", &destroy);
	/* A message of Check has an end. */
	const char *warning = strstr(log, "warning");
	ck_assert_msg(!warning, "sm_%d: %.500s", arch, warning);
	ck_assert_msg(arch != 90 || spills(log) == 0, "sm_%d: local memory %d times", arch,
		      spills(log));
	check_entries(log, arch);
	free(log);
	destroy(&program);
}

START_TEST(source_compiles_without_a_word_and_without_spills)
{
	int archs[64];
	int count = arch_count(archs);

	/* One architecture takes seconds: all of them on demand, else the one that is measured. */
	for (int i = 0; i < count; i++)
		if (fixture_everything() || archs[i] == 90)
			check_arch(archs[i]);
}
END_TEST

/* ---- kernels for one shape --------------------------------------------------------------------- */

/* Of every class that has them, but for tables of unlike runs. */
static const char *const shapes[] = {
	"vector(700, 1, 2, double)",
	"contiguous(60, resized(hindexed([12, 8], [0, 20], byte), 0, 48))",
	"contiguous(60, resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24))",
	"indexed_block(1, [0, 3, 5, 11, 40, 41, 43, 50, 77, 90], double)",
	"indexed([1, 5, 2, 9, 30], [0, 3, 20, 40, 60], double)",
	"contiguous(40, resized(vector(40, 1, 40, double), 0, 8))",
};

/* The source with the numbers of a job's shape; to be freed. NULL: jobs of its class have none. */
static char *source_of_job(const struct dtc_gpu_job *job)
{
	size_t capacity = strlen(dtc_gpu_source()) + 65536;
	static struct dtc_gpu_special special;
	static struct dtc_gpu_launch launch;
	struct dtc_text text;
	uint32_t needed;

	if (dtc_gpu_plan(job, NULL, &launch, &needed) ||
	    !dtc_gpu_special_of(&launch, &special))
		return NULL;
	char *source = malloc(capacity);
	ck_assert_ptr_nonnull(source);
	dtc_text_init(&text, source, capacity);
	dtc_gpu_special_write(&special, &text);
	dtc_text_puts(&text, dtc_gpu_source());
	ck_assert_uint_lt(text.length, text.capacity);
	return source;
}

static char *source_of(const char *shape, enum dtc_direction direction)
{
	struct dtconv_type *type = fixture_type(shape);
	const struct dtc_gpu_job job = { .layout = dtc_type_layout(type),
					 .count = 1,
					 .user = 1 << 20,
					 .packed = 2 << 20,
					 .end = dtc_type_layout(type)->size,
					 .direction = direction,
					 .image = 3 << 20 };
	char *source = source_of_job(&job);

	ck_assert_ptr_nonnull(source);
	dtconv_type_unref(type);
	return source;
}

/* Frees the source. */
static void check_source(int arch, char *source, const char *name)
{
	int (*destroy)(void **program);
	void *program = NULL;
	char *log = compile(arch, source, true, &program);

	find("nvrtcDestroyProgram", &destroy);
	ck_assert_msg(arch != 90 || spills(log) == 0, "%s: local memory %d times", name,
		      spills(log));
	free(log);
	free(source);
	destroy(&program);
}

static void check_shape(int arch, const char *shape, enum dtc_direction direction)
{
	check_source(arch, source_of(shape, direction), shape);
}

START_TEST(source_compiles_with_the_numbers_of_a_shape)
{
	int archs[64];
	int count = arch_count(archs);

	for (int i = 0; i < count; i++)
		if (fixture_everything() || archs[i] == 90) {
			check_shape(archs[i], shapes[_i], DTC_PACK);
			check_shape(archs[i], shapes[_i], DTC_UNPACK);
		}
}
END_TEST

/* Short and long ones. */
START_TEST(source_compiles_with_the_numbers_of_a_table)
{
	char text[4096];
	int archs[64];
	int count = arch_count(archs);

	layout_write_unlike(text, sizeof(text), 150, _i ? 64 : 3);
	for (int i = 0; i < count; i++)
		if (fixture_everything() || archs[i] == 90) {
			check_shape(archs[i], text, DTC_PACK);
			check_shape(archs[i], text, DTC_UNPACK);
		}
}
END_TEST

/* A few random ones, each for another architecture; so many of them on demand. */
#define RANDOM_SHAPES      12
#define MANY_RANDOM_SHAPES 500

/* Compile what a random type's job has; false if that is nothing. */
static bool check_random(int arch, struct choices *choices)
{
	struct dtconv_type *type =
		type_choose(fixture_context, choices, &type_bounds_small);
	char name[400] = "";
	size_t length;

	fixture_ok(dtconv_type_commit(type));
	dtconv_type_format(type, name, sizeof(name), &length);
	const struct dtc_layout *layout = dtc_type_layout(type);
	size_t count = 1 + choose(choices, 5);
	const struct dtc_gpu_job job = {
		.layout = layout,
		.count = count,
		.user = ((uint64_t)1 << 30) + choose(choices, 2) * choose(choices, 17),
		.packed = ((uint64_t)2 << 30) + choose(choices, 2) * choose(choices, 17),
		.end = count * layout->size,
		.direction = chance(choices, 2) ? DTC_PACK : DTC_UNPACK,
		.image = (uint64_t)3 << 30
	};
	char *source = job.end ? source_of_job(&job) : NULL;

	if (source)
		check_source(arch, source, name);
	dtconv_type_unref(type);
	return source;
}

START_TEST(source_compiles_with_the_numbers_of_random_shapes)
{
	struct choices choices = fixture_choices(0x6172636800 + (uint64_t)_i);
	int archs[64], count = arch_count(archs);
	int shapes_wanted = fixture_everything() ? MANY_RANDOM_SHAPES : RANDOM_SHAPES;
	size_t first = choose(&choices, (size_t)count);

	for (int done = 0; done < shapes_wanted;)
		done += check_random(archs[((size_t)done + first) % (size_t)count],
				     &choices);
}
END_TEST

/* ---- images ------------------------------------------------------------------------------------ */

static bool holds(const struct unpacked *image, const char *text)
{
	return memmem(image->bytes, image->count, text, strlen(text)) != NULL;
}

/* A name is inside longer ones' text, so that what is not there is not looked for. */
static void holds_set(const struct dtc_gpu_image *of, enum dtc_gpu_set set)
{
	struct unpacked image = unpack(of);

	for (int k = 0; k < DTC_GPU_KERNELS; k++) {
		enum dtc_gpu_kernel kernel = (enum dtc_gpu_kernel)k;

		if (dtc_gpu_kernel_set(kernel) == set &&
		    !holds(&image, dtc_gpu_kernel_name(kernel)))
			ck_abort_msg("the image for %u lacks %s", of->arch,
				     dtc_gpu_kernel_name(kernel));
	}
	unpack_end(&image);
}

START_TEST(images_hold_every_kernel)
{
	ck_assert_uint_eq(dtc_gpu_typed_count, dtc_gpu_image_count);
	for (size_t i = 0; i < dtc_gpu_image_count; i++) {
		holds_set(&dtc_gpu_images[i], DTC_GPU_SET_MOVING);
		holds_set(&dtc_gpu_typeds[i], DTC_GPU_SET_TYPED);
		ck_assert_uint_eq(dtc_gpu_typeds[i].arch, dtc_gpu_images[i].arch);
		ck_assert_int_eq(dtc_gpu_typeds[i].is_ptx, dtc_gpu_images[i].is_ptx);
	}
}
END_TEST

/* A program that only moves bytes loads no kernel that computes. */
START_TEST(images_of_moving_kernels_hold_no_others)
{
	for (size_t i = 0; i < dtc_gpu_image_count; i++) {
		struct unpacked image = unpack(&dtc_gpu_images[i]);
		struct unpacked typed = unpack(&dtc_gpu_typeds[i]);

		ck_assert(!holds(&image, "dtc_gpu_numbers_pack"));
		ck_assert(!holds(&image, "dtc_gpu_crc_sum"));
		ck_assert(!holds(&typed, "dtc_gpu_strided_pack_16"));
		ck_assert(!holds(&typed, "dtc_gpu_general_pack"));
		unpack_end(&typed);
		unpack_end(&image);
	}
}
END_TEST

START_TEST(every_image_has_its_resident_kernel)
{
	ck_assert_uint_eq(dtc_gpu_resident_count, dtc_gpu_image_count);
	for (size_t i = 0; i < dtc_gpu_resident_count; i++) {
		struct unpacked resident = unpack(&dtc_gpu_residents[i]);

		ck_assert_uint_eq(dtc_gpu_residents[i].arch, dtc_gpu_images[i].arch);
		ck_assert(holds(&resident, "dtc_gpu_resident"));
		unpack_end(&resident);
		const struct dtc_gpu_image *best = dtc_gpu_resident_for(dtc_gpu_images[i].arch);
		ck_assert_ptr_nonnull(best);
		ck_assert(dtc_gpu_residents[i].is_ptx ? !best->is_ptx || best == &dtc_gpu_residents[i]
						      : best == &dtc_gpu_residents[i]);
	}
}
END_TEST

/* The architecture that an image was compiled for is in the flags of its ELF header, or in its text. */
static void check_target(const struct dtc_gpu_image *of, const struct unpacked *image)
{
	char target[32];
	uint32_t flags;

	if (of->is_ptx) {
		snprintf(target, sizeof(target), ".target sm_%u", of->arch);
		ck_assert(holds(image, target));
		ck_assert_uint_ge(strlen(image->bytes) + 1, image->count);
		return;
	}
	ck_assert_int_eq(memcmp(image->bytes, "\177ELF", 4), 0);
	memcpy(&flags, image->bytes + offsetof(Elf64_Ehdr, e_flags), sizeof(flags));
	ck_assert_msg((flags & 0xff) == of->arch || (flags >> 8 & 0xff) == of->arch,
		      "the image for %u has the flags %#x", of->arch, flags);
}

START_TEST(binaries_are_elf_and_ptx_is_text)
{
	for (size_t i = 0; i < dtc_gpu_image_count; i++) {
		struct unpacked image = unpack(&dtc_gpu_images[i]);
		struct unpacked resident = unpack(&dtc_gpu_residents[i]);

		struct unpacked typed = unpack(&dtc_gpu_typeds[i]);

		check_target(&dtc_gpu_images[i], &image);
		check_target(&dtc_gpu_typeds[i], &typed);
		check_target(&dtc_gpu_residents[i], &resident);
		unpack_end(&typed);
		/* PTX that is not packed is handed over as a string. */
		ck_assert_int_eq(
			((const char *)dtc_gpu_images[i].data)[dtc_gpu_images[i].bytes],
			0);
		unpack_end(&resident);
		unpack_end(&image);
	}
}
END_TEST

START_TEST(devices_get_the_nearest_image)
{
	static const struct {
		uint32_t device, arch;
		bool is_ptx;
	} expected[] = { { 70, 0, false },  { 75, 75, false }, { 80, 80, false },
			 { 86, 80, false }, { 89, 80, false }, { 90, 90, false },
			 { 103, 100, false }, { 121, 120, false }, { 130, 75, true } };

	for (size_t i = 0; dtc_gpu_image_count == 7 && i < DTC_ARRAY_LENGTH(expected); i++) {
		const struct dtc_gpu_image *image = dtc_gpu_image_for(expected[i].device);

		ck_assert_uint_eq(image ? image->arch : 0, expected[i].arch);
		ck_assert(!image || image->is_ptx == expected[i].is_ptx);
	}
}
END_TEST

/* ---- parameters -------------------------------------------------------------------------------- */

START_TEST(parameters_fit_a_launch)
{
	for (int k = 0; k < DTC_GPU_KERNELS; k++)
		ck_assert_uint_le(dtc_gpu_kernel_params_bytes((enum dtc_gpu_kernel)k),
				  DTC_GPU_PARAMS_BYTES);
}
END_TEST

/* NULL: all of them can be unpacked. */
static const char *missing_unpacker(void)
{
	const char *missing = NULL;

	for (size_t i = 0; i < dtc_gpu_image_count && !missing; i++)
		missing = unpack_lacks(&dtc_gpu_images[i]);
	return missing;
}

int main(void)
{
	Suite *suite = suite_create("gpu images");
	TCase *images = fixture_case(suite, "images", 60);
	const char *missing = missing_unpacker();

	if (!missing) {
		tcase_add_test(images, images_hold_every_kernel);
		tcase_add_test(images, images_of_moving_kernels_hold_no_others);
		tcase_add_test(images, every_image_has_its_resident_kernel);
		tcase_add_test(images, binaries_are_elf_and_ptx_is_text);
	}
	tcase_add_test(images, devices_get_the_nearest_image);
	tcase_add_test(images, parameters_fit_a_launch);
	if (open_library()) {
		TCase *source = fixture_case(suite, "source", 600);

		tcase_add_test(source, source_compiles_without_a_word_and_without_spills);
		tcase_add_loop_test(source, source_compiles_with_the_numbers_of_a_shape,
				    0, (int)DTC_ARRAY_LENGTH(shapes));
		tcase_add_loop_test(source, source_compiles_with_the_numbers_of_a_table,
				    0, 2);
		tcase_add_test(source, source_compiles_with_the_numbers_of_random_shapes);
	}
	int status = fixture_run(suite);
	if (status != EXIT_SUCCESS || (library && !missing))
		return status;
	if (missing)
		printf("%s is not here: the images were not unpacked\n", missing);
	else
		printf("NVRTC is not here: the kernels were not compiled\n");
	return 77;
}
