/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in libgdrapi.so.2, opened by name as a program does.
 */
#include <dlfcn.h>

#include "standin/standin_fixture.h"
#include "support/gdrapi_standin/gdrapi.h"
#include "support/standin_load.h"

static void *symbol(const char *name)
{
	ck_assert(standin_load_gdrapi());
	void *library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	void *found = dlsym(library, name);
	ck_assert_msg(found != NULL, "%s is missing", name);
	return found;
}

#define GDR(name) ((__typeof__(&name))symbol(#name))

START_TEST(pages_are_mapped)
{
	CUdeviceptr memory = standin_filled(1000, 4);
	gdr_t gdr = GDR(gdr_open)();
	gdr_mh_t pin;
	struct gdr_info info;
	void *mapping;
	char text[4] = "";
	ck_assert_ptr_nonnull(gdr);
	ck_assert_int_eq(GDR(gdr_pin_buffer)(gdr, memory, 1000, 0, 0, &pin), 0);
	ck_assert_int_eq(GDR(gdr_map)(gdr, pin, &mapping, 1000), 0);
	ck_assert_int_eq(GDR(gdr_get_info_v2)(gdr, pin, &info), 0);
	ck_assert_uint_eq(info.va % 65536, 0);
	ck_assert_uint_eq(info.mapped_size, 65536);
	char *mine = (char *)mapping + (memory - info.va);
	ck_assert_int_eq(GDR(gdr_copy_to_mapping)(pin, mine, "abc", 4), 0);
	ck_works(cuMemcpyDtoH(text, memory, 4));
	ck_assert_str_eq(text, "abc");
	ck_assert_int_eq(GDR(gdr_unmap)(gdr, pin, mapping, 1000), 0);
	ck_assert_int_eq(GDR(gdr_unpin_buffer)(gdr, pin), 0);
	GDR(gdr_close)(gdr);
	ck_works(cuMemFree(memory));
}
END_TEST

START_TEST(pins_are_refused)
{
	CUdeviceptr memory;
	static char host[64];
	gdr_mh_t pin;
	ck_works(cuMemAlloc(&memory, 3 << 20));
	gdr_t gdr = GDR(gdr_open)();
	standin->set(STANDIN_GDR_PIN_MIB, 2);
	ck_assert_int_ne(GDR(gdr_pin_buffer_v2)(gdr, memory, 3 << 20, 0, &pin), 0);
	ck_assert_int_ne(GDR(gdr_pin_buffer_v2)(gdr, (unsigned long)host, 64, 0, &pin),
			 0);
	ck_assert_int_ne(GDR(gdr_pin_buffer_v2)(gdr, memory + (3 << 20) - 8, 16, 0, &pin),
			 0);
	ck_assert_int_eq(GDR(gdr_pin_buffer_v2)(gdr, memory, 1 << 20, 0, &pin), 0);
	GDR(gdr_close)(gdr);
	standin->set(STANDIN_GDR, 0);
	ck_assert_ptr_null(GDR(gdr_open)());
	ck_works(cuMemFree(memory));
}
END_TEST

START_TEST(freed_memory_is_stale)
{
	CUdeviceptr memory = standin_filled(1000, 4), other;
	gdr_t gdr = GDR(gdr_open)();
	gdr_mh_t pin;
	void *mapping;
	int flag;
	ck_assert_int_eq(GDR(gdr_pin_buffer)(gdr, memory, 1000, 0, 0, &pin), 0);
	ck_assert_int_eq(GDR(gdr_get_callback_flag)(gdr, pin, &flag), 0);
	ck_assert_int_eq(flag, 0);
	ck_works(cuMemFree(memory));
	ck_works(cuMemAlloc(&other, 1000)); /* the same address */
	ck_assert_int_eq(GDR(gdr_get_callback_flag)(gdr, pin, &flag), 0);
	ck_assert_int_eq(flag, 1);
	ck_assert_int_ne(GDR(gdr_map)(gdr, pin, &mapping, 1000), 0);
	ck_assert_int_eq(GDR(gdr_unpin_buffer)(gdr, pin), 0);
	GDR(gdr_close)(gdr);
	ck_works(cuMemFree(other));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_gdr");
	TCase *tcase = standin_tcase(suite, "gdr");
	tcase_add_test(tcase, pages_are_mapped);
	tcase_add_test(tcase, pins_are_refused);
	tcase_add_test(tcase, freed_memory_is_stale);
	return standin_run(suite);
}
