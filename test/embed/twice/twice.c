/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three libdtconvs in one process, two embedded and one installed, used in turns and by three
 * threads at once. usage: twice EMBEDDED_VERSION INSTALLED_VERSION
 */
#include "user.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USERS 3
#define COUNT 1000

static const struct user *const users[USERS] = { &left, &right, &installed };
static const char *const mistakes[USERS] = { "lefty", "righty", "middle" };

/* Ends the program: which user, and what is wrong with it. */
static void require(int truth, const struct user *user, const char *what)
{
	if (truth)
		return;
	printf("%s: %s\n", user->name, what);
	exit(1);
}

static void versions_are_their_own(const char *embedded, const char *system)
{
	for (size_t i = 0; i < USERS; i++) {
		const char *version = users[i] == &installed ? system : embedded;

		require(strcmp(users[i]->version(), version) == 0, users[i],
			"another copy's version answers");
		for (size_t j = 0; j < i; j++)
			require(users[i]->code() != users[j]->code(), users[i],
				"runs another copy's code");
	}
}

/* All fail before any of them looks: a shared text or log would show the last one's. */
static void errors_are_their_own(void)
{
	for (size_t i = 0; i < USERS; i++)
		require(users[i]->fail(mistakes[i]) < 0, users[i], "accepts a mistake");
	for (size_t i = 0; i < USERS; i++) {
		char text[512];
		int strange;

		require(users[i]->error(text, sizeof(text)) > 0, users[i],
			"has no error");
		require(strstr(text, mistakes[i]) != NULL, users[i],
			"has another's error");
		require(users[i]->lines(mistakes[i], &strange) == 1, users[i],
			"logs not one line");
		require(!strange, users[i], "logs another's line");
	}
}

static void pack_and_compare(const struct user *user)
{
	int from[2 * COUNT], to[COUNT];

	for (int i = 0; i < 2 * COUNT; i++)
		from[i] = i;
	require(user->pack(COUNT, from, to) == 0, user, "cannot pack");
	for (int i = 0; i < COUNT; i++)
		require(to[i] == 2 * i, user, "packs wrongly");
}

static void *pack_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		pack_and_compare(*(const struct user *const *)arg);
	return NULL;
}

/* Each has packed once more often than the one before it, so that no two counts are equal. */
static void all_pack_at_once(void)
{
	pthread_t threads[USERS];

	for (size_t i = 0; i < USERS; i++)
		for (size_t j = 0; j < i; j++)
			pack_and_compare(users[i]);
	for (size_t i = 0; i < USERS; i++)
		require(pthread_create(&threads[i], NULL, pack_often,
				       (void *)&users[i]) == 0,
			users[i], "has no thread");
	for (size_t i = 0; i < USERS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < USERS; i++)
		require(users[i]->calls() == 100 + i, users[i],
			"has counted others' calls");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	versions_are_their_own(argv[1], argv[2]);
	for (size_t i = 0; i < USERS; i++)
		require(users[i]->open() == 0, users[i], "has no context");
	errors_are_their_own();
	all_pack_at_once();
	/* One goes after the other; those left must not notice. */
	for (size_t i = 0; i < USERS; i++) {
		users[i]->close();
		for (size_t j = i + 1; j < USERS; j++)
			pack_and_compare(users[j]);
	}
	puts("three libdtconvs, each for itself");
	return 0;
}
