/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter, protection domains, memory regions, completion channels and completion queues.
 */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define PORTS     2
#define MTU       IBV_MTU_4096
#define MAX_QUEUE 32768

#define EXPORT __attribute__((visibility("default")))

/* ---- objects --------------------------------------------------------------------------- */

static void *make(size_t bytes, enum verbs_call call)
{
	const int error = begin_call(call);
	void *object = error ? NULL : calloc(1, bytes);

	if (!object) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	pthread_mutex_lock(&process.lock);
	process.live++;
	pthread_mutex_unlock(&process.lock);
	return object;
}

/* With the lock held. */
static void unmake(void *object)
{
	process.live--;
	free(object);
}

static void count_user(size_t *users, int change)
{
	pthread_mutex_lock(&process.lock);
	*users += (size_t)change;
	pthread_mutex_unlock(&process.lock);
}

/* Whether nobody uses it, which is then gone. */
static int unmake_unused(void *object, const size_t *users, size_t *of)
{
	int error = 0;

	pthread_mutex_lock(&process.lock);
	if (*users) {
		error = EBUSY;
	} else {
		if (of)
			--*of;
		unmake(object);
	}
	pthread_mutex_unlock(&process.lock);
	return error;
}

/* ---- the adapter ----------------------------------------------------------------------- */

static struct ibv_device device = { .node_type = IBV_NODE_CA,
				    .transport_type = IBV_TRANSPORT_IB,
				    .name = "standin0",
				    .dev_name = "uverbs0" };

EXPORT struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = make(2 * sizeof(list[0]), VERBS_LIST);

	if (!list)
		return NULL;
	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	pthread_mutex_lock(&process.lock);
	unmake(list);
	pthread_mutex_unlock(&process.lock);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *which)
{
	return which->name;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *which)
{
	struct ibv_context *context = make(sizeof(*context), VERBS_OPEN);

	if (!context)
		return NULL;
	context->device = which;
	context->ops.poll_cq = poll_queue;
	context->ops.req_notify_cq = arm_queue;
	context->ops.post_send = post_sends;
	context->ops.post_recv = post_receives;
	context->async_fd = context->cmd_fd = -1;
	start_adapter();
	return context;
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	stop_adapter();
	pthread_mutex_lock(&process.lock);
	unmake(context);
	pthread_mutex_unlock(&process.lock);
	return 0;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const uint32_t max_queue = process.adapter.max_queue;
	const int error = begin_call(VERBS_QUERY);

	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->phys_port_cnt = PORTS;
	attr->max_qp_wr = max_queue ? (int)max_queue : MAX_QUEUE;
	attr->max_sge = SGE_MAX;
	attr->max_cqe = 4 * MAX_QUEUE;
	return error;
}

EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port,
			  struct _compat_ibv_port_attr *given)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)given;

	(void)context;
	if (!port || port > PORTS)
		return EINVAL;
	attr->state = process.adapter.is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = MTU;
	attr->gid_tbl_len = 3;
	attr->lid = process.adapter.is_infiniband ? port : 0;
	attr->link_layer = process.adapter.is_infiniband ? IBV_LINK_LAYER_INFINIBAND
							 : IBV_LINK_LAYER_ETHERNET;
	return 0;
}

/* A link-local one of RoCE v1, the same of v2, and an IPv4 address of v2. */
EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
	static const uint8_t local[16] = { 0xfe, 0x80 };
	static const uint8_t address[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };

	(void)context, (void)flags;
	if (bytes < sizeof(*entry) || !port || port > PORTS || index > 2)
		return EINVAL;
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid.raw, index == 2 ? address : local, 16);
	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type = process.adapter.is_infiniband ? IBV_GID_TYPE_IB
			  : index                       ? IBV_GID_TYPE_ROCE_V2
							: IBV_GID_TYPE_ROCE_V1;
	return 0;
}

/* ---- domains and regions --------------------------------------------------------------- */

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct domain *domain = make(sizeof(*domain), VERBS_ALLOC_PD);

	if (!domain)
		return NULL;
	domain->base.context = context;
	return &domain->base;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct domain *domain = (struct domain *)pd;

	return unmake_unused(domain, &domain->users, NULL);
}

/* Where the process has the bytes of memory of a device; NULL if it is none. */
static void *find_on_device(uintptr_t address, size_t bytes)
{
	void *found = process.device_memory ? process.device_memory(address, bytes)
					    : NULL;

	return (uintptr_t)found == address ? NULL : found;
}

static struct ibv_mr *add_region(struct region *region, struct ibv_pd *pd, void *address,
				 size_t bytes, unsigned access)
{
	static uint32_t keys = 0x100;

	if (access & ~(unsigned)IBV_ACCESS_LOCAL_WRITE)
		fatal("a region to which the peer has access");
	region->base = (struct ibv_mr){
		.context = pd->context, .pd = pd, .addr = address, .length = bytes
	};
	region->access = (int)access;
	pthread_mutex_lock(&process.lock);
	keys += 0x101;
	region->base.lkey = region->base.rkey = keys;
	region->next = process.regions;
	process.regions = region;
	((struct domain *)pd)->users++;
	pthread_mutex_unlock(&process.lock);
	return &region->base;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t bytes,
				       uint64_t iova, unsigned access)
{
	if (iova != (uintptr_t)address)
		fatal("a region whose addresses differ from the program's");
	if (find_on_device(iova, bytes) && !process.adapter.has_peer_module) {
		errno = EFAULT;
		return NULL;
	}
	struct region *region = make(sizeof(*region), VERBS_REG_MR);
	if (!region)
		return NULL;
	return add_region(region, pd, address, bytes, access);
}

/* The kernel keeps the memory, not the descriptor. */
EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t bytes,
					uint64_t iova, int fd, int access)
{
	struct region *region = make(sizeof(*region), VERBS_REG_DMABUF);

	if (!region)
		return NULL;
	if (offset || fcntl(fd, F_GETFD) != FD_CLOEXEC || !find_on_device(iova, bytes))
		fatal("a DMA-BUF that is no slab of a device, or is left to other programs");
	return add_region(region, pd, (void *)(uintptr_t)iova, bytes, (unsigned)access);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes,
				 int access)
{
	return ibv_reg_mr_iova2(pd, address, bytes, (uintptr_t)address, (unsigned)access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct region **at = &process.regions;

	pthread_mutex_lock(&process.lock);
	while (*at && &(*at)->base != mr)
		at = &(*at)->next;
	if (!*at)
		fatal("a region is deregistered that is not registered");
	*at = (*at)->next;
	((struct domain *)mr->pd)->users--;
	unmake(mr);
	pthread_mutex_unlock(&process.lock);
	return 0;
}

static bool is_covered(const struct ibv_pd *pd, const struct ibv_sge *sge, int access)
{
	for (const struct region *region = process.regions; region;
	     region = region->next) {
		const uintptr_t begin = (uintptr_t)region->base.addr;

		if (region->base.lkey == sge->lkey && region->base.pd == pd &&
		    (region->access & access) == access && sge->addr >= begin &&
		    sge->length <= region->base.length &&
		    sge->addr - begin <= region->base.length - sge->length)
			return true;
	}
	return false;
}

bool are_covered(const struct ibv_pd *pd, const struct ibv_sge sges[], int count,
		 int access)
{
	for (int i = 0; i < count; i++)
		if (sges[i].length && !is_covered(pd, &sges[i], access))
			return false;
	return true;
}

void *find_bytes(const struct ibv_sge *sge)
{
	void *found = find_on_device(sge->addr, sge->length);

	return found ? found : (void *)(uintptr_t)sge->addr;
}

/* ---- completion channels --------------------------------------------------------------- */

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct bell *bell = make(sizeof(*bell), VERBS_CREATE_CHANNEL);

	if (!bell)
		return NULL;
	bell->base.context = context;
	bell->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (bell->base.fd >= 0)
		return &bell->base;
	const int error = errno;
	pthread_mutex_lock(&process.lock);
	unmake(bell);
	pthread_mutex_unlock(&process.lock);
	errno = error;
	return NULL;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	const int fd = channel->fd;
	const size_t users = (size_t)channel->refcnt;
	int error = unmake_unused(channel, &users, NULL);

	if (!error)
		close(fd);
	return error;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
			    void **context)
{
	struct bell *bell = (struct bell *)channel;
	uint64_t rung;

	if (read(channel->fd, &rung, sizeof(rung)) != sizeof(rung))
		return -1;
	pthread_mutex_lock(&process.lock);
	struct queue *queue = bell->first;
	bell->first = queue->next;
	queue->has_rung = false;
	queue->unacknowledged++;
	pthread_mutex_unlock(&process.lock);
	*cq = &queue->base;
	*context = queue->base.cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	struct queue *queue = (struct queue *)cq;

	pthread_mutex_lock(&process.lock);
	if (queue->unacknowledged < count)
		fatal("more events are acknowledged than there were");
	queue->unacknowledged -= count;
	pthread_mutex_unlock(&process.lock);
}

static void ring_bell(struct queue *queue)
{
	struct bell *bell = (struct bell *)queue->base.channel;
	const uint64_t once = 1;

	queue->is_armed = false;
	if (!bell || queue->has_rung)
		return;
	queue->has_rung = true;
	queue->next = bell->first;
	bell->first = queue;
	if (write(bell->base.fd, &once, sizeof(once)) != sizeof(once))
		fatal("a completion channel cannot be written to");
}

/* ---- completion queues ----------------------------------------------------------------- */

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries,
				    void *cq_context, struct ibv_comp_channel *channel,
				    int vector)
{
	struct queue *queue = make(sizeof(*queue), VERBS_CREATE_CQ);

	(void)vector;
	if (!queue)
		return NULL;
	queue->base.context = context;
	queue->base.channel = channel;
	queue->base.cq_context = cq_context;
	queue->base.cqe = entries;
	queue->room = (size_t)entries;
	queue->entries = calloc(queue->room, sizeof(queue->entries[0]));
	if (!queue->entries)
		fatal("no memory");
	if (channel) {
		pthread_mutex_lock(&process.lock);
		channel->refcnt++;
		pthread_mutex_unlock(&process.lock);
	}
	return &queue->base;
}

/* The real one waits for ever. */
EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct queue *queue = (struct queue *)cq;
	struct ibv_wc *entries = queue->entries;
	struct ibv_comp_channel *channel = cq->channel;
	struct queue **at = channel ? &((struct bell *)channel)->first : NULL;

	if (queue->unacknowledged)
		fatal("a completion queue is destroyed before its events are "
		      "acknowledged");
	pthread_mutex_lock(&process.lock);
	while (at && *at && *at != queue)
		at = &(*at)->next;
	if (at && *at)
		*at = queue->next;
	pthread_mutex_unlock(&process.lock);
	int error = unmake_unused(queue, &queue->users, NULL);
	if (error)
		return error;
	if (channel) {
		pthread_mutex_lock(&process.lock);
		channel->refcnt--;
		pthread_mutex_unlock(&process.lock);
	}
	free(entries);
	return 0;
}

void complete(struct queue *queue, const struct ibv_wc *completion)
{
	if (queue->count == queue->room)
		fatal("a completion queue is full");
	queue->entries[queue->count++] = *completion;
	if (queue->is_armed)
		ring_bell(queue);
}

/* The oldest one of any queue pair. */
static struct ibv_wc take_completion(struct queue *queue)
{
	const uint32_t pair = queue->entries[pick(queue->count)].qp_num;
	size_t i = 0;

	while (process.order && queue->entries[i].qp_num != pair)
		i++;
	const struct ibv_wc taken = queue->entries[i];
	queue->count--;
	memmove(&queue->entries[i], &queue->entries[i + 1],
		(queue->count - i) * sizeof(queue->entries[0]));
	return taken;
}

int poll_queue(struct ibv_cq *cq, int count, struct ibv_wc *completions)
{
	struct queue *queue = (struct queue *)cq;
	int taken = 0;

	if (begin_call(VERBS_POLL))
		return -1;
	pthread_mutex_lock(&process.lock);
	for (; taken < count && queue->count; taken++)
		completions[taken] = take_completion(queue);
	pthread_mutex_unlock(&process.lock);
	return taken;
}

int arm_queue(struct ibv_cq *cq, int solicited_only)
{
	const int error = begin_call(VERBS_REQ_NOTIFY);

	(void)solicited_only;
	if (error)
		return error;
	pthread_mutex_lock(&process.lock);
	((struct queue *)cq)->is_armed = true;
	pthread_mutex_unlock(&process.lock);
	return 0;
}

/* ---- queue pairs ----------------------------------------------------------------------- */

static bool make_requests(struct requests *requests, uint32_t room)
{
	requests->room = room;
	requests->ring = calloc((size_t)room + 1, sizeof(requests->ring[0]));
	return requests->ring;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const uint32_t max_queue = process.adapter.max_queue ? process.adapter.max_queue
							     : MAX_QUEUE;
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC || cap->max_send_wr > max_queue ||
	    cap->max_recv_wr > max_queue || cap->max_send_sge > SGE_MAX ||
	    cap->max_recv_sge > SGE_MAX ||
	    cap->max_inline_data > process.adapter.max_inline) {
		errno = EINVAL;
		return NULL;
	}
	struct pair *pair = make(sizeof(*pair), VERBS_CREATE_QP);
	if (!pair)
		return NULL;
	if (!make_requests(&pair->sends, cap->max_send_wr) ||
	    !make_requests(&pair->receives, cap->max_recv_wr))
		fatal("no memory");
	pair->cap = *cap;
	pair->base.context = pd->context;
	pair->base.pd = pd;
	pair->base.send_cq = attr->send_cq;
	pair->base.recv_cq = attr->recv_cq;
	pair->base.qp_type = attr->qp_type;
	pair->base.state = IBV_QPS_RESET;
	count_user(&((struct domain *)pd)->users, 1);
	count_user(&((struct queue *)attr->send_cq)->users, 1);
	count_user(&((struct queue *)attr->recv_cq)->users, 1);
	add_pair(pair);
	return &pair->base;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static const struct {
		enum ibv_qp_state from, to;
		int mask;
	} steps[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT,
		  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_INIT, IBV_QPS_RTR,
		  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTR, IBV_QPS_RTS,
		  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			  IBV_QP_MAX_QP_RD_ATOMIC },
	};
	const int error = begin_call(VERBS_MODIFY_QP);
	struct pair *pair = (struct pair *)qp;
	bool is_right = attr->qp_state == IBV_QPS_ERR && mask == IBV_QP_STATE;

	if (error)
		return error;
	for (size_t i = 0; i < 3; i++)
		is_right |= qp->state == steps[i].from && attr->qp_state == steps[i].to &&
			    mask == (steps[i].mask | IBV_QP_STATE);
	if (!is_right)
		return EINVAL;
	if (attr->qp_access_flags && mask & IBV_QP_ACCESS_FLAGS)
		fatal("a queue pair through which the peer has access to memory");
	pthread_mutex_lock(&process.lock);
	qp->state = attr->qp_state;
	if (attr->qp_state == IBV_QPS_RTR)
		pair->target = attr->dest_qp_num;
	pthread_mutex_unlock(&process.lock);
	fabric_ring();
	return 0;
}

static void free_requests(struct requests *requests)
{
	for (uint32_t i = 0; i < requests->count; i++) {
		struct request *request =
			&requests->ring[(requests->first + i) % requests->room];

		free(request->copy);
		if (request->message != FABRIC_NONE)
			fabric_forget(request->message);
	}
	free(requests->ring);
}

/* Completions that were not polled stay in their queues. */
EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct pair *pair = (struct pair *)qp, **at = &process.pairs;

	pthread_mutex_lock(&process.lock);
	while (*at != pair)
		at = &(*at)->next;
	*at = pair->next;
	fabric_lock();
	free_requests(&pair->sends);
	fabric_close(qp->qp_num);
	fabric_unlock();
	free_requests(&pair->receives);
	((struct domain *)qp->pd)->users--;
	((struct queue *)qp->send_cq)->users--;
	((struct queue *)qp->recv_cq)->users--;
	unmake(pair);
	pthread_mutex_unlock(&process.lock);
	return 0;
}
