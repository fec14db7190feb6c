/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind handles. A dead object keeps its memory until reset, so that its use is
 * reported reliably.
 */
#include <stdlib.h>

#include "support/cuda_standin/standin_internal.h"

struct standin_object *standin_objects;

void *standin_object(enum standin_kind kind, size_t bytes, bool counts)
{
	struct standin_object *object = calloc(1, bytes);
	if (!object)
		standin_crash("calloc", "the host has no memory");
	object->kind = kind;
	object->alive = true;
	object->counts = counts;
	object->next = standin_objects;
	standin_objects = object;
	return object;
}

bool standin_alive(const void *object, enum standin_kind kind)
{
	const struct standin_object *header = object;
	return header && header->kind == kind && header->alive;
}

void standin_insist(const void *object, enum standin_kind kind, const char *what)
{
	if (object && !standin_alive(object, kind))
		standin_crash(what, "this handle is dead, or of another kind");
}
