# SPDX-License-Identifier: BSD-3-Clause
# The compiler: the language it must speak, and the flags that one configured tree compiles with.
# Every flag lands in AM_CFLAGS and friends; CFLAGS stays the user's own.

# DTC_TRY_CFLAG(VARIABLE, FLAG): appends FLAG to VARIABLE where the compiler takes it without a word.
AC_DEFUN([DTC_TRY_CFLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
dtc_save_cflags=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
	[AC_MSG_RESULT([yes]); $1="$$1 $2"],
	[AC_MSG_RESULT([no])])
CFLAGS=$dtc_save_cflags
])

AC_DEFUN([DTC_REQUIRE_C11], [
AC_MSG_CHECKING([for C11 with atomics])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <stdatomic.h>
#include <stdalign.h>
#include <stddef.h>
_Static_assert(sizeof(long long) == 8, "long long");
static _Atomic(unsigned long) counter;
]], [[return (int)atomic_fetch_add(&counter, 1) * (int)alignof(max_align_t);]])],
	[AC_MSG_RESULT([yes])],
	[AC_MSG_RESULT([no])
	AC_MSG_ERROR([$CC does not compile C11 with <stdatomic.h>; gcc 9 or clang 10 does])])
])

# Counts and displacements are size_t and ptrdiff_t, and the packaging is ELF's.
AC_DEFUN([DTC_REQUIRE_ELF64], [
AS_CASE([$host_os],
	[linux*], [],
	[AC_MSG_ERROR([libdtconv is written for Linux; this host is $host])])
])

AC_DEFUN([DTC_WARNINGS], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
	[], [enable_werror=no])
WARN_CFLAGS=
for dtc_flag in -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wsign-compare -Wvla -Walloca -Wundef -Wwrite-strings -Wpointer-arith \
	-Wframe-larger-than=8192
do
	DTC_TRY_CFLAG([WARN_CFLAGS], [$dtc_flag])
done
AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])

# Messages name source files from the root of the tree on. Otherwise the library's text, and thus its size, would depend
# on the folder that it is built from.
AC_DEFUN([DTC_PREFIX_MAP], [
PREFIX_MAP=
DTC_TRY_CFLAG([PREFIX_MAP], [-fmacro-prefix-map=/folder/=])
AS_IF([test -n "$PREFIX_MAP"], [PREFIX_MAP='-fmacro-prefix-map=$(top_srcdir)/='])
AC_SUBST([PREFIX_MAP])
])

# Assertions and the trace log cost time, so a tree has them on request only.
AC_DEFUN([DTC_ENABLE_DEBUG], [
AC_ARG_ENABLE([debug],
	[AS_HELP_STRING([--enable-debug], [assertions and the trace log level (slower)])],
	[], [enable_debug=no])
AS_IF([test "$enable_debug" = yes],
	[AC_DEFINE([DTC_DEBUG], [1], [Define to 1 for assertions and the trace log level.])],
	[AC_DEFINE([NDEBUG], [1], [Define to 1 to leave out the assertions.])])
])

AC_DEFUN([DTC_SANITIZER], [
AC_ARG_ENABLE([sanitizer],
	[AS_HELP_STRING([--enable-sanitizer=LIST],
		[compile with -fsanitize=LIST: address,undefined or thread])],
	[], [enable_sanitizer=no])
SANITIZER_FLAGS=
AS_CASE([$enable_sanitizer],
	[no], [],
	[yes], [AC_MSG_ERROR([--enable-sanitizer needs a list, for example =address,undefined])],
	[DTC_TRY_SANITIZER])
AM_CONDITIONAL([SANITIZER], [test "$enable_sanitizer" != no])
AC_SUBST([SANITIZER_FLAGS])
])

AC_DEFUN([DTC_TRY_SANITIZER], [
SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer -fno-sanitize-recover=all"
AC_MSG_CHECKING([whether $CC links with -fsanitize=$enable_sanitizer])
dtc_save_cflags=$CFLAGS
CFLAGS="$CFLAGS $SANITIZER_FLAGS"
AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
	[AC_MSG_RESULT([no])
	AC_MSG_ERROR([--enable-sanitizer=$enable_sanitizer: $CC does not link with it])])
CFLAGS=$dtc_save_cflags
])

# libFuzzer's driver brings its own main(), so only the fuzz programs link FUZZER_LDFLAGS;
# everything else is compiled with the coverage it reads.
AC_DEFUN([DTC_FUZZERS], [
AC_ARG_ENABLE([fuzzers],
	[AS_HELP_STRING([--enable-fuzzers], [build the libFuzzer programs (needs clang)])],
	[], [enable_fuzzers=no])
FUZZER_CFLAGS=
FUZZER_LDFLAGS=
AS_CASE([$enable_fuzzers,$enable_sanitizer],
	[no,*|yes,*address*], [],
	[AC_MSG_ERROR([--enable-fuzzers without --enable-sanitizer=address,undefined finds little])])
AS_IF([test "$enable_fuzzers" = yes], [
	AC_MSG_CHECKING([whether $CC links with -fsanitize=fuzzer])
	dtc_save_cflags=$CFLAGS
	CFLAGS="$CFLAGS -fsanitize=fuzzer"
	AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	return size > 3 && data[0] == 255 ? -1 : 0;
}
]])], [AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		AC_MSG_ERROR([--enable-fuzzers needs clang with libFuzzer: try CC=clang])])
	CFLAGS=$dtc_save_cflags
	FUZZER_CFLAGS=-fsanitize=fuzzer-no-link
	FUZZER_LDFLAGS=-fsanitize=fuzzer
])
AM_CONDITIONAL([FUZZERS], [test "$enable_fuzzers" = yes])
AC_SUBST([FUZZER_CFLAGS])
AC_SUBST([FUZZER_LDFLAGS])
])

AC_DEFUN([DTC_VERSION_SCRIPT], [
AC_MSG_CHECKING([whether the linker takes --version-script])
dtc_save_ldflags=$LDFLAGS
LDFLAGS="$LDFLAGS -Wl,--version-script=$srcdir/src/libdtconv.map"
AC_LINK_IFELSE([AC_LANG_PROGRAM],
	[AC_MSG_RESULT([yes])],
	[AC_MSG_RESULT([no])
	AC_MSG_ERROR([the linker of $CC takes no --version-script; GNU ld, gold and lld do])])
LDFLAGS=$dtc_save_ldflags
])

# Flags of the bench's hand-written loops: what an application compiled on this machine would use.
AC_DEFUN([DTC_HAND_FLAGS], [
HAND_CFLAGS=-O3
AS_IF([test "$cross_compiling" != yes], [DTC_TRY_CFLAG([HAND_CFLAGS], [-march=native])])
AC_SUBST([HAND_CFLAGS])
])

# Flags of the kernels that are plain loops over numbers: -O2 alone vectorises too little.
AC_DEFUN([DTC_LOOP_FLAGS], [
LOOP_CFLAGS=
DTC_TRY_CFLAG([LOOP_CFLAGS], [-ftree-vectorize])
DTC_TRY_CFLAG([LOOP_CFLAGS], [-fvect-cost-model=dynamic])
dnl Products and sums round twice everywhere, as they do on a GPU.
DTC_TRY_CFLAG([LOOP_CFLAGS], [-ffp-contract=off])
AC_SUBST([LOOP_CFLAGS])
])

# gcc 11 and clang 9 know the feature that Zen 5 has and Zen 4 has not.
AC_DEFUN([DTC_CPU_GENERATION], [
AC_MSG_CHECKING([whether $CC can tell Zen 5 from Zen 4])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [[return __builtin_cpu_supports("avx512vp2intersect");]])],
	[AC_MSG_RESULT([yes])
	AC_DEFINE([DTC_KNOWS_VP2INTERSECT], [1],
		[Define to 1 if __builtin_cpu_supports knows VP2INTERSECT.])],
	[AC_MSG_RESULT([no])])
])

# Flags of the CPU kernels that are compiled for one instruction set each. A kernel file is its own
# convenience library with these flags, and is chosen at run time, so the build machine's own CPU
# does not matter.
AC_DEFUN([DTC_CPU_FLAGS], [
DTC_CPU_GENERATION
AVX2_CFLAGS=
AVX512_CFLAGS=
AS_CASE([$host_cpu], [x86_64], [
	DTC_TRY_CFLAG([AVX2_CFLAGS], [-mavx2 -mbmi2])
	DTC_TRY_CFLAG([AVX512_CFLAGS], [-mavx512f -mavx512bw -mavx512vl -mavx512vbmi -mbmi2])
])
AS_IF([test -n "$AVX2_CFLAGS"],
	[AC_DEFINE([DTC_CPU_AVX2], [1], [Define to 1 if there are kernels for AVX2.])])
AS_IF([test -n "$AVX512_CFLAGS"],
	[AC_DEFINE([DTC_CPU_AVX512], [1], [Define to 1 if there are kernels for AVX-512.])])
AS_CASE([$host_cpu], [aarch64], [dtc_cpu_neon=yes], [dtc_cpu_neon=no])
AS_IF([test "$dtc_cpu_neon" = yes],
	[AC_DEFINE([DTC_CPU_NEON], [1], [Define to 1 if there are kernels for NEON.])])
AM_CONDITIONAL([CPU_NEON], [test "$dtc_cpu_neon" = yes])
AM_CONDITIONAL([CPU_AVX2], [test -n "$AVX2_CFLAGS"])
AM_CONDITIONAL([CPU_AVX512], [test -n "$AVX512_CFLAGS"])
AC_SUBST([AVX2_CFLAGS])
AC_SUBST([AVX512_CFLAGS])
])
