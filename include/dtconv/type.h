/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types: descriptions of memory layouts, as MPI 4.1 chapter 5 defines derived datatypes.
 */
#ifndef DTCONV_TYPE_H
#define DTCONV_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;

/**
 * @defgroup type Types
 * A type is a sequence of (basic type, byte displacement) pairs, its *typemap*. Constructors
 * make new types from old ones; commit turns a type into the program that moves it.
 *
 * Types are counted references: a constructor answers with one reference that the caller
 * owns, and holds references to the types it was made from, so those may be released at
 * once. Predefined types belong to their context and need no release. A type is immutable
 * but for its commit. All functions may be called from any thread, none blocks, and unless a
 * function says otherwise an argument that is never allowed gives DTCONV_ERR_INVAL.
 *
 * Every constructor may answer
 * - DTCONV_ERR_OVERFLOW: a size, bound or displacement leaves size_t or ptrdiff_t;
 * - DTCONV_ERR_NOMEM: the context's allocator failed;
 * - DTCONV_ERR_INVAL: an argument is wrong (the error text says which);
 * and leaves its output untouched then. Arrays are read during the call only. An array of
 * zero elements may be NULL.
 * @{
 */

struct dtconv_type;

/** The predefined types (MPI 4.1 section 3.2.2 and 6.9.4, tables 3.1 to 3.4). */
enum dtconv_predefined {
	DTCONV_BYTE,                  /**< eight bits, never converted */
	DTCONV_PACKED,                /**< a byte of an already packed stream */
	DTCONV_CHAR,                  /**< char, as a printable character */
	DTCONV_SIGNED_CHAR,           /**< signed char, as an integer */
	DTCONV_UNSIGNED_CHAR,         /**< unsigned char, as an integer */
	DTCONV_SHORT,                 /**< short */
	DTCONV_UNSIGNED_SHORT,        /**< unsigned short */
	DTCONV_INT,                   /**< int */
	DTCONV_UNSIGNED,              /**< unsigned int */
	DTCONV_LONG,                  /**< long */
	DTCONV_UNSIGNED_LONG,         /**< unsigned long */
	DTCONV_LONG_LONG,             /**< long long */
	DTCONV_UNSIGNED_LONG_LONG,    /**< unsigned long long */
	DTCONV_FLOAT,                 /**< float */
	DTCONV_DOUBLE,                /**< double */
	DTCONV_LONG_DOUBLE,           /**< long double */
	DTCONV_WCHAR,                 /**< wchar_t */
	DTCONV_C_BOOL,                /**< _Bool */
	DTCONV_INT8,                  /**< int8_t */
	DTCONV_INT16,                 /**< int16_t */
	DTCONV_INT32,                 /**< int32_t */
	DTCONV_INT64,                 /**< int64_t */
	DTCONV_UINT8,                 /**< uint8_t */
	DTCONV_UINT16,                /**< uint16_t */
	DTCONV_UINT32,                /**< uint32_t */
	DTCONV_UINT64,                /**< uint64_t */
	DTCONV_C_FLOAT_COMPLEX,       /**< float _Complex */
	DTCONV_C_DOUBLE_COMPLEX,      /**< double _Complex */
	DTCONV_C_LONG_DOUBLE_COMPLEX, /**< long double _Complex */
	DTCONV_AINT,                  /**< an address or displacement, ptrdiff_t */
	DTCONV_OFFSET,                /**< a file offset, int64_t */
	DTCONV_COUNT,                 /**< a count, int64_t */
	DTCONV_FLOAT16,               /**< IEEE binary16 */
	DTCONV_BFLOAT16,              /**< the upper half of a binary32 */
	DTCONV_CXX_BOOL,              /**< C++ bool */
	DTCONV_CXX_FLOAT_COMPLEX,     /**< std::complex<float> */
	DTCONV_CXX_DOUBLE_COMPLEX,    /**< std::complex<double> */
	DTCONV_CXX_LONG_DOUBLE_COMPLEX, /**< std::complex<long double> */
	DTCONV_CHARACTER,             /**< Fortran CHARACTER(1) */
	DTCONV_LOGICAL,               /**< Fortran LOGICAL, 4 bytes */
	DTCONV_INTEGER,               /**< Fortran INTEGER, 4 bytes */
	DTCONV_REAL,                  /**< Fortran REAL, 4 bytes */
	DTCONV_DOUBLE_PRECISION,      /**< Fortran DOUBLE PRECISION, 8 bytes */
	DTCONV_COMPLEX,               /**< Fortran COMPLEX, 8 bytes */
	DTCONV_DOUBLE_COMPLEX,        /**< Fortran DOUBLE COMPLEX, 16 bytes */
	DTCONV_INTEGER1,              /**< Fortran INTEGER*1 */
	DTCONV_INTEGER2,              /**< Fortran INTEGER*2 */
	DTCONV_INTEGER4,              /**< Fortran INTEGER*4 */
	DTCONV_INTEGER8,              /**< Fortran INTEGER*8 */
	DTCONV_INTEGER16,             /**< Fortran INTEGER*16 */
	DTCONV_REAL2,                 /**< Fortran REAL*2 */
	DTCONV_REAL4,                 /**< Fortran REAL*4 */
	DTCONV_REAL8,                 /**< Fortran REAL*8 */
	DTCONV_REAL16,                /**< Fortran REAL*16 */
	DTCONV_COMPLEX4,              /**< Fortran COMPLEX*4 */
	DTCONV_COMPLEX8,              /**< Fortran COMPLEX*8 */
	DTCONV_COMPLEX16,             /**< Fortran COMPLEX*16 */
	DTCONV_COMPLEX32,             /**< Fortran COMPLEX*32 */
	DTCONV_FLOAT_INT,             /**< struct { float; int } */
	DTCONV_DOUBLE_INT,            /**< struct { double; int } */
	DTCONV_LONG_INT,              /**< struct { long; int } */
	DTCONV_2INT,                  /**< struct { int; int } */
	DTCONV_SHORT_INT,             /**< struct { short; int } */
	DTCONV_LONG_DOUBLE_INT,       /**< struct { long double; int } */
	DTCONV_2REAL,                 /**< two Fortran REAL */
	DTCONV_2DOUBLE_PRECISION,     /**< two Fortran DOUBLE PRECISION */
	DTCONV_2INTEGER,              /**< two Fortran INTEGER */
	DTCONV_PREDEFINED_COUNT       /**< how many there are; not a type */
};

/** How a type was made (MPI 4.1 section 5.1.13). */
enum dtconv_combiner {
	DTCONV_COMBINER_NAMED,          /**< predefined */
	DTCONV_COMBINER_DUP,            /**< dtconv_type_create_dup */
	DTCONV_COMBINER_CONTIGUOUS,     /**< dtconv_type_create_contiguous */
	DTCONV_COMBINER_VECTOR,         /**< dtconv_type_create_vector */
	DTCONV_COMBINER_HVECTOR,        /**< dtconv_type_create_hvector */
	DTCONV_COMBINER_INDEXED,        /**< dtconv_type_create_indexed */
	DTCONV_COMBINER_HINDEXED,       /**< dtconv_type_create_hindexed */
	DTCONV_COMBINER_INDEXED_BLOCK,  /**< dtconv_type_create_indexed_block */
	DTCONV_COMBINER_HINDEXED_BLOCK, /**< dtconv_type_create_hindexed_block */
	DTCONV_COMBINER_STRUCT,         /**< dtconv_type_create_struct */
	DTCONV_COMBINER_SUBARRAY,       /**< dtconv_type_create_subarray */
	DTCONV_COMBINER_DARRAY,         /**< dtconv_type_create_darray */
	DTCONV_COMBINER_RESIZED,        /**< dtconv_type_create_resized */
	DTCONV_COMBINER_F90_REAL,       /**< dtconv_type_create_f90_real */
	DTCONV_COMBINER_F90_COMPLEX,    /**< dtconv_type_create_f90_complex */
	DTCONV_COMBINER_F90_INTEGER,    /**< dtconv_type_create_f90_integer */
	DTCONV_COMBINER_VALUE_INDEX     /**< dtconv_type_create_value_index */
};

/** Which index of an array runs fastest in memory. */
enum dtconv_order {
	DTCONV_ORDER_C,      /**< the last */
	DTCONV_ORDER_FORTRAN /**< the first */
};

/** How darray deals one dimension out to the processes. */
enum dtconv_distribution {
	DTCONV_DISTRIBUTE_BLOCK,  /**< one block a process */
	DTCONV_DISTRIBUTE_CYCLIC, /**< blocks in turn */
	DTCONV_DISTRIBUTE_NONE    /**< not dealt out */
};

/** Distribution argument: the default block size. */
#define DTCONV_DISTRIBUTE_DFLT_DARG SIZE_MAX

/** Returned where MPI says MPI_UNDEFINED: the value does not exist. */
#define DTCONV_UNDEFINED SIZE_MAX

/* ---- predefined types ---------------------------------------------------------------- */

/**
 * Borrow a predefined type of a context.
 *
 * @param context the context.
 * @param which   which one.
 * @return the committed type, valid until the context is destroyed, never to be released
 *         (a release is ignored); NULL if @p which is none of them.
 */
DTCONV_API struct dtconv_type *dtconv_type_predefined(struct dtconv_context *context,
						      enum dtconv_predefined which);

/** Classes for dtconv_type_match_size. */
enum dtconv_typeclass {
	DTCONV_TYPECLASS_INTEGER, /**< Fortran integers */
	DTCONV_TYPECLASS_REAL,    /**< Fortran reals */
	DTCONV_TYPECLASS_COMPLEX  /**< Fortran complex numbers */
};

/**
 * Find the Fortran type of a class and size (MPI_TYPE_MATCH_SIZE, MPI 4.1 section 19.1.5).
 *
 * @param context   the context.
 * @param typeclass integer, real or complex.
 * @param bytes     size wanted, in bytes.
 * @param type      [out] a predefined type, borrowed.
 * @return 0; DTCONV_ERR_UNSUPPORTED if there is none of that size.
 */
DTCONV_API int dtconv_type_match_size(struct dtconv_context *context,
				      enum dtconv_typeclass typeclass, size_t bytes,
				      struct dtconv_type **type);

/* ---- constructors -------------------------------------------------------------------- */

/**
 * `count` copies of a type, each one extent after the last (MPI_TYPE_CONTIGUOUS).
 *
 * @param count   number of copies.
 * @param oldtype the type to copy.
 * @param newtype [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_contiguous(size_t count, struct dtconv_type *oldtype,
					     struct dtconv_type **newtype);

/**
 * Equally spaced blocks (MPI_TYPE_VECTOR).
 *
 * @param count       number of blocks.
 * @param blocklength elements of @p oldtype in a block.
 * @param stride      from one block's start to the next, in extents of @p oldtype.
 * @param oldtype     the element.
 * @param newtype     [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_vector(size_t count, size_t blocklength, ptrdiff_t stride,
					 struct dtconv_type *oldtype,
					 struct dtconv_type **newtype);

/**
 * Equally spaced blocks, stride in bytes (MPI_TYPE_CREATE_HVECTOR).
 *
 * @param count       number of blocks.
 * @param blocklength elements of @p oldtype in a block.
 * @param stride      from one block's start to the next, in bytes.
 * @param oldtype     the element.
 * @param newtype     [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_hvector(size_t count, size_t blocklength, ptrdiff_t stride,
					  struct dtconv_type *oldtype,
					  struct dtconv_type **newtype);

/**
 * Blocks of varying length and place (MPI_TYPE_INDEXED).
 *
 * @param count         number of blocks.
 * @param blocklengths  [in] elements in each block.
 * @param displacements [in] where each block starts, in extents of @p oldtype.
 * @param oldtype       the element.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_indexed(size_t count, const size_t blocklengths[],
					  const ptrdiff_t displacements[],
					  struct dtconv_type *oldtype,
					  struct dtconv_type **newtype);

/**
 * Blocks of varying length and place, displacements in bytes (MPI_TYPE_CREATE_HINDEXED).
 *
 * @param count         number of blocks.
 * @param blocklengths  [in] elements in each block.
 * @param displacements [in] where each block starts, in bytes.
 * @param oldtype       the element.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_hindexed(size_t count, const size_t blocklengths[],
					   const ptrdiff_t displacements[],
					   struct dtconv_type *oldtype,
					   struct dtconv_type **newtype);

/**
 * Blocks of one length (MPI_TYPE_CREATE_INDEXED_BLOCK).
 *
 * @param count         number of blocks.
 * @param blocklength   elements in every block.
 * @param displacements [in] where each block starts, in extents of @p oldtype.
 * @param oldtype       the element.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_indexed_block(size_t count, size_t blocklength,
						const ptrdiff_t displacements[],
						struct dtconv_type *oldtype,
						struct dtconv_type **newtype);

/**
 * Blocks of one length, displacements in bytes (MPI_TYPE_CREATE_HINDEXED_BLOCK).
 *
 * @param count         number of blocks.
 * @param blocklength   elements in every block.
 * @param displacements [in] where each block starts, in bytes.
 * @param oldtype       the element.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_hindexed_block(size_t count, size_t blocklength,
						 const ptrdiff_t displacements[],
						 struct dtconv_type *oldtype,
						 struct dtconv_type **newtype);

/**
 * Blocks of different types (MPI_TYPE_CREATE_STRUCT).
 *
 * Unless the context says otherwise the extent is rounded up to the strictest alignment of
 * the basic types inside, as a C compiler pads a struct (enum dtconv_padding), except where
 * a resized member has set the upper bound.
 *
 * @param context       the context; all members must have been made in it.
 * @param count         number of members.
 * @param blocklengths  [in] elements in each member.
 * @param displacements [in] where each member starts, in bytes.
 * @param oldtypes      [in] each member's type.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_struct(struct dtconv_context *context, size_t count,
					 const size_t blocklengths[],
					 const ptrdiff_t displacements[],
					 struct dtconv_type *const oldtypes[],
					 struct dtconv_type **newtype);

/**
 * A box out of an array (MPI_TYPE_CREATE_SUBARRAY). Lower bound 0, extent the whole array.
 *
 * @param ndims    number of dimensions, 1 to 1024.
 * @param sizes    [in] elements of the array in each dimension, each at least 1.
 * @param subsizes [in] elements of the box in each dimension, 1 <= subsize <= size.
 * @param starts   [in] first element of the box, start + subsize <= size.
 * @param order    which index runs fastest.
 * @param oldtype  the element.
 * @param newtype  [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_subarray(size_t ndims, const size_t sizes[],
					   const size_t subsizes[], const size_t starts[],
					   enum dtconv_order order,
					   struct dtconv_type *oldtype,
					   struct dtconv_type **newtype);

/**
 * One process's share of a distributed array (MPI_TYPE_CREATE_DARRAY, MPI 4.1 section
 * 5.1.4). Lower bound 0, extent the whole array. A process without a share gets a type of
 * size 0 with the same extent.
 *
 * @param size          number of processes, the product of @p psizes.
 * @param rank          this process, counted in C order over the process grid, < @p size.
 * @param ndims         number of dimensions, 1 to 1024.
 * @param gsizes        [in] elements of the global array in each dimension, each at least 1.
 * @param distributions [in] how each dimension is dealt out.
 * @param dargs         [in] block size in each dimension, or DTCONV_DISTRIBUTE_DFLT_DARG.
 * @param psizes        [in] processes in each dimension, 1 where not distributed.
 * @param order         which index of the array runs fastest (the process grid is C order).
 * @param oldtype       the element.
 * @param newtype       [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_darray(size_t size, size_t rank, size_t ndims,
					 const size_t gsizes[],
					 const enum dtconv_distribution distributions[],
					 const size_t dargs[], const size_t psizes[],
					 enum dtconv_order order, struct dtconv_type *oldtype,
					 struct dtconv_type **newtype);

/**
 * The same typemap with other bounds (MPI_TYPE_CREATE_RESIZED).
 *
 * @param oldtype the type.
 * @param lb      new lower bound, in bytes.
 * @param extent  new extent, in bytes; may be negative or smaller than the data.
 * @param newtype [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_resized(struct dtconv_type *oldtype, ptrdiff_t lb,
					  ptrdiff_t extent, struct dtconv_type **newtype);

/**
 * Another handle of the same type (MPI_TYPE_DUP); committed if the old one is.
 *
 * @param oldtype the type.
 * @param newtype [out] the new type, one reference owned by the caller.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_dup(struct dtconv_type *oldtype,
				      struct dtconv_type **newtype);

/**
 * A Fortran real of at least a precision and range (MPI_TYPE_CREATE_F90_REAL).
 *
 * @param context the context.
 * @param p       decimal digits, or DTCONV_UNDEFINED.
 * @param r       decimal exponent range, or DTCONV_UNDEFINED; not both undefined.
 * @param newtype [out] the new, committed type, one reference owned by the caller.
 * @return also DTCONV_ERR_UNSUPPORTED if no kind (4, 8 or 16 bytes) reaches it.
 */
DTCONV_API int dtconv_type_create_f90_real(struct dtconv_context *context, size_t p, size_t r,
					   struct dtconv_type **newtype);

/**
 * A Fortran complex of at least a precision and range (MPI_TYPE_CREATE_F90_COMPLEX).
 *
 * @param context the context.
 * @param p       decimal digits, or DTCONV_UNDEFINED.
 * @param r       decimal exponent range, or DTCONV_UNDEFINED; not both undefined.
 * @param newtype [out] the new, committed type, one reference owned by the caller.
 * @return also DTCONV_ERR_UNSUPPORTED if no kind reaches it.
 */
DTCONV_API int dtconv_type_create_f90_complex(struct dtconv_context *context, size_t p,
					      size_t r, struct dtconv_type **newtype);

/**
 * A Fortran integer of at least a range (MPI_TYPE_CREATE_F90_INTEGER).
 *
 * @param context the context.
 * @param r       decimal digits.
 * @param newtype [out] the new, committed type, one reference owned by the caller.
 * @return also DTCONV_ERR_UNSUPPORTED if no kind (1 to 16 bytes) reaches it.
 */
DTCONV_API int dtconv_type_create_f90_integer(struct dtconv_context *context, size_t r,
					      struct dtconv_type **newtype);

/**
 * The pair of a value and an index, for minloc and maxloc (MPI_TYPE_GET_VALUE_INDEX, MPI 4.1
 * section 6.9.4).
 *
 * @param value   a predefined type that is not itself a pair.
 * @param index   a predefined integer type.
 * @param newtype [out] if a predefined pair fits, that one (a release is ignored); else a
 *                new, committed type laid out as a C struct of the two.
 * @return 0, or a failure that every constructor may answer.
 */
DTCONV_API int dtconv_type_create_value_index(struct dtconv_type *value,
					      struct dtconv_type *index,
					      struct dtconv_type **newtype);

/* ---- life ---------------------------------------------------------------------------- */

/**
 * Prepare a type for moving data (MPI_TYPE_COMMIT): lower it to its normalised program.
 *
 * Costs about the size of the description (blocks listed), never of the data. Does nothing
 * on a committed type. May be called by several threads at once on one type.
 *
 * @param type the type.
 * @return 0; DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_commit(struct dtconv_type *type);

/**
 * Add a reference.
 * @param type the type, or NULL.
 * @return @p type.
 */
DTCONV_API struct dtconv_type *dtconv_type_ref(struct dtconv_type *type);

/**
 * Drop a reference; the last one frees the type. Types made from it and convertors bound to
 * it hold references of their own.
 * @param type the type, or NULL; predefined types are left alone.
 */
DTCONV_API void dtconv_type_unref(struct dtconv_type *type);

/* ---- queries ------------------------------------------------------------------------- */

/** The numbers of a type, all in bytes unless said otherwise. */
struct dtconv_type_attr {
	size_t struct_size;      /**< sizeof(struct dtconv_type_attr), set by the caller */
	size_t size;             /**< bytes of data: the packed size of one element */
	ptrdiff_t lb;            /**< lower bound */
	ptrdiff_t extent;        /**< upper minus lower bound: the step of an array of it */
	ptrdiff_t true_lb;       /**< lowest displacement of data; 0 if there is none */
	ptrdiff_t true_extent;   /**< bytes from there to the end of the highest data */
	size_t element_count;    /**< basic elements; a pair counts as two */
	size_t alignment;        /**< strictest alignment of the basic types inside */
	uint64_t signature_hash; /**< equal signatures have equal hashes, on every machine */
	enum dtconv_combiner combiner;     /**< how it was made */
	enum dtconv_predefined predefined; /**< which one, if combiner is NAMED or F90; the
						pair, for VALUE_INDEX that has one; else the
						single predefined type of which it is made
						throughout, else DTCONV_PREDEFINED_COUNT */
	int committed;           /**< 1 if committed */
	int contiguous;          /**< 1 if n of them, for any n, are one run of n x size bytes in
				      typemap order (size == extent, no gaps, in order) */
};

/**
 * Read a type's numbers (MPI_TYPE_SIZE, _GET_EXTENT, _GET_TRUE_EXTENT and more).
 *
 * @param type the type; need not be committed.
 * @param attr [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 */
DTCONV_API int dtconv_type_query(const struct dtconv_type *type,
				 struct dtconv_type_attr *attr);

/**
 * How many numbers describe a type (MPI_TYPE_GET_ENVELOPE). All values that MPI calls
 * integers or counts are in one array, displacements, strides and bounds in a second.
 *
 * | combiner | counts | displacements | types |
 * |---|---|---|---|
 * | NAMED | (none) | | |
 * | DUP | | | old |
 * | CONTIGUOUS | count | | old |
 * | VECTOR, HVECTOR | count, blocklength | stride | old |
 * | INDEXED, HINDEXED | count, blocklengths[count] | displacements[count] | old |
 * | INDEXED_BLOCK, HINDEXED_BLOCK | count, blocklength | displacements[count] | old |
 * | STRUCT | count, blocklengths[count] | displacements[count] | types[count] |
 * | SUBARRAY | ndims, sizes[], subsizes[], starts[], order | | old |
 * | DARRAY | size, rank, ndims, gsizes[], distributions[], dargs[], psizes[], order | | old |
 * | RESIZED | | lb, extent | old |
 * | F90_REAL, F90_COMPLEX | p, r | | |
 * | F90_INTEGER | r | | |
 * | VALUE_INDEX | | | value, index |
 */
struct dtconv_envelope {
	enum dtconv_combiner combiner; /**< how the type was made */
	size_t count_count;            /**< values in the counts array */
	size_t displacement_count;     /**< values in the displacements array */
	size_t type_count;             /**< values in the types array */
};

/**
 * Read a type's envelope.
 *
 * @param type     the type.
 * @param envelope [out] combiner and array lengths.
 * @return 0.
 */
DTCONV_API int dtconv_type_query_envelope(const struct dtconv_type *type,
					  struct dtconv_envelope *envelope);

/**
 * Read the arguments a type was made with (MPI_TYPE_GET_CONTENTS); see struct
 * dtconv_envelope for their order.
 *
 * @param type              the type.
 * @param max_counts        room in @p counts, at least the envelope's count_count.
 * @param counts            [out] counts.
 * @param max_displacements room in @p displacements, at least displacement_count.
 * @param displacements     [out] displacements.
 * @param max_types         room in @p types, at least type_count.
 * @param types             [out] types, borrowed: they live as long as @p type does.
 * @return 0; DTCONV_ERR_TRUNCATE if an array is too short (nothing is written).
 */
DTCONV_API int dtconv_type_query_contents(const struct dtconv_type *type, size_t max_counts,
					  size_t counts[], size_t max_displacements,
					  ptrdiff_t displacements[], size_t max_types,
					  struct dtconv_type *types[]);

/**
 * Count the basic elements in a packed stream that may end early (MPI_GET_ELEMENTS).
 *
 * @param type     the type.
 * @param bytes    bytes of packed stream, of any number of instances.
 * @param elements [out] basic elements in them, two for a pair; DTCONV_UNDEFINED if the last
 *                 one is cut, or if @p type has size 0 and @p bytes is not 0.
 * @return 0.
 */
DTCONV_API int dtconv_type_query_elements(const struct dtconv_type *type, size_t bytes,
					  size_t *elements);

/** How two signatures (sequences of basic types) relate. */
enum dtconv_signature_relation {
	DTCONV_SIGNATURE_EQUAL,    /**< the same sequence */
	DTCONV_SIGNATURE_PREFIX,   /**< the first is the beginning of the second */
	DTCONV_SIGNATURE_EXTENDS,  /**< the second is the beginning of the first */
	DTCONV_SIGNATURE_DIFFERENT /**< some element differs */
};

/**
 * Compare the signatures of (count_a, type_a) and (count_b, type_b) (MPI 4.1 section 3.3.1).
 *
 * Two basic types match if they are the same predefined type; Fortran kinds made by the f90
 * constructors match the predefined type of their size; a pair is its two members.
 *
 * @param type_a   first type.
 * @param count_a  instances of it.
 * @param type_b   second type.
 * @param count_b  instances of it.
 * @param relation [out] how they relate.
 * @return 0; DTCONV_ERR_OVERFLOW if a count times the elements leaves size_t.
 *
 * Costs at most the length of the two descriptions' expanded element runs in one instance
 * of each, not times the counts.
 */
DTCONV_API int dtconv_type_compare_signature(const struct dtconv_type *type_a, size_t count_a,
					     const struct dtconv_type *type_b, size_t count_b,
					     enum dtconv_signature_relation *relation);

/* ---- text ---------------------------------------------------------------------------- */

/**
 * Make a type from its text form, for example `vector(1000, 2, 5, double)`.
 *
 * Arguments stand in the constructors' order; arrays in brackets; predefined types by their
 * names without prefix in lower case (`double`, `unsigned_long`, `2int`); orders `c` and
 * `fortran`; distributions `block`, `cyclic`, `none`; `default` for the default block size
 * and `undefined` for DTCONV_UNDEFINED. White space is free, and `#` begins a comment that
 * lasts to the end of its line. Forms:
 * contiguous(count, T), vector(count, blocklength, stride, T), hvector(...),
 * indexed([blocklengths], [displacements], T), hindexed(...),
 * indexed_block(blocklength, [displacements], T), hindexed_block(...),
 * struct([blocklengths], [displacements], [types]),
 * subarray([sizes], [subsizes], [starts], order, T),
 * darray(size, rank, [gsizes], [distributions], [dargs], [psizes], order, T),
 * resized(T, lb, extent), dup(T), f90_real(p, r), f90_complex(p, r), f90_integer(r),
 * value_index(V, I).
 *
 * @param context the context to make it in.
 * @param text    [in] the text, need not end in a NUL.
 * @param length  its length in bytes.
 * @param type    [out] the new, uncommitted type, one reference owned by the caller.
 * @return 0; DTCONV_ERR_FORMAT for a syntax error; DTCONV_ERR_INVAL for a negative count;
 *         DTCONV_ERR_OVERFLOW for a number that leaves its type; DTCONV_ERR_LIMIT for more
 *         than 256 levels; DTCONV_ERR_NOMEM; whatever the constructors answer. The error
 *         text says at which column.
 */
DTCONV_API int dtconv_type_parse(struct dtconv_context *context, const char *text,
				 size_t length, struct dtconv_type **type);

/**
 * Write a type's text form; dtconv_type_parse reads it back.
 *
 * @param type     the type.
 * @param text     [out] receives at most @p capacity - 1 characters and a NUL; may be NULL
 *                 if capacity is 0.
 * @param capacity bytes of room at @p text.
 * @param length   [out] length of the whole text without the NUL, also when it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the text did not fit (its beginning is there);
 *         DTCONV_ERR_NOMEM; DTCONV_ERR_LIMIT beyond 2^30 characters or 2^22 constructors
 *         (a type that is used twice is written twice).
 */
DTCONV_API int dtconv_type_format(const struct dtconv_type *type, char *text, size_t capacity,
				  size_t *length);

/**
 * Write a type's signature, for example `3 x (int, 2 x double)`.
 *
 * @param type     the type.
 * @param text     [out] as in dtconv_type_format.
 * @param capacity bytes of room at @p text.
 * @param length   [out] as in dtconv_type_format.
 * @return 0; DTCONV_ERR_TRUNCATE.
 */
DTCONV_API int dtconv_type_format_signature(const struct dtconv_type *type, char *text,
					    size_t capacity, size_t *length);

/**
 * Write a committed type's normalised program, one operation a line. Equal typemaps give
 * equal programs for the spellings listed in doc/design.md.
 *
 * @param type     the type.
 * @param text     [out] as in dtconv_type_format.
 * @param capacity bytes of room at @p text.
 * @param length   [out] as in dtconv_type_format.
 * @return 0; DTCONV_ERR_TRUNCATE; DTCONV_ERR_STATE if the type is not committed.
 */
DTCONV_API int dtconv_type_format_program(const struct dtconv_type *type, char *text,
					  size_t capacity, size_t *length);

/* ---- bytes --------------------------------------------------------------------------- */

/** The first byte of every serialised type. No text form begins with it. */
#define DTCONV_SERIALISED_FIRST_BYTE 0xd7

/**
 * Write a type as bytes that another process, another machine or a later version can read.
 * The format is described in doc/types.md; it holds no pointers, and equal descriptions give
 * equal bytes.
 *
 * A type that is used several times is written once, so the length follows the description.
 *
 * @param type     the type; need not be committed.
 * @param bytes    [out] receives the stream if all of it fits, at any alignment; may be NULL
 *                 if @p capacity is 0.
 * @param capacity bytes of room at @p bytes.
 * @param length   [out] length of the whole stream in bytes, also when it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream did not fit (nothing is written then);
 *         DTCONV_ERR_NOMEM.
 *
 * Does not block; callable from any thread.
 */
DTCONV_API int dtconv_type_serialise(const struct dtconv_type *type, void *bytes,
				     size_t capacity, size_t *length);

/**
 * Make a type from bytes that dtconv_type_serialise wrote. The bytes may come from anywhere:
 * whatever they are, the answer is a type or an error, and what is accepted is serialised to
 * the same bytes again.
 *
 * The new type has the envelope, contents, bounds and signature of the old one, or it is not
 * made: predefined types of another size or alignment and contexts with another padding
 * (where that makes a difference) are errors. At most 256 bytes of memory are taken for each
 * byte of the stream.
 *
 * @param context the context to make it in.
 * @param bytes   [in] the stream, at any alignment.
 * @param length  its length in bytes, neither less nor more.
 * @param type    [out] the new type, not committed (but for what a constructor answers
 *                committed), one reference owned by the caller.
 * @return 0; DTCONV_ERR_FORMAT if it is no such stream, or of another version, or the type
 *         cannot be the same here; DTCONV_ERR_LIMIT if the types' signatures, or their
 *         descriptions written out without sharing, are far larger than the stream;
 *         DTCONV_ERR_OVERFLOW for a number that leaves its type; DTCONV_ERR_NOMEM. The error
 *         text says at which byte.
 *
 * Does not block; callable from any thread.
 */
DTCONV_API int dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
				       size_t length, struct dtconv_type **type);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
