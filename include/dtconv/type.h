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
 * @brief Describe a memory layout with the constructors of MPI's derived datatypes.
 *
 * @snippet test_snippets.c type
 *
 * A type is a sequence of (basic type, displacement in bytes) pairs, its *typemap* (MPI
 * 4.1 section 5.1). Constructors make new types from old ones. Commit compiles a type
 * into the program that moves its data. A type is immutable except for its commit, its
 * name and its user pointer.
 * Sources: MPI 4.1 sections 5.1.2 to 5.1.4 (constructors), 5.1.7 and 5.1.8 (bounds),
 * 5.1.9 (commit), 5.1.10 (dup), 5.1.13 (envelope and contents), 3.3.1 (signatures), 6.9.4
 * (pairs), 19.1.5 (Fortran kinds).
 *
 * **Ownership.** Types are reference-counted. A constructor returns one reference, which
 * the caller owns and releases with dtconv_type_unref(). It holds references to the types
 * that it was made from, so those may be released at once. Predefined types belong to
 * their context and need no release.
 *
 * **Threads and blocking.** All functions may be called from any thread. None blocks.
 *
 * **Arguments.** Arrays are read during the call only. An array of zero elements may be
 * NULL. Zero counts, negative strides and negative lower bounds are valid.
 *
 * **Errors.** An argument that is never allowed gives DTCONV_ERR_INVAL in every function,
 * unless its description says otherwise. Every constructor may return one of these, and
 * then leaves its output untouched:
 * - DTCONV_ERR_OVERFLOW: a size, bound or displacement exceeds size_t or ptrdiff_t;
 * - DTCONV_ERR_NOMEM: the context's allocator returned NULL;
 * - DTCONV_ERR_INVAL: an argument is invalid (the error text says which).
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
	DTCONV_PREDEFINED_COUNT       /**< number of predefined types; not a type */
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

/** How darray distributes one dimension over the processes. */
enum dtconv_distribution {
	DTCONV_DISTRIBUTE_BLOCK,  /**< one block per process */
	DTCONV_DISTRIBUTE_CYCLIC, /**< blocks in turn, round robin */
	DTCONV_DISTRIBUTE_NONE    /**< not distributed */
};

/** Distribution argument of darray: the default block size (MPI_DISTRIBUTE_DFLT_DARG). */
#define DTCONV_DISTRIBUTE_DFLT_DARG SIZE_MAX

/** The value does not exist (MPI_UNDEFINED). */
#define DTCONV_UNDEFINED SIZE_MAX

/* ---- predefined types ---------------------------------------------------------------- */

/**
 * Return a predefined type of a context.
 *
 * @param context the context.
 * @param which   which predefined type.
 * @return the type, committed and borrowed: valid until the context is destroyed, never
 *         to be released (a release has no effect); NULL if there is no such type.
 */
DTCONV_API struct dtconv_type *dtconv_type_predefined(struct dtconv_context *context,
						      enum dtconv_predefined which);

/** Classes of Fortran types, for dtconv_type_match_size(). */
enum dtconv_typeclass {
	DTCONV_TYPECLASS_INTEGER, /**< Fortran integers */
	DTCONV_TYPECLASS_REAL,    /**< Fortran reals */
	DTCONV_TYPECLASS_COMPLEX  /**< Fortran complex numbers */
};

/**
 * Find the predefined Fortran type of a class and size (MPI_TYPE_MATCH_SIZE).
 *
 * @param context   the context.
 * @param typeclass integer, real or complex.
 * @param bytes     size in bytes.
 * @param type      [out] a predefined type, borrowed.
 * @return 0; DTCONV_ERR_UNSUPPORTED if there is none of that size.
 */
DTCONV_API int dtconv_type_match_size(struct dtconv_context *context,
				      enum dtconv_typeclass typeclass, size_t bytes,
				      struct dtconv_type **type);

/* ---- constructors -------------------------------------------------------------------- */

/**
 * Make a type of `count` consecutive elements, one extent apart (MPI_TYPE_CONTIGUOUS).
 *
 * @param count   number of copies.
 * @param oldtype the type to copy.
 * @param newtype [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_contiguous(size_t count, struct dtconv_type *oldtype,
					     struct dtconv_type **newtype);

/**
 * Make a type of equally spaced blocks, stride in elements (MPI_TYPE_VECTOR).
 *
 * @param count       number of blocks.
 * @param blocklength number of elements of @p oldtype per block.
 * @param stride      distance between the starts of consecutive blocks, in extents of @p
 *                    oldtype.
 * @param oldtype     type of the elements.
 * @param newtype     [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_vector(size_t count, size_t blocklength, ptrdiff_t stride,
					 struct dtconv_type *oldtype,
					 struct dtconv_type **newtype);

/**
 * Make a type of equally spaced blocks, stride in bytes (MPI_TYPE_CREATE_HVECTOR).
 *
 * @param count       number of blocks.
 * @param blocklength number of elements of @p oldtype per block.
 * @param stride      distance between the starts of consecutive blocks, in bytes.
 * @param oldtype     type of the elements.
 * @param newtype     [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_hvector(size_t count, size_t blocklength, ptrdiff_t stride,
					  struct dtconv_type *oldtype,
					  struct dtconv_type **newtype);

/**
 * Make a type of blocks of any length and place, in elements (MPI_TYPE_INDEXED).
 *
 * @param count         number of blocks.
 * @param blocklengths  [in] number of elements of each block.
 * @param displacements [in] start of each block, in extents of @p oldtype.
 * @param oldtype       type of the elements.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_indexed(size_t count, const size_t blocklengths[],
					  const ptrdiff_t displacements[],
					  struct dtconv_type *oldtype,
					  struct dtconv_type **newtype);

/**
 * Make a type of blocks of any length and place, in bytes (MPI_TYPE_CREATE_HINDEXED).
 *
 * @param count         number of blocks.
 * @param blocklengths  [in] number of elements of each block.
 * @param displacements [in] start of each block, in bytes.
 * @param oldtype       type of the elements.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_hindexed(size_t count, const size_t blocklengths[],
					   const ptrdiff_t displacements[],
					   struct dtconv_type *oldtype,
					   struct dtconv_type **newtype);

/**
 * Make a type of equal blocks, placed in elements (MPI_TYPE_CREATE_INDEXED_BLOCK).
 *
 * @param count         number of blocks.
 * @param blocklength   number of elements of every block.
 * @param displacements [in] start of each block, in extents of @p oldtype.
 * @param oldtype       type of the elements.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_indexed_block(size_t count, size_t blocklength,
						const ptrdiff_t displacements[],
						struct dtconv_type *oldtype,
						struct dtconv_type **newtype);

/**
 * Make a type of equal blocks, placed in bytes (MPI_TYPE_CREATE_HINDEXED_BLOCK).
 *
 * @param count         number of blocks.
 * @param blocklength   number of elements of every block.
 * @param displacements [in] start of each block, in bytes.
 * @param oldtype       type of the elements.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_hindexed_block(size_t count, size_t blocklength,
						 const ptrdiff_t displacements[],
						 struct dtconv_type *oldtype,
						 struct dtconv_type **newtype);

/**
 * Make a type of blocks of different types (MPI_TYPE_CREATE_STRUCT).
 *
 * @param context       the context; all members must have been made in it.
 * @param count         number of members.
 * @param blocklengths  [in] number of elements of each member.
 * @param displacements [in] start of each member, in bytes.
 * @param oldtypes      [in] type of each member.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 *
 * The extent is rounded up to the strictest alignment of the basic types inside, as a C
 * compiler pads a struct. It is not rounded if a resized member has set the upper bound.
 * The context's option enum dtconv_padding changes this.
 */
DTCONV_API int dtconv_type_create_struct(struct dtconv_context *context, size_t count,
					 const size_t blocklengths[],
					 const ptrdiff_t displacements[],
					 struct dtconv_type *const oldtypes[],
					 struct dtconv_type **newtype);

/**
 * Make a type of a box inside an array (MPI_TYPE_CREATE_SUBARRAY).
 *
 * @param ndims    number of dimensions, 1 to 1024.
 * @param sizes    [in] number of elements of the array in each dimension, at least 1.
 * @param subsizes [in] number of elements of the box in each dimension, 1 <= subsize <=
 *                 size.
 * @param starts   [in] first element of the box in each dimension, start + subsize <=
 *                 size.
 * @param order    which index runs fastest.
 * @param oldtype  type of the elements.
 * @param newtype  [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 *
 * The lower bound is 0 and the extent is that of the whole array.
 */
DTCONV_API int dtconv_type_create_subarray(size_t ndims, const size_t sizes[],
					   const size_t subsizes[], const size_t starts[],
					   enum dtconv_order order,
					   struct dtconv_type *oldtype,
					   struct dtconv_type **newtype);

/**
 * Make a type of a process's share of a distributed array (MPI_TYPE_CREATE_DARRAY).
 *
 * @param size          number of processes, the product of @p psizes.
 * @param rank          this process, counted in C order over the process grid, less than
 *                      @p size.
 * @param ndims         number of dimensions, 1 to 1024.
 * @param gsizes        [in] number of elements of the global array in each dimension, at
 *                      least 1.
 * @param distributions [in] distribution of each dimension.
 * @param dargs         [in] block size in each dimension, or DTCONV_DISTRIBUTE_DFLT_DARG.
 * @param psizes        [in] number of processes in each dimension, 1 where not
 *                      distributed.
 * @param order         which index of the array runs fastest (the process grid is in C
 *                      order).
 * @param oldtype       type of the elements.
 * @param newtype       [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 *
 * The lower bound is 0 and the extent is that of the whole array. A process without a
 * share gets a type of size 0 with the same extent.
 */
DTCONV_API int dtconv_type_create_darray(size_t size, size_t rank, size_t ndims,
					 const size_t gsizes[],
					 const enum dtconv_distribution distributions[],
					 const size_t dargs[], const size_t psizes[],
					 enum dtconv_order order, struct dtconv_type *oldtype,
					 struct dtconv_type **newtype);

/**
 * Change a type's lower bound and extent (MPI_TYPE_CREATE_RESIZED); the typemap stays.
 *
 * @param oldtype the type.
 * @param lb      new lower bound, in bytes.
 * @param extent  new extent, in bytes; may be negative or smaller than the data.
 * @param newtype [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_resized(struct dtconv_type *oldtype, ptrdiff_t lb,
					  ptrdiff_t extent, struct dtconv_type **newtype);

/**
 * Duplicate a type (MPI_TYPE_DUP); the copy is committed if the type is.
 *
 * @param oldtype the type.
 * @param newtype [out] the new type, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_dup(struct dtconv_type *oldtype,
				      struct dtconv_type **newtype);

/**
 * Make the Fortran real of a precision and range (MPI_TYPE_CREATE_F90_REAL).
 *
 * @param context the context.
 * @param p       minimum precision in decimal digits, or DTCONV_UNDEFINED.
 * @param r       minimum decimal exponent range, or DTCONV_UNDEFINED; not both undefined.
 * @param newtype [out] the new type, committed, owned by the caller.
 * @return 0; DTCONV_ERR_UNSUPPORTED if no kind (4, 8 or 16 bytes) suffices;
 *         DTCONV_ERR_INVAL, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_f90_real(struct dtconv_context *context, size_t p, size_t r,
					   struct dtconv_type **newtype);

/**
 * Make the Fortran complex of a precision and range (MPI_TYPE_CREATE_F90_COMPLEX).
 *
 * @param context the context.
 * @param p       minimum precision in decimal digits, or DTCONV_UNDEFINED.
 * @param r       minimum decimal exponent range, or DTCONV_UNDEFINED; not both undefined.
 * @param newtype [out] the new type, committed, owned by the caller.
 * @return 0; DTCONV_ERR_UNSUPPORTED if no kind suffices; DTCONV_ERR_INVAL,
 *         DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_f90_complex(struct dtconv_context *context, size_t p,
					      size_t r, struct dtconv_type **newtype);

/**
 * Make the Fortran integer of a range (MPI_TYPE_CREATE_F90_INTEGER).
 *
 * @param context the context.
 * @param r       minimum range in decimal digits.
 * @param newtype [out] the new type, committed, owned by the caller.
 * @return 0; DTCONV_ERR_UNSUPPORTED if no kind (1 to 16 bytes) suffices;
 *         DTCONV_ERR_INVAL, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_f90_integer(struct dtconv_context *context, size_t r,
					      struct dtconv_type **newtype);

/**
 * Make a pair of value and index, for minloc and maxloc (MPI_TYPE_GET_VALUE_INDEX).
 *
 * @param value   a predefined type that is not itself a pair.
 * @param index   a predefined integer type.
 * @param newtype [out] the predefined pair, if there is one (a release has no effect);
 *                else a new type, committed, laid out as a C struct of the two and owned
 *                by the caller.
 * @return 0; DTCONV_ERR_INVAL, DTCONV_ERR_OVERFLOW, DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_type_create_value_index(struct dtconv_type *value,
					      struct dtconv_type *index,
					      struct dtconv_type **newtype);

/* ---- life ---------------------------------------------------------------------------- */

/**
 * Commit a type: compile it for moving data (MPI_TYPE_COMMIT).
 *
 * @param type the type.
 * @return 0, also if the type is committed already; DTCONV_ERR_NOMEM.
 *
 * The cost is proportional to the size of the description (number of listed blocks), not
 * to the size of the data. Several threads may commit one type at once.
 */
DTCONV_API int dtconv_type_commit(struct dtconv_type *type);

/**
 * Take a reference to a type.
 * @param type the type, or NULL.
 * @return @p type.
 */
DTCONV_API struct dtconv_type *dtconv_type_ref(struct dtconv_type *type);

/**
 * Drop a reference to a type; the last one frees it (MPI_TYPE_FREE).
 *
 * Types made from it, convertors and batches hold references of their own.
 * @param type the type, or NULL; on predefined types the call has no effect.
 */
DTCONV_API void dtconv_type_unref(struct dtconv_type *type);

/* ---- what users attach --------------------------------------------------------------- */

/**
 * Attach a pointer to a type, for example the runtime's own object.
 *
 * @param type the type; a predefined one is shared by all users of its context.
 * @param user the pointer, or NULL. The library does not look at what it points to.
 * @return 0.
 *
 * It takes the place of the one before. Types made from this one do not inherit it, and
 * neither do duplicates (dtconv_type_create_dup()). Nothing is called when the type is
 * released. What was written to the object before this call is visible to the thread that
 * gets the pointer.
 */
DTCONV_API int dtconv_type_set_user(struct dtconv_type *type, void *user);

/**
 * Return the pointer that was attached to a type.
 *
 * @param type the type.
 * @return the pointer that was set last, borrowed; NULL if there is none.
 */
DTCONV_API void *dtconv_type_user(const struct dtconv_type *type);

/**
 * Name a type (MPI_TYPE_SET_NAME).
 *
 * @param type the type; a predefined one is shared by all users of its context.
 * @param name [in] the name, of any length; copied.
 * @return 0; DTCONV_ERR_NOMEM (the old name stays).
 *
 * The name is for people: comparisons, text forms and serialised types do not have it.
 * Types made from this one do not inherit it, and neither do duplicates. Several threads may
 * name one type at once; one of the names wins. The memory of earlier names is released with
 * the type.
 */
DTCONV_API int dtconv_type_set_name(struct dtconv_type *type, const char *name);

/**
 * Return a type's name (MPI_TYPE_GET_NAME).
 *
 * @param type the type.
 * @return the name that was set last, valid as long as the type, also if another is set; a
 *         predefined type's name in text forms, for example "double", and "" for other
 *         types, if none was set.
 */
DTCONV_API const char *dtconv_type_name(const struct dtconv_type *type);

/* ---- queries ------------------------------------------------------------------------- */

/** Size, bounds and other attributes of a type, in bytes unless stated otherwise. */
struct dtconv_type_attr {
	size_t struct_size;      /**< sizeof(struct dtconv_type_attr), set by the caller */
	size_t size;             /**< packed size of one instance */
	ptrdiff_t lb;            /**< lower bound */
	ptrdiff_t extent;        /**< upper minus lower bound: distance of consecutive instances */
	ptrdiff_t true_lb;       /**< lowest displacement of data; 0 if there is no data */
	ptrdiff_t true_extent;   /**< distance from there to the end of the highest data */
	size_t element_count;    /**< number of basic elements; a pair counts as two */
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
 * Read a type's size, bounds and more (MPI_TYPE_SIZE, _GET_EXTENT, _GET_TRUE_EXTENT).
 *
 * @param type the type; need not be committed.
 * @param attr [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 */
DTCONV_API int dtconv_type_query(const struct dtconv_type *type,
				 struct dtconv_type_attr *attr);

/**
 * Ask whether (count, type) is one contiguous run of bytes, and where it is.
 *
 * @param type   the type; need not be committed.
 * @param count  number of instances.
 * @param is_run [out] 1 if the packed stream is one run of the buffer's bytes, in order;
 *               else 0.
 * @param offset [out] where the run begins, in bytes from the buffer's address; 0 if there
 *               is no run or no data.
 * @param bytes  [out] its length, count x size; 0 if there is no run.
 * @return 0; DTCONV_ERR_OVERFLOW if count x size exceeds size_t or count x extent exceeds
 *         ptrdiff_t.
 *
 * A run needs no packing: send buffer + offset. Unlike the attribute `contiguous`, this is
 * about one count: a type with a gap at its end is a run if @p count is 1. No data is a run
 * of 0 bytes. Takes constant time. Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_type_query_run(const struct dtconv_type *type, size_t count,
				     int *is_run, ptrdiff_t *offset, size_t *bytes);

/**
 * Combiner of a type, and how many arguments it was made with (MPI_TYPE_GET_ENVELOPE).
 *
 * Values that MPI calls integers or counts are in one array; displacements, strides and
 * bounds in a second; types in a third.
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
	size_t count_count;            /**< length of the counts array */
	size_t displacement_count;     /**< length of the displacements array */
	size_t type_count;             /**< length of the types array */
};

/**
 * Read a type's combiner and the lengths of its argument arrays (MPI_TYPE_GET_ENVELOPE).
 *
 * @param type     the type.
 * @param envelope [out] combiner and array lengths.
 * @return 0.
 */
DTCONV_API int dtconv_type_query_envelope(const struct dtconv_type *type,
					  struct dtconv_envelope *envelope);

/**
 * Read the arguments that a type was made with (MPI_TYPE_GET_CONTENTS).
 *
 * @param type              the type.
 * @param max_counts        length of @p counts, at least the envelope's count_count.
 * @param counts            [out] counts.
 * @param max_displacements length of @p displacements, at least displacement_count.
 * @param displacements     [out] displacements.
 * @param max_types         length of @p types, at least type_count.
 * @param types             [out] types, borrowed: valid as long as @p type.
 * @return 0; DTCONV_ERR_TRUNCATE if an array is too short (nothing is written).
 *
 * struct dtconv_envelope lists their order.
 */
DTCONV_API int dtconv_type_query_contents(const struct dtconv_type *type, size_t max_counts,
					  size_t counts[], size_t max_displacements,
					  ptrdiff_t displacements[], size_t max_types,
					  struct dtconv_type *types[]);

/**
 * Count the basic elements in part of a packed stream (MPI_GET_ELEMENTS).
 *
 * @param type     the type.
 * @param bytes    length of the part in bytes, of any number of instances, from the start
 *                 of the stream.
 * @param elements [out] number of basic elements, two for a pair; DTCONV_UNDEFINED if the
 *                 last one is cut, or if @p type has size 0 and @p bytes is not 0.
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
 * Compare the signatures of (count_a, type_a) and (count_b, type_b).
 *
 * @param type_a   first type.
 * @param count_a  number of instances of it.
 * @param type_b   second type.
 * @param count_b  number of instances of it.
 * @param relation [out] how they relate.
 * @return 0; DTCONV_ERR_OVERFLOW if a count times the number of elements exceeds size_t.
 *
 * Two basic types match if they are the same predefined type. Fortran kinds made by the
 * f90 constructors match the predefined type of their size. A pair counts as its two
 * members. The cost is at most the sum of the expanded element runs in one instance of
 * each type, whatever the counts.
 */
DTCONV_API int dtconv_type_compare_signature(const struct dtconv_type *type_a, size_t count_a,
					     const struct dtconv_type *type_b, size_t count_b,
					     enum dtconv_signature_relation *relation);

/**
 * Compare the layouts of (count_a, type_a) and (count_b, type_b).
 *
 * @param type_a  a committed type.
 * @param count_a number of instances of it.
 * @param type_b  a committed type.
 * @param count_b number of instances of it.
 * @param equal   [out] 1 if both packed streams take the same bytes of a buffer in the same
 *                order, else 0.
 * @return 0; DTCONV_ERR_STATE if a type is not committed; DTCONV_ERR_OVERFLOW if a count x
 *         size exceeds size_t or count x extent exceeds ptrdiff_t.
 *
 * How the types were made, their basic types and their bounds make no difference. Two
 * layouts without data are equal. The answer is exact. The cost is that of two hashes, and
 * of nothing else if the layouts differ or commit has made the same program of both. For
 * equal layouts that are spelled differently, add the runs of at most two instances of each
 * type. Does not block; does not allocate. Callable from any thread.
 */
DTCONV_API int dtconv_type_compare_layout(const struct dtconv_type *type_a,
					  size_t count_a,
					  const struct dtconv_type *type_b,
					  size_t count_b, int *equal);

/**
 * Hash the layout of (count, type): equal layouts have equal hashes.
 *
 * @param type  a committed type.
 * @param count number of instances.
 * @param hash  [out] the hash, below 2^61; the same on every machine.
 * @return 0; DTCONV_ERR_STATE and DTCONV_ERR_OVERFLOW as in dtconv_type_compare_layout().
 *
 * Equal layouts are those that dtconv_type_compare_layout() calls equal. Others have
 * different hashes unless chance, about one in 2^61, or somebody's intent makes them equal:
 * do not take the hash for the layout where types may be hostile. The cost is proportional
 * to the program that commit made, its listed blocks and the logarithms of its counts (about
 * 20 ns a block). Does not block; does not allocate. Callable from any thread.
 */
DTCONV_API int dtconv_type_hash_layout(const struct dtconv_type *type, size_t count,
				       uint64_t *hash);

/* ---- text ---------------------------------------------------------------------------- */

/**
 * Make a type from its text form, for example `vector(1000, 2, 5, double)`.
 *
 * @param context the context to make it in.
 * @param text    [in] the text; need not end in a NUL.
 * @param length  its length in bytes.
 * @param type    [out] the new type, not committed, owned by the caller.
 * @return 0; DTCONV_ERR_FORMAT for a syntax error; DTCONV_ERR_INVAL for a negative count;
 *         DTCONV_ERR_OVERFLOW for a number that exceeds its type; DTCONV_ERR_LIMIT for
 *         more than 256 levels; DTCONV_ERR_NOMEM; what the constructors return. The error
 *         text names the column.
 *
 * Arguments are in the order of the constructors:
 *
 *     contiguous(count, T)                         resized(T, lb, extent)
 *     vector(count, blocklength, stride, T)        hvector(...)
 *     indexed([blocklengths], [displacements], T)  hindexed(...)
 *     indexed_block(blocklength, [displacements], T)    hindexed_block(...)
 *     struct([blocklengths], [displacements], [types])
 *     subarray([sizes], [subsizes], [starts], order, T)
 *     darray(size, rank, [gsizes], [distributions], [dargs], [psizes], order, T)
 *     dup(T)    value_index(V, I)    f90_real(p, r)    f90_complex(p, r)    f90_integer(r)
 *
 * - Predefined types have their names without prefix in lower case: `double`,
 *   `unsigned_long`, `2int`.
 * - Orders are `c` and `fortran`; distributions are `block`, `cyclic` and `none`.
 * - `default` is the default block size, `undefined` is DTCONV_UNDEFINED.
 * - White space is ignored. `#` begins a comment that ends with the line.
 */
DTCONV_API int dtconv_type_parse(struct dtconv_context *context, const char *text,
				 size_t length, struct dtconv_type **type);

/**
 * Write a type's text form, which dtconv_type_parse() reads.
 *
 * @param type     the type.
 * @param text     [out] receives at most @p capacity - 1 characters and a NUL; may be
 *                 NULL if capacity is 0.
 * @param capacity size of @p text in bytes.
 * @param length   [out] length of the whole text without the NUL, also if it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the text did not fit (its beginning was written);
 *         DTCONV_ERR_NOMEM; DTCONV_ERR_LIMIT beyond 2^30 characters or 2^22 constructors
 *         (a type that is used twice is written twice).
 */
DTCONV_API int dtconv_type_format(const struct dtconv_type *type, char *text, size_t capacity,
				  size_t *length);

/**
 * Write a type's signature as text, for example `3 x (int, 2 x double)`.
 *
 * @param type     the type.
 * @param text     [out] as in dtconv_type_format().
 * @param capacity size of @p text in bytes.
 * @param length   [out] as in dtconv_type_format().
 * @return 0; DTCONV_ERR_TRUNCATE.
 */
DTCONV_API int dtconv_type_format_signature(const struct dtconv_type *type, char *text,
					    size_t capacity, size_t *length);

/**
 * Write the program that a committed type was compiled to, one operation per line.
 *
 * The program is normalised: equal typemaps give equal programs for the spellings that
 * doc/design.md lists.
 *
 * @param type     the type.
 * @param text     [out] as in dtconv_type_format().
 * @param capacity size of @p text in bytes.
 * @param length   [out] as in dtconv_type_format().
 * @return 0; DTCONV_ERR_TRUNCATE; DTCONV_ERR_STATE if the type is not committed.
 */
DTCONV_API int dtconv_type_format_program(const struct dtconv_type *type, char *text,
					  size_t capacity, size_t *length);

/* ---- bytes --------------------------------------------------------------------------- */

/** First byte of every serialised type. No text form begins with it. */
#define DTCONV_SERIALISED_FIRST_BYTE 0xd7

/**
 * Write a type as bytes for another process, another machine or a later version.
 *
 * @param type     the type; need not be committed.
 * @param bytes    [out] receives the stream if all of it fits, at any alignment; may be
 *                 NULL if @p capacity is 0.
 * @param capacity size of @p bytes.
 * @param length   [out] length of the whole stream in bytes, also if it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream did not fit (nothing is written);
 *         DTCONV_ERR_NOMEM.
 *
 * doc/types.md describes the format. It holds no pointers, and equal descriptions give
 * equal bytes. A type that is used several times is written once, so the length is
 * proportional to the description.
 */
DTCONV_API int dtconv_type_serialise(const struct dtconv_type *type, void *bytes,
				     size_t capacity, size_t *length);

/**
 * Make a type from bytes that dtconv_type_serialise() wrote; safe for untrusted bytes.
 *
 * @param context the context to make it in.
 * @param bytes   [in] the stream, at any alignment.
 * @param length  its exact length in bytes.
 * @param type    [out] the new type, owned by the caller; not committed, unless its
 *                constructor returns committed types.
 * @return 0; DTCONV_ERR_FORMAT if the bytes are no such stream, are of another version,
 *         or describe a type that cannot be the same here; DTCONV_ERR_LIMIT if the types'
 *         signatures, or their descriptions written out without sharing, are far larger
 *         than the stream; DTCONV_ERR_OVERFLOW for a number that exceeds its type;
 *         DTCONV_ERR_NOMEM. The error text names the byte.
 *
 * Whatever the bytes are, the result is a type or an error. What is accepted serialises
 * to the same bytes again. The new type has the envelope, contents, bounds and signature
 * of the old one; if it cannot have them, the call fails: predefined types of another
 * size or alignment, or a context with another padding (where that makes a difference).
 * At most 256 bytes of memory are allocated per byte of the stream.
 */
DTCONV_API int dtconv_type_deserialise(struct dtconv_context *context, const void *bytes,
				       size_t length, struct dtconv_type **type);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
