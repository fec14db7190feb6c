/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter of a process: requests are posted to it, and its thread carries them out.
 */
#include "objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- posting --------------------------------------------------------------------------- */

void add_pair(struct pair *pair)
{
	pthread_mutex_lock(&process.lock);
	fabric_lock();
	pair->base.qp_num = fabric_open();
	fabric_unlock();
	if (!pair->base.qp_num)
		fatal("there are too many queue pairs");
	pair->next = process.pairs;
	process.pairs = pair;
	pthread_mutex_unlock(&process.lock);
}

static struct request *at(struct requests *requests, uint32_t i)
{
	return &requests->ring[(requests->first + i) % requests->room];
}

static int append(struct requests *requests, uint64_t id, const struct ibv_sge *sges,
		  int count, uint32_t max)
{
	if (count < 0 || (uint32_t)count > max)
		return EINVAL;
	if (requests->count == requests->room) {
		process.faults++;
		return ENOMEM;
	}
	struct request *request = at(requests, requests->count++);
	*request = (struct request){ .id = id, .count = count, .message = FABRIC_NONE };
	memcpy(request->sges, sges, (size_t)count * sizeof(sges[0]));
	return 0;
}

/* An inline send is copied at once, and its keys do not count. */
static void copy_inline(struct pair *pair)
{
	struct request *request = at(&pair->sends, pair->sends.count - 1);
	size_t bytes = 0;

	request->copy = malloc(pair->cap.max_inline_data);
	for (int i = 0; i < request->count; i++) {
		const struct ibv_sge *sge = &request->sges[i];

		if (bytes + sge->length > pair->cap.max_inline_data)
			fatal("an inline send is longer than the queue pair takes");
		memcpy(request->copy + bytes, (void *)(uintptr_t)sge->addr, sge->length);
		bytes += sge->length;
	}
	request->count = 1;
	request->sges[0] = (struct ibv_sge){ .addr = (uintptr_t)request->copy,
					     .length = (uint32_t)bytes };
}

int post_sends(struct ibv_qp *qp, struct ibv_send_wr *given, struct ibv_send_wr **bad)
{
	struct pair *pair = (struct pair *)qp;
	int error = begin_call(VERBS_POST_SEND);

	pthread_mutex_lock(&process.lock);
	if (!error && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR)
		error = EINVAL;
	for (; !error && given; given = given->next) {
		if (given->opcode != IBV_WR_SEND ||
		    !(given->send_flags & IBV_SEND_SIGNALED))
			fatal("a send of a kind that the stand-in does not know");
		error = append(&pair->sends, given->wr_id, given->sg_list, given->num_sge,
			       pair->cap.max_send_sge);
		if (error)
			break;
		if (given->send_flags & IBV_SEND_INLINE)
			copy_inline(pair);
	}
	pthread_mutex_unlock(&process.lock);
	*bad = given;
	fabric_ring();
	return error;
}

int post_receives(struct ibv_qp *qp, struct ibv_recv_wr *given, struct ibv_recv_wr **bad)
{
	struct pair *pair = (struct pair *)qp;
	int error = begin_call(VERBS_POST_RECV);

	pthread_mutex_lock(&process.lock);
	if (!error && qp->state == IBV_QPS_RESET)
		error = EINVAL;
	for (; !error && given; given = given->next) {
		error = append(&pair->receives, given->wr_id, given->sg_list,
			       given->num_sge, pair->cap.max_recv_sge);
		if (error)
			break;
	}
	pthread_mutex_unlock(&process.lock);
	*bad = given;
	fabric_ring();
	return error;
}

/* ---- completing ------------------------------------------------------------------------ */

/* Nothing but these members means something after an error. */
static void end_first(struct pair *pair, struct requests *requests, struct ibv_cq *cq,
		      int status, size_t bytes)
{
	struct request *request = at(requests, 0);
	struct ibv_wc completion;

	memset(&completion, 0xaa, sizeof(completion));
	completion.wr_id = request->id;
	completion.status = (enum ibv_wc_status)status;
	completion.qp_num = pair->base.qp_num;
	completion.vendor_err = status ? 0x51 : 0;
	if (!status) {
		completion.byte_len = (uint32_t)bytes;
		completion.opcode = requests == &pair->sends ? IBV_WC_SEND : IBV_WC_RECV;
		completion.wc_flags = 0;
	}
	free(request->copy);
	requests->first = (requests->first + 1) % requests->room;
	requests->count--;
	complete((struct queue *)cq, &completion);
}

static void end_send(struct pair *pair, int status)
{
	const uint32_t message = at(&pair->sends, 0)->message;

	if (message != FABRIC_NONE) {
		fabric_forget(message);
		pair->sent--;
	}
	end_first(pair, &pair->sends, pair->base.send_cq, status, 0);
	if (status)
		pair->base.state = IBV_QPS_ERR;
}

static void end_receive(struct pair *pair, int status, size_t bytes)
{
	end_first(pair, &pair->receives, pair->base.recv_cq, status, bytes);
	if (status)
		pair->base.state = IBV_QPS_ERR;
}

static bool flush(struct pair *pair)
{
	const bool is_any = pair->sends.count || pair->receives.count;

	while (pair->sends.count)
		end_send(pair, IBV_WC_WR_FLUSH_ERR);
	while (pair->receives.count)
		end_receive(pair, IBV_WC_WR_FLUSH_ERR, 0);
	return is_any;
}

/* ---- sending --------------------------------------------------------------------------- */

static size_t length_of(const struct request *request)
{
	size_t bytes = 0;

	for (int i = 0; i < request->count; i++)
		bytes += request->sges[i].length;
	return bytes;
}

static void gather(const struct request *request, struct message *message)
{
	message->bytes = 0;
	for (int i = 0; i < request->count; i++) {
		const struct ibv_sge *sge = &request->sges[i];

		memcpy(message->payload + message->bytes, find_bytes(sge), sge->length);
		message->bytes += sge->length;
	}
}

/* A request that fails waits for those before it. */
static bool send_next(struct pair *pair)
{
	struct request *request = at(&pair->sends, pair->sent);

	if (pair->sent == pair->sends.count || request->status)
		return false;
	request->status = plan_due(&process.send);
	if (!request->status && !request->copy &&
	    !are_covered(pair->base.pd, request->sges, request->count, 0)) {
		process.faults++;
		request->status = IBV_WC_LOC_PROT_ERR;
	}
	if (request->status)
		return true;
	if (length_of(request) > VERBS_STANDIN_MESSAGE_MAX)
		fatal("a message is too long for the stand-in");
	const uint32_t message = fabric_take();
	if (message == FABRIC_NONE)
		return false;
	gather(request, fabric_message(message));
	request->message = message;
	fabric_send(message, pair->base.qp_num, pair->target);
	pair->sent++;
	return true;
}

/* What has become of the oldest send. */
static bool settle_send(struct pair *pair)
{
	if (!pair->sends.count || process.is_held)
		return false;
	const struct request *request = at(&pair->sends, 0);
	if (request->message == FABRIC_NONE) {
		const int status = request->status ? request->status
				   : process.is_impatient && !fabric_is_up()
					   ? IBV_WC_RETRY_EXC_ERR
					   : 0;
		if (status)
			end_send(pair, status);
		return status;
	}
	const struct message *message = fabric_message(request->message);
	if (message->state == MESSAGE_ANSWERED)
		end_send(pair, message->status);
	else if (process.is_impatient)
		end_send(pair, IBV_WC_RETRY_EXC_ERR);
	else
		return false;
	return true;
}

/* ---- receiving ------------------------------------------------------------------------- */

static void scatter(const struct request *request, const struct message *message)
{
	size_t done = 0;

	for (int i = 0; i < request->count && done < message->bytes; i++) {
		const size_t left = message->bytes - done;
		const size_t part =
			left < request->sges[i].length ? left : request->sges[i].length;

		memcpy(find_bytes(&request->sges[i]), message->payload + done, part);
		done += part;
	}
}

static bool receive_next(struct pair *pair)
{
	const uint32_t first = fabric_first(pair->base.qp_num);

	if (first == FABRIC_NONE)
		return false;
	if (!pair->receives.count) {
		process.faults++;
		fabric_answer(pair->base.qp_num, IBV_WC_RNR_RETRY_EXC_ERR);
		return true;
	}
	const struct message *message = fabric_message(first);
	const struct request *request = at(&pair->receives, 0);
	const size_t bytes = message->bytes;
	int status = plan_due(&process.receive), answer = IBV_WC_REM_OP_ERR;

	if (!status && bytes > length_of(request)) {
		status = IBV_WC_LOC_LEN_ERR;
		answer = IBV_WC_REM_INV_REQ_ERR;
	} else if (!status && !are_covered(pair->base.pd, request->sges, request->count,
					   IBV_ACCESS_LOCAL_WRITE)) {
		process.faults++;
		status = IBV_WC_LOC_PROT_ERR;
	} else if (!status) {
		scatter(request, message);
		answer = IBV_WC_SUCCESS;
	}
	fabric_answer(pair->base.qp_num, answer);
	end_receive(pair, status, bytes);
	return true;
}

/* ---- the thread ------------------------------------------------------------------------ */

static bool work(struct pair *pair)
{
	const enum ibv_qp_state state = pair->base.state;
	bool has_worked = false;

	if (state == IBV_QPS_ERR)
		return flush(pair);
	if (state == IBV_QPS_RTS)
		has_worked = settle_send(pair);
	if (!fabric_is_up())
		return has_worked;
	if (pair->base.state == IBV_QPS_RTS)
		has_worked |= send_next(pair);
	if (pair->base.state == IBV_QPS_RTS || pair->base.state == IBV_QPS_RTR)
		has_worked |= receive_next(pair);
	return has_worked;
}

/* In a shuffle, rounds without work in which queue pairs were put off, before one in which none is. */
#define SHUFFLED_ROUNDS 8

static bool work_once(bool may_put_off)
{
	bool has_worked = false;

	for (struct pair *pair = process.pairs; pair; pair = pair->next)
		if (!may_put_off || !pick(3))
			has_worked |= work(pair);
	return has_worked;
}

static void *run(void *nothing)
{
	unsigned idle = 0;

	for (;;) {
		const uint32_t rings = fabric_rings();
		pthread_mutex_lock(&process.lock);
		const unsigned rounds = process.order ? SHUFFLED_ROUNDS : 0;
		fabric_lock();
		const bool has_worked = work_once(idle < rounds);
		fabric_unlock();
		const bool is_stopping = process.is_stopping;
		if (!has_worked && idle >= rounds) {
			process.rests++;
			pthread_cond_broadcast(&process.rested);
		}
		pthread_mutex_unlock(&process.lock);
		if (is_stopping)
			return nothing;
		if (has_worked) {
			idle = 0;
			fabric_ring();
		} else if (idle++ >= rounds) {
			idle = 0;
			fabric_sleep(rings);
		}
	}
}

void start_adapter(void)
{
	pthread_mutex_lock(&process.lock);
	process.is_stopping = false;
	if (!process.opened++ && pthread_create(&process.thread, NULL, run, NULL))
		fatal("no thread");
	pthread_mutex_unlock(&process.lock);
}

void stop_adapter(void)
{
	pthread_mutex_lock(&process.lock);
	const bool is_last = !--process.opened;
	process.is_stopping = is_last;
	pthread_mutex_unlock(&process.lock);
	if (!is_last)
		return;
	fabric_ring();
	pthread_join(process.thread, NULL);
}
