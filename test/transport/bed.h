/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What carries the channels of a test: shared memory, unless a program brings another bed of this interface. So the
 * same tests run over every transport.
 */
#ifndef TEST_TRANSPORT_BED_H
#define TEST_TRANSPORT_BED_H

#include <stdbool.h>

struct dtconv_context;
struct dtconv_transport;
struct bed;

/* For one end of a channel. */
struct bed *bed_open(struct dtconv_context *context);
/* NULL: the default. */
const struct dtconv_transport *bed_transport(const struct bed *bed);
/* Nothing of it may be left. NULL: nothing. */
void bed_close(struct bed *bed);

/* This process is the other end: called in children. */
void bed_swap(void);
/* Whether an end maps its peer's memory. */
bool bed_maps_peer(void);
/* Nothing has happened: let the network work. */
void bed_pause(void);

#endif
