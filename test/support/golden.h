/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden files: expected outputs that live in test/golden and are reviewed as diffs.
 */
#ifndef TEST_SUPPORT_GOLDEN_H
#define TEST_SUPPORT_GOLDEN_H

#include <stdio.h>

/** A growing text to be compared; zero-initialise. */
struct golden {
	char *text;
	size_t length;
	FILE *stream; /**< write here, between golden_begin and golden_check */
};

/** Open the stream. */
void golden_begin(struct golden *golden);

/**
 * Close the stream and assert that the text is the file's, relative to test/golden. With
 * DTCONV_TEST_REGENERATE set in the environment the file is written instead.
 */
void golden_check(struct golden *golden, const char *file);

#endif
