/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that have been started: which places they touch, and their ends, by every way there is to end one. Knows
 * nothing of how they were started.
 */
#include "config.h"

#include "cuda/order/script.h"

static struct job *free_job(struct script *s)
{
	for (int i = 0; i < JOBS; i++)
		if (!s->jobs[i].number)
			return &s->jobs[i];
	return NULL;
}

struct job *job_new(struct script *s, int line)
{
	if (!free_job(s))
		end_any_job(s);
	struct job *job = free_job(s);
	*job = (struct job){ .line = line };
	return job;
}

void job_touch(struct job *job, struct place *place)
{
	job->touched[job->touches++] = place;
}

void job_enlist(struct script *s, struct job *job)
{
	if (!job->count && !job->batch)
		return;
	job->number = ++s->jobs_made;
	note("  job %d\n", job->number);
}

static bool touches(const struct job *job, const struct place *place)
{
	for (int i = 0; i < job->touches; i++)
		if (job->number && job->touched[i] == place)
			return true;
	return false;
}

int end_of_part(struct dtconv_convertor *part, bool asks, size_t *moved)
{
	int status;

	if (!asks)
		return dtconv_convertor_wait(part, moved);
	while ((status = dtconv_convertor_test(part, moved)) == DTCONV_INPROGRESS)
		nap_us(50);
	return status;
}

static void end_parts(struct script *s, struct job *job, bool asks)
{
	for (int i = 0; i < job->count; i++) {
		size_t moved = SIZE_MAX;

		must(s, end_of_part(job->parts[i], asks, &moved));
		ck_assert_uint_eq(moved, job->expected[i]);
	}
	if (job->summed) {
		uint32_t crc = 0;

		must(s, dtconv_convertor_crc32c(job->parts[0], &crc));
		ck_assert_msg(crc == job->crc, "the checksum of job %d is wrong",
			      job->number);
	}
}

void end_batch(struct script *s, struct job *job, bool asks)
{
	size_t moved = SIZE_MAX;
	int status;

	if (asks)
		while ((status = dtconv_batch_test(job->batch, &moved)) ==
		       DTCONV_INPROGRESS)
			nap_us(50);
	else
		status = dtconv_batch_wait(job->batch, &moved);
	must(s, status);
	ck_assert_uint_eq(moved, job->batch_bytes);
}

static void forget_job(struct job *job)
{
	for (int i = 0; i < job->count; i++)
		dtconv_convertor_destroy(job->parts[i]);
	dtconv_batch_destroy(job->batch);
	*job = (struct job){ .number = 0 };
}

/* What it has written the processor sees now, if nobody was to write there later. */
static void look_at_once(const struct job *job)
{
	for (int i = 0; i < job->touches; i++)
		if (job->touched[i]->writer == job->number &&
		    place_is_plain(job->touched[i]))
			place_compare(job->touched[i], job->touched[i]->arena.memory,
				      "when its job has ended");
}

/* A job in flight that is destroyed has ended. */
static void end_job(struct script *s, struct job *job)
{
	const size_t way = choose(&s->choices, 5);

	note("job %d is %s\n", job->number,
	     way == 0   ? "destroyed"
	     : way == 1 ? "asked for"
			: "waited for");
	if (way && job->batch)
		end_batch(s, job, way == 1);
	else if (way)
		end_parts(s, job, way == 1);
	if (way)
		look_at_once(job);
	forget_job(job);
}

void end_any_job(struct script *s)
{
	const size_t first = choose(&s->choices, JOBS);

	for (size_t i = 0; i < JOBS; i++)
		if (s->jobs[(first + i) % JOBS].number) {
			end_job(s, &s->jobs[(first + i) % JOBS]);
			return;
		}
}

void end_all_jobs(struct script *s)
{
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].number)
			end_job(s, &s->jobs[i]);
}

void end_jobs_of(struct script *s, const struct place *place)
{
	for (int i = 0; i < JOBS; i++)
		if (touches(&s->jobs[i], place))
			end_job(s, &s->jobs[i]);
}

void end_loose_jobs_of(struct script *s, const struct place *place)
{
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].line == NOBODY && touches(&s->jobs[i], place))
			end_job(s, &s->jobs[i]);
}
