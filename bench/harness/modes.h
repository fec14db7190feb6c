/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The special modes; each prints its own table.
 */
#ifndef BENCH_MODES_H
#define BENCH_MODES_H

struct session;

void mode_small(struct session *session);
void mode_commit(struct session *session);
void mode_frag(struct session *session);
void mode_seek(struct session *session);
void mode_typed(struct session *session);
void mode_threads(struct session *session);

#endif
