/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests many started convertors in one call. Each is tested by dtconv_convertor_test, so callbacks and
 * positions are as for one.
 */
#include "config.h"

#include "convertor.h"

/* Whether a convertor takes part: it was started and its completion has not been reported. */
static bool is_started(const struct dtconv_convertor *convertor)
{
	return convertor && convertor->request.in_flight;
}

int dtconv_convertor_test_any(struct dtconv_convertor *const convertors[], size_t count,
			      size_t *index, size_t *moved)
{
	if ((count && !convertors) || !index)
		return DTCONV_ERR_INVAL;
	bool started = false;

	for (size_t i = 0; i < count; i++) {
		if (!is_started(convertors[i]))
			continue;
		int status = dtconv_convertor_test(convertors[i], moved);

		if (status != DTCONV_INPROGRESS) {
			*index = i;
			return status;
		}
		started = true;
	}
	*index = DTCONV_UNDEFINED;
	return started ? DTCONV_INPROGRESS : 0;
}

/* What one pass over an array of convertors found. */
struct pass {
	size_t completed;
	size_t left; /* in flight */
	int status;  /* the first error */
};

/* Test each once. The arrays have an element for each convertor, and may be NULL. */
static struct pass test_each(struct dtconv_convertor *const convertors[], size_t count,
			     size_t indices[], int statuses[], size_t moved[])
{
	struct pass pass = { 0 };

	for (size_t i = 0; i < count; i++) {
		size_t bytes = 0;

		if (!is_started(convertors[i]))
			continue;
		int status = dtconv_convertor_test(convertors[i], &bytes);
		if (statuses)
			statuses[i] = status;
		if (status == DTCONV_INPROGRESS) {
			pass.left++;
			continue;
		}
		if (moved)
			moved[i] = bytes;
		if (indices)
			indices[pass.completed] = i;
		pass.completed++;
		if (status && !pass.status)
			pass.status = status;
	}
	return pass;
}

int dtconv_convertor_test_some(struct dtconv_convertor *const convertors[], size_t count,
			       size_t indices[], int statuses[], size_t moved[],
			       size_t *completed)
{
	if ((count && (!convertors || !indices)) || !completed)
		return DTCONV_ERR_INVAL;
	const struct pass pass = test_each(convertors, count, indices, statuses, moved);

	*completed = pass.completed;
	if (pass.status)
		return pass.status;
	return !pass.completed && pass.left ? DTCONV_INPROGRESS : 0;
}

int dtconv_convertor_test_all(struct dtconv_convertor *const convertors[], size_t count,
			      int statuses[], size_t moved[])
{
	if (count && !convertors)
		return DTCONV_ERR_INVAL;
	const struct pass pass = test_each(convertors, count, NULL, statuses, moved);

	if (pass.status)
		return pass.status;
	return pass.left ? DTCONV_INPROGRESS : 0;
}
