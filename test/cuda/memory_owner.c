/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner and what speaks to it. Each command is answered, so that they are done in order.
 */
#include "config.h"

#include "memory_owner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

struct command {
	char what;
	int slot;
	size_t offset;
	size_t bytes;
};

static bool put_all(int socket, const void *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t put =
			send(socket, (const char *)bytes + at, count - at, MSG_NOSIGNAL);

		if (put <= 0)
			return false;
		at += (size_t)put;
	}
	return true;
}

static bool take_all(int socket, void *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t got = recv(socket, (char *)bytes + at, count - at, 0);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

/* ---- the owner --------------------------------------------------------------------------- */

static struct {
	CUdeviceptr memory;
	size_t bytes;
} slots[OWNER_SLOTS];

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "owner: %s: %s\n", what, fixture_error());
	_exit(1);
}

static void export_slot(int socket, const struct command *command)
{
	const uint64_t address = slots[command->slot].memory + command->offset;
	struct owner_export answer = { .address = address };

	must(!dtconv_ipc_export(fixture_context, (const void *)(uintptr_t)address,
				command->bytes, &answer.handle),
	     "export");
	must(put_all(socket, &answer, sizeof(answer)), "send");
}

static void move_slot(int socket, const struct command *command)
{
	const CUdeviceptr memory = slots[command->slot].memory;
	unsigned char *bytes = malloc(command->bytes);

	if (command->what == 'w') {
		must(take_all(socket, bytes, command->bytes), "receive");
		MUST(Memcpy(memory, (CUdeviceptr)(uintptr_t)bytes, command->bytes));
		/* From ordinary memory it returns before the bytes are there. */
		MUST(CtxSynchronize());
	} else {
		MUST(Memcpy((CUdeviceptr)(uintptr_t)bytes, memory, command->bytes));
		must(put_all(socket, bytes, command->bytes), "send");
	}
	free(bytes);
}

static void obey(int socket, const struct command *command)
{
	const int slot = command->slot;

	switch (command->what) {
	case 'a':
		MUST(MemAlloc(&slots[slot].memory, command->bytes));
		slots[slot].bytes = command->bytes;
		break;
	case 'f':
		MUST(MemFree(slots[slot].memory));
		slots[slot].memory = 0;
		break;
	case 'v':
		MUST(MemsetD8(slots[slot].memory, (unsigned char)command->offset,
			      slots[slot].bytes));
		MUST(CtxSynchronize());
		break;
	case 'e':
		export_slot(socket, command);
		break;
	default:
		move_slot(socket, command);
	}
	must(put_all(socket, "k", 1), "send");
}

static void use_device(int device)
{
	CUcontext context;

	if (!device)
		return;
	MUST(DevicePrimaryCtxRetain(&context, device));
	MUST(CtxSetCurrent(context));
}

static _Noreturn void run_owner(int socket, int device)
{
	struct command command;
	char text[2000];

	gpu_open();
	gpu.running = false;
	use_device(device);
	while (take_all(socket, &command, sizeof(command)))
		obey(socket, &command);
	for (int i = 0; i < OWNER_SLOTS; i++)
		if (slots[i].memory)
			MUST(MemFree(slots[i].memory));
	dtconv_context_destroy(fixture_context);
	if (device)
		MUST(DevicePrimaryCtxRelease(device));
	gpu_close();
	if (gpu.standin && gpu.standin->leaks(text, sizeof(text))) {
		fprintf(stderr, "owner: left behind: %s\n", text);
		_exit(2);
	}
	_exit(0);
}

void owner_start(struct owner *owner, int device)
{
	int sockets[2];

	ck_assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	owner->process = fork();
	ck_assert_int_ge(owner->process, 0);
	if (!owner->process) {
		close(sockets[1]);
		run_owner(sockets[0], device);
	}
	close(sockets[0]);
	owner->socket = sockets[1];
}

void owner_end(struct owner *owner)
{
	int status = -1;

	close(owner->socket);
	ck_assert_int_eq(waitpid(owner->process, &status, 0), owner->process);
	ck_assert_msg(!status, "the owner ends with status 0x%x", status);
}

void owner_kill(struct owner *owner)
{
	kill(owner->process, SIGKILL);
	waitpid(owner->process, NULL, 0);
	close(owner->socket);
}

/* ---- what a test asks for ---------------------------------------------------------------- */

static void ask(const struct owner *owner, char what, int slot, size_t offset,
		size_t bytes)
{
	struct command command;

	/* No padding goes uninitialised through the socket. */
	memset(&command, 0, sizeof(command));
	command.what = what;
	command.slot = slot;
	command.offset = offset;
	command.bytes = bytes;
	ck_assert(put_all(owner->socket, &command, sizeof(command)));
}

static void await(const struct owner *owner)
{
	char done;

	ck_assert_msg(take_all(owner->socket, &done, 1), "the owner is gone");
}

void owner_allocate(const struct owner *owner, int slot, size_t bytes)
{
	ask(owner, 'a', slot, 0, bytes);
	await(owner);
}

void owner_free(const struct owner *owner, int slot)
{
	ask(owner, 'f', slot, 0, 0);
	await(owner);
}

struct owner_export owner_export(const struct owner *owner, int slot, size_t offset,
				 size_t bytes)
{
	struct owner_export answer;

	ask(owner, 'e', slot, offset, bytes);
	ck_assert_msg(take_all(owner->socket, &answer, sizeof(answer)),
		      "the owner cannot export");
	await(owner);
	return answer;
}

void owner_fill(const struct owner *owner, int slot, unsigned char value)
{
	ask(owner, 'v', slot, value, 0);
	await(owner);
}

void owner_write(const struct owner *owner, int slot, const void *bytes, size_t count)
{
	ask(owner, 'w', slot, 0, count);
	ck_assert(put_all(owner->socket, bytes, count));
	await(owner);
}

void owner_read(const struct owner *owner, int slot, void *bytes, size_t count)
{
	ask(owner, 'r', slot, 0, count);
	ck_assert(take_all(owner->socket, bytes, count));
	await(owner);
}
