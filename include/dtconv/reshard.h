/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resharding: from two placements of one array on many processes to the messages of each process.
 */
#ifndef DTCONV_RESHARD_H
#define DTCONV_RESHARD_H

#include <stddef.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_reshard;
struct dtconv_reshard_plan;
struct dtconv_type;

/**
 * @defgroup reshard Resharding
 * @brief Plan the messages that take an N-dimensional array from one distribution over
 * processes to another.
 *
 * @snippet test_snippets.c reshard
 *
 * A *placement* says which boxes of a global array each process (*rank*) holds, and how each
 * box is stored in that rank's buffer. From a source and a target placement follow, for each
 * rank, the messages it sends and the messages it receives. A message is a committed type
 * over the rank's buffer. The two ends of a message have types of the same signature that
 * list the same elements in the same order, so the receiver unpacks what the sender packs.
 *
 * Planning is arithmetic. It reads no array data, communicates nothing and depends on its
 * arguments only: ranks that create the plan from the same placements agree on every
 * message. Use any transport to move the messages, one between two ranks at most.
 *
 * **One sender for each element.** Source boxes may overlap, because replicas and ghost cells
 * do. A receiver takes each element from exactly one rank:
 * - from itself, if it holds the element;
 * - otherwise the receivers are spread over the holders: target boxes that are not wholly
 *   in one source box of their own rank are numbered in lexicographic order of their corners,
 *   then by rank. Box g takes an element from holder g mod n, of n holders in order of ranks.
 *
 * **Order.** A message consists of pieces, intersections of one source box and one target
 * box. They are ordered lexicographically by their first index. Inside a piece the elements
 * come in the order of the source's strides, so that the sender reads long runs.
 *
 * - Buffers of source and target are different arrays unless the caller's strides make them
 *   one. A message to itself is an entry of both lists; copy it by dtconv_copy(), or pack it
 *   first where the two buffers overlap.
 * - Target boxes of one rank must not overlap, and their elements must not share bytes.
 * - A dtconv_reshard and its plans are immutable: any number of threads may use them.
 *
 * @ref resharding "Resharding" explains the plan by a picture.
 * @{
 */

/** The most dimensions of an array. */
#define DTCONV_RESHARD_NDIMS_MAX 32

/** A box of the global array on one rank. This struct never changes. */
struct dtconv_reshard_box {
	size_t rank; /**< the rank that stores the box; may have any number of boxes */
	const size_t *
		lower; /**< [ndims] index of the box's first element, in each dimension */
	const size_t *
		sizes; /**< [ndims] elements in each dimension; with a 0 the box is ignored */
	/** [ndims] bytes from an element to the next one in each dimension; NULL: see order */
	const ptrdiff_t *strides;
	/**
	 * [ndims] without strides: the box is dense, and these are its dimensions from the slowest
	 * to the fastest one; NULL: 0, 1, ..., as in C
	 */
	const size_t *order;
	ptrdiff_t
		offset; /**< displacement of the box's first element in the rank's buffer, in bytes */
};

/** A distribution of the array: all boxes of all ranks. This struct never changes. */
struct dtconv_reshard_placement {
	size_t box_count;                       /**< number of boxes */
	const struct dtconv_reshard_box *boxes; /**< [box_count], in any order */
};

/** What is to be resharded. Zero-initialise, then set all members. */
struct dtconv_reshard_params {
	size_t struct_size;  /**< sizeof(struct dtconv_reshard_params) */
	size_t rank_count;   /**< number of ranks, of the source and of the target */
	size_t ndims;        /**< number of dimensions, 0 to #DTCONV_RESHARD_NDIMS_MAX */
	const size_t *sizes; /**< [ndims] of the global array, in elements */
	/** type of an element, with data; need not be committed; dense boxes use its extent */
	struct dtconv_type *element;
	struct dtconv_reshard_placement source; /**< what the ranks have */
	struct dtconv_reshard_placement target; /**< what the ranks are to have */
};

/**
 * Check and index two placements of an array.
 *
 * @param params  [in] array and placements, copied; the element's type is referenced.
 * @param reshard [out] the new object, owned by the caller; it belongs to the context of
 *                params.element.
 * @return 0; DTCONV_ERR_INVAL if params.struct_size is 0, the element has no data, a rank is
 *         not below rank_count, a box reaches beyond the array, an order is no permutation,
 *         strides and an order are given, or elements of a target box overlap because
 *         a stride is shorter than an element; DTCONV_ERR_LIMIT for too many dimensions;
 *         DTCONV_ERR_OVERFLOW if the bytes of a box exceed size_t or a displacement
 *         exceeds ptrdiff_t; DTCONV_ERR_NOMEM. The error text names the box.
 *
 * Costs O(n log n) for n boxes of both placements. Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_reshard_create(const struct dtconv_reshard_params *params,
				     struct dtconv_reshard **reshard);

/**
 * Check that all ranks can be planned.
 *
 * @param reshard the placements.
 * @return 0; DTCONV_ERR_INVAL if no rank holds an element of a target box, or target boxes of
 *         one rank overlap; DTCONV_ERR_LIMIT, DTCONV_ERR_NOMEM as in
 *         dtconv_reshard_plan_create().
 *
 * dtconv_reshard_plan_create() finds the same errors, but only in what its own rank receives.
 * A peer would then wait for messages that never come, so check once, or let the ranks agree
 * on their statuses. The cost is that of planning the receives of all ranks. Does not block.
 * Callable from any thread.
 */
DTCONV_API int dtconv_reshard_check(const struct dtconv_reshard *reshard);

/**
 * Destroy an object that dtconv_reshard_create() made. Plans stay valid.
 * @param reshard the object, or NULL.
 */
DTCONV_API void dtconv_reshard_destroy(struct dtconv_reshard *reshard);

/**
 * Plan the messages of one rank.
 *
 * @param reshard the placements.
 * @param rank    the rank to plan for, below params.rank_count; any, not only the caller's.
 * @param plan    [out] the new plan, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if @p rank is not below rank_count, no rank holds an element that
 *         @p rank receives (the error text has its index), or target boxes of @p rank overlap;
 *         DTCONV_ERR_LIMIT if overlapping source boxes cut the intersection of two boxes into
 *         more than 65,536 pieces; DTCONV_ERR_OVERFLOW if a message exceeds size_t or
 *         ptrdiff_t; DTCONV_ERR_NOMEM.
 *
 * Looks only at pairs of boxes that intersect. For p pairs with the rank's own boxes, in
 * placements of n distinct boxes, the cost is O(p (log n + k)), where k is the number of
 * distinct source boxes that overlap a pair's intersection; boxes with equal corners count
 * once. Exception: where the search tree cannot tell boxes apart (long diagonal rows),
 * a search may take O(n). Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_reshard_plan_create(const struct dtconv_reshard *reshard,
					  size_t rank, struct dtconv_reshard_plan **plan);

/** The size of a plan. */
struct dtconv_reshard_plan_attr {
	size_t struct_size; /**< sizeof(struct dtconv_reshard_plan_attr), set by the caller */
	size_t send_count; /**< number of messages to send, one to itself included */
	size_t recv_count; /**< number of messages to receive, one from itself included */
	size_t send_bytes; /**< packed bytes of all messages to send */
	size_t recv_bytes; /**< packed bytes of all messages to receive */
};

/**
 * Read how many messages a plan has.
 *
 * @param plan the plan.
 * @param attr [out] filled in up to attr->struct_size.
 * @return 0; DTCONV_ERR_INVAL if attr->struct_size is 0.
 */
DTCONV_API int dtconv_reshard_plan_query(const struct dtconv_reshard_plan *plan,
					 struct dtconv_reshard_plan_attr *attr);

/** One message, seen from one of its ends. */
struct dtconv_reshard_message {
	size_t struct_size; /**< sizeof(struct dtconv_reshard_message), set by the caller */
	size_t peer;        /**< the rank at the other end */
	size_t bytes;       /**< packed bytes, more than 0 */
	size_t pieces; /**< number of boxes that the message consists of, the same at both ends */
	/**
	 * one instance, displacement 0 at the start of the rank's buffer; committed, borrowed:
	 * valid as long as the plan, or as long as the caller has a reference
	 */
	struct dtconv_type *type;
};

/**
 * Read a message that the rank sends.
 *
 * @param plan    the plan.
 * @param index   of the message, below send_count; they are in order of peers.
 * @param message [out] filled in up to message->struct_size.
 * @return 0; DTCONV_ERR_INVAL if message->struct_size is 0 or there is no such message.
 */
DTCONV_API int dtconv_reshard_plan_query_send(const struct dtconv_reshard_plan *plan,
					      size_t index,
					      struct dtconv_reshard_message *message);

/**
 * Read a message that the rank receives.
 *
 * @param plan    the plan.
 * @param index   of the message, below recv_count; they are in order of peers.
 * @param message [out] filled in up to message->struct_size.
 * @return 0; DTCONV_ERR_INVAL if message->struct_size is 0 or there is no such message.
 */
DTCONV_API int dtconv_reshard_plan_query_recv(const struct dtconv_reshard_plan *plan,
					      size_t index,
					      struct dtconv_reshard_message *message);

/**
 * Destroy a plan; its types live on while the caller has references.
 * @param plan the plan, or NULL.
 */
DTCONV_API void dtconv_reshard_plan_destroy(struct dtconv_reshard_plan *plan);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
