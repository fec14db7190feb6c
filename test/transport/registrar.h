/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrars that write down what they are asked for, in one diary for all of them, and refuse on demand.
 */
#ifndef TEST_TRANSPORT_REGISTRAR_H
#define TEST_TRANSPORT_REGISTRAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <dtconv/pool.h>

#include "support/marks.h"

#define REGISTRARS 3

/* One letter an event: "0+" registered by the first one, "1-" undone by the second, "2!" refused. */
struct diary {
	char text[4096];
	size_t length;
	unsigned refused; /* bits: registrars that refuse */
	size_t spare;     /* so many calls are granted before they do */
	atomic_size_t live;
};

struct registrar {
	struct diary *diary;
	unsigned number;
};

static inline void diary_write(struct diary *diary, unsigned number, char what)
{
	ck_assert_uint_lt(diary->length + 3, sizeof(diary->text));
	diary->text[diary->length++] = (char)('0' + number);
	diary->text[diary->length++] = what;
	diary->text[diary->length] = 0;
}

static inline void diary_clear(struct diary *diary)
{
	diary->length = 0;
	diary->text[0] = 0;
}

static inline void *handle_of(const struct registrar *registrar,
			      const struct dtconv_slab *slab)
{
	return (char *)slab->base + 1 + registrar->number;
}

static inline int registrar_reg(void *arg, const struct dtconv_slab *slab, void **handle)
{
	struct registrar *registrar = arg;
	struct diary *diary = registrar->diary;

	ck_assert_ptr_null(*handle);
	ck_assert_ptr_nonnull(slab->base);
	if (diary->refused >> registrar->number & 1 &&
	    !(diary->spare && diary->spare--)) {
		diary_write(diary, registrar->number, '!');
		return DTCONV_ERR_LIMIT;
	}
	diary_write(diary, registrar->number, '+');
	*handle = handle_of(registrar, slab);
	atomic_fetch_add(&diary->live, 1);
	return 0;
}

static inline void registrar_dereg(void *arg, const struct dtconv_slab *slab,
				   void *handle)
{
	struct registrar *registrar = arg;

	diary_write(registrar->diary, registrar->number, '-');
	ck_assert_ptr_eq(handle, handle_of(registrar, slab));
	/* The memory is still there. */
	if (slab->kind != DTCONV_MEMORY_DEVICE)
		*(volatile char *)slab->base = 1;
	atomic_fetch_sub(&registrar->diary->live, 1);
}

/* REGISTRARS of them. */
static inline void registrars_of(struct diary *diary, struct registrar registrars[],
				 struct dtconv_registrar given[])
{
	for (unsigned i = 0; i < REGISTRARS; i++) {
		registrars[i] = (struct registrar){ diary, i };
		given[i] = (struct dtconv_registrar){ .name = "diary",
						      .reg = registrar_reg,
						      .dereg = registrar_dereg,
						      .arg = &registrars[i] };
	}
}

#endif
