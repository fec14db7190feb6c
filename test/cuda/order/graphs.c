/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of steps into a graph, and its replays, each with the effects of all that was captured. Knows nothing of
 * what the steps do.
 */
#include "config.h"

#include "cuda/order/script.h"

/* In a capture this is refused, and what has been captured is thrown away. */
static void try_ordinary_memory(struct script *s)
{
	struct subject *subject = choose_subject(s);
	struct plan plan = { .subject = subject,
			     .user = choose_place_of(s, subject->users),
			     .packed = choose_place_of(s, subject->packed),
			     .line = s->origin,
			     .how = CHECKSUM,
			     .unpacks = chance(&s->choices, 2) };
	size_t moved;

	if (!plan.user || !plan.packed)
		return;
	note("a checksum is refused: ");
	plan_note(&plan);
	struct dtconv_convertor *convertor = plan_bind(s, &plan);
	must(s, dtconv_convertor_start(convertor, plan.packed->arena.memory,
				       subject->stage.bytes, NULL, NULL));
	ck_assert_int_eq(dtconv_convertor_wait(convertor, &moved),
			 DTCONV_ERR_UNSUPPORTED);
	dtconv_convertor_destroy(convertor);
	s->dropped = true;
}

/* Everything is the origin's. */
static void gather(struct script *s, int line)
{
	for (int i = 0; i < s->subject_count; i++)
		for (int j = 0; j < PLACES; j++) {
			s->subjects[i].users[j].owner = line;
			s->subjects[i].packed[j].owner = line;
		}
	for (int i = 0; i < TRAYS; i++)
		s->trays[i].owner = line;
}

/* What is loaded for earlier jobs would invalidate the capture, of which the library cannot know. */
static void load_kernels(struct script *s)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONVERTOR_CRC32C
	};
	int status;

	do
		status = dtconv_prepare(s->context, -1, NULL, 0, &params);
	while (status == DTCONV_ERR_AGAIN);
	must(s, status);
}

static void begin_capture(struct script *s)
{
	static const CUstreamCaptureMode modes[] = { CU_STREAM_CAPTURE_MODE_GLOBAL,
						     CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
						     CU_STREAM_CAPTURE_MODE_RELAXED };

	end_all_jobs(s);
	lines_synchronize(s);
	if (s->begun)
		load_kernels(s);
	s->origin = (int)choose(&s->choices, (size_t)s->streams);
	s->branch = chance(&s->choices, 2) ? CONSUMER
					   : (int)choose(&s->choices, (size_t)s->streams);
	gather(s, s->origin);
	note("a capture begins in streams %d and %d\n", s->origin, s->branch);
	MUST(StreamBeginCapture(s->lines[s->origin], modes[choose(&s->choices, 3)]));
	s->capturing = true;
	if (s->branch != s->origin)
		line_follow(s, s->origin, s->branch);
}

static void end_capture(struct script *s)
{
	CUgraph graph;

	if (s->branch != s->origin)
		line_follow(s, s->branch, s->origin);
	gather(s, s->origin);
	s->capturing = false;
	MUST(StreamEndCapture(s->lines[s->origin], &graph));
	if (!s->dropped && s->effect_count)
		MUST(GraphInstantiateWithFlags(&s->exec, graph, 0));
	MUST(GraphDestroy(graph));
	for (int i = 0; i < TRAYS; i++)
		s->trays[i].used = s->trays[i].in_graph = s->exec && s->trays[i].in_graph;
	note("the capture has ended\n");
}

void step_capture(struct script *s)
{
	int steps = 1 + (int)choose(&s->choices, 6);

	for (int i = 0; i < TRAYS; i++)
		if (s->trays[i].used) {
			come_to_rest(s, &s->trays[i]);
			place_check(s, &s->trays[i], "before a capture");
			s->trays[i].used = false;
		}
	begin_capture(s);
	for (int i = 0; i < steps && !s->dropped; i++)
		switch (choose(&s->choices, 8)) {
		case 0:
		case 1:
			step_produce(s);
			break;
		case 2:
			step_consume(s);
			break;
		case 3:
			step_batch(s);
			break;
		case 4:
			if (chance(&s->choices, 4))
				try_ordinary_memory(s);
			break;
		default:
			step_job(s);
		}
	end_capture(s);
}

void step_replay(struct script *s)
{
	const int line = (int)choose(&s->choices, (size_t)s->streams);

	if (!s->exec)
		return;
	for (int i = 0; i < TRAYS; i++)
		if (s->trays[i].in_graph && chance(&s->choices, 2)) {
			come_to_rest(s, &s->trays[i]);
			place_check(s, &s->trays[i], "before a replay");
		}
	for (int i = 0; i < s->effect_count; i++) {
		hand_over(s, s->effects[i].to, line);
		if (s->effects[i].from)
			hand_over(s, s->effects[i].from, line);
	}
	if (chance(&s->choices, 2))
		hold_line(s, line);
	note("stream %d replays the graph\n", line);
	MUST(GraphLaunch(s->exec, s->lines[line]));
	for (int i = 0; i < s->effect_count; i++)
		effect_apply(s, &s->effects[i]);
}
