# SPDX-License-Identifier: BSD-3-Clause
# CUDA, verbs and UCX: is the header there, and where? The rule of every --with switch: nothing given,
# use what is found; `no`, never look; `yes` or a folder, an error where it is missing.
# Nothing here touches CPPFLAGS or LIBS: each find is a variable of its own.

# DTC_WITH_VENDOR(SWITCH, VAR, NAME, HEADER, FOLDERS): sets VAR_CPPFLAGS and have_VAR (yes, no or off).
AC_DEFUN([DTC_WITH_VENDOR], [
AC_ARG_WITH([$1],
	[AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [use $3 (its headers under DIR/include)])],
	[], [with_$1=maybe])
AS_CASE([$with_$1],
	[no], [have_$2=off; $2_CPPFLAGS=],
	[yes|maybe], [DTC_FIND_HEADER([$2], [$4], [$5])],
	[DTC_FIND_HEADER([$2], [$4], [$with_$1])])
AS_IF([test "$have_$2" = no && test "$with_$1" != maybe],
	[AC_MSG_ERROR([--with-$1=$with_$1: $4 was not found])])
AM_CONDITIONAL([HAVE_$2], [test "$have_$2" = yes])
AC_SUBST([$2_CPPFLAGS])
])

# DTC_FIND_HEADER(VAR, HEADER, FOLDERS): the compiler's own folders first, then each DIR/include;
# a folder that the user named is the only one looked in.
AC_DEFUN([DTC_FIND_HEADER], [
AC_MSG_CHECKING([for $2])
have_$1=no
$1_CPPFLAGS=
dtc_save_cppflags=$CPPFLAGS
for dtc_dir in $3; do
	AS_CASE([$dtc_dir],
		[compiler], [dtc_try=],
		[dtc_try="-isystem $dtc_dir/include"; test -f "$dtc_dir/include/$2" || continue])
	CPPFLAGS="$dtc_save_cppflags $dtc_try"
	AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <$2>]])],
		[have_$1=yes; $1_CPPFLAGS=$dtc_try; break])
done
CPPFLAGS=$dtc_save_cppflags
AS_IF([test "$have_$1" = yes], [AC_MSG_RESULT([yes ${$1_CPPFLAGS}])], [AC_MSG_RESULT([no])])
])

# There is a driver for 64-bit Linux with the GNU C library, and none for anything else.
AC_DEFUN([DTC_WITH_CUDA], [
AC_CHECK_SIZEOF([void *])
AM_CONDITIONAL([WORDS64], [test "$ac_cv_sizeof_void_p" = 8])
AS_CASE([$ac_cv_sizeof_void_p:$host:$CC],
	[*musl*], [dtc_cuda_host=no],
	[8:x86_64-*-linux-gnu:*|8:aarch64-*-linux-gnu:*], [dtc_cuda_host=yes],
	[dtc_cuda_host=no])
AS_IF([test "$dtc_cuda_host" = no && test "${with_cuda-maybe}" = maybe], [with_cuda=no])
DTC_WITH_VENDOR([cuda], [CUDA], [CUDA], [cuda.h], [compiler /usr/local/cuda])
AS_IF([test "$have_CUDA" = yes],
	[AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if memory of CUDA devices can be reached.])])
AC_ARG_WITH([cuda-libdir],
	[AS_HELP_STRING([--with-cuda-libdir=DIR], [folder of libnvrtc, where it is not CUDA's lib64])],
	[], [with_cuda_libdir=])
AS_CASE([$with_cuda_libdir],
	[yes|no], [AC_MSG_ERROR([--with-cuda-libdir needs a folder])],
	[""], [],
	[test -d "$with_cuda_libdir" || AC_MSG_ERROR([--with-cuda-libdir=$with_cuda_libdir: no such folder])])
CUDA_LIBDIR=$with_cuda_libdir
AC_SUBST([CUDA_LIBDIR])
DTC_CHECK_CUDA_TESTS
DTC_FIND_NVRTC
DTC_WITH_GPU_ARCHS
DTC_FIND_FATBINARY
DTC_FIND_NVTX
DTC_FIND_CUDART
])

# The driver that stands in for the real one in the tests is that of CUDA 13.
AC_DEFUN([DTC_CHECK_CUDA_TESTS], [
have_CUDA_TESTS=no
AS_IF([test "$have_CUDA" = yes], [
	AC_MSG_CHECKING([whether the headers of CUDA are those of 13 or later])
	dtc_saved_cppflags=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
	AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cuda.h>
#if CUDA_VERSION < 13000
#error
#endif]])], [have_CUDA_TESTS=yes])
	CPPFLAGS=$dtc_saved_cppflags
	AC_MSG_RESULT([$have_CUDA_TESTS])
])
AM_CONDITIONAL([CUDA_TESTS], [test "$have_CUDA_TESTS" = yes])
])

# NVTX comes with CUDA, as headers alone; older ones have another name.
AC_DEFUN([DTC_FIND_NVTX], [
have_NVTX=no
AS_IF([test "$have_CUDA" = yes], [
	dtc_saved_cppflags=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
	AC_CHECK_HEADER([nvtx3/nvToolsExt.h], [have_NVTX=yes])
	CPPFLAGS=$dtc_saved_cppflags
])
AS_IF([test "$have_NVTX" = yes],
	[AC_DEFINE([HAVE_NVTX], [1], [Define to 1 if jobs can be ranges of NVTX.])])
AM_CONDITIONAL([HAVE_NVTX], [test "$have_NVTX" = yes])
])

# DTC_FIND_CUDA_LIBRARY(VAR, NAME, HEADER): whether a program can be linked with a library that only the
# examples use; sets VAR_LIBS and have_VAR.
AC_DEFUN([DTC_FIND_CUDA_LIBRARY], [
AC_MSG_CHECKING([for $2])
have_$1=no
$1_LIBS=
AS_IF([test "$have_CUDA" = yes && test "$cross_compiling" != yes], [
	dtc_save_CPPFLAGS=$CPPFLAGS dtc_save_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
	for dtc_dir in "$with_cuda_libdir" "$dtc_cuda_root/lib64" "$dtc_cuda_root/lib" /usr/lib/x86_64-linux-gnu; do
		AS_IF([test "$have_$1" = no && test -f "$dtc_dir/lib$2.so"], [
			LIBS="-L$dtc_dir -Wl,-rpath,$dtc_dir -l$2 $dtc_save_LIBS"
			AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[]])],
				[have_$1=yes $1_LIBS="-L$dtc_dir -Wl,-rpath,$dtc_dir -l$2"])
		])
	done
	CPPFLAGS=$dtc_save_CPPFLAGS LIBS=$dtc_save_LIBS
])
AC_MSG_RESULT([$have_$1])
AC_SUBST([$1_LIBS])
])

AC_DEFUN([DTC_FIND_CUDART], [
DTC_FIND_CUDA_LIBRARY([CUDART], [cudart], [cuda_runtime_api.h])
DTC_FIND_CUDA_LIBRARY([NCCL], [nccl], [nccl.h])
AM_CONDITIONAL([HAVE_CUDART], [test "$have_CUDART" = yes])
AM_CONDITIONAL([HAVE_NCCL], [test "$have_NCCL" = yes && test "$have_CUDART" = yes])
])

# NVRTC compiles the GPU kernels while the library is built, on the machine that builds: what is built for
# another architecture goes without them, as does a tree that CUDA was not found for.
AC_DEFUN([DTC_FIND_NVRTC], [
AC_MSG_CHECKING([for NVRTC])
AS_CASE([$with_cuda], [no|yes|maybe], [dtc_cuda_root=/usr/local/cuda], [dtc_cuda_root=$with_cuda])
NVRTC= NVRTC_VERSION= nvrtc_archs=
AS_IF([test "$have_CUDA" = yes && test "$cross_compiling" != yes], [
	for dtc_dir in "$with_cuda_libdir" "$dtc_cuda_root/lib64" "$dtc_cuda_root/lib" \
		/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib; do
		for dtc_try in "$dtc_dir"/libnvrtc.so "$dtc_dir"/libnvrtc.so.@<:@0-9@:>@*; do
			AS_IF([test -z "$NVRTC" && test -f "$dtc_try"], [NVRTC=$dtc_try])
		done
	done
])
AS_IF([test -n "$NVRTC"], [AC_MSG_RESULT([$NVRTC])], [AC_MSG_RESULT([no: no prebuilt GPU kernels])])
AS_IF([test -n "$NVRTC"], [DTC_ASK_NVRTC])
AC_SUBST([NVRTC])
AC_SUBST([NVRTC_VERSION])
AM_CONDITIONAL([GPU_IMAGES], [test -n "$NVRTC"])
])

# What this NVRTC compiles for; one that cannot be opened here is none.
AC_DEFUN([DTC_ASK_NVRTC], [
AC_MSG_CHECKING([what it compiles for])
rm -f conftest.nvrtc
AC_RUN_IFELSE([AC_LANG_SOURCE([[
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	int (*ask_version)(int *, int *), (*ask_count)(int *), (*ask_archs)(int *);
	int major, minor, count, archs[256];
	void *library = dlopen("$NVRTC", RTLD_NOW);
	FILE *file = fopen("conftest.nvrtc", "w");

	if (!library || !file)
		return 1;
	*(void **)&ask_version = dlsym(library, "nvrtcVersion");
	*(void **)&ask_count = dlsym(library, "nvrtcGetNumSupportedArchs");
	*(void **)&ask_archs = dlsym(library, "nvrtcGetSupportedArchs");
	if (!ask_version || !ask_count || !ask_archs || ask_version(&major, &minor) ||
	    ask_count(&count) || count > 256 || ask_archs(archs))
		return 1;
	fprintf(file, "%d.%d", major, minor);
	for (int i = 0; i < count; i++)
		fprintf(file, " %d", archs[i]);
	fprintf(file, "\n");
	return fclose(file) != 0;
}]])], [read NVRTC_VERSION nvrtc_archs < conftest.nvrtc], [NVRTC=], [NVRTC=])
rm -f conftest.nvrtc
AS_IF([test -n "$NVRTC"], [AC_MSG_RESULT([$NVRTC_VERSION: $nvrtc_archs])],
	[AC_MSG_RESULT([it cannot be opened: no prebuilt GPU kernels])])
])

# For which architectures NVRTC compiles the GPU kernels; GPU_ARCHS is make's variable for the same.
AC_DEFUN([DTC_WITH_GPU_ARCHS], [
AC_ARG_WITH([gpu-archs],
	[AS_HELP_STRING([--with-gpu-archs=LIST], [compile GPU kernels for all families of architectures (all), the
		GPUs of this machine (native), none, or those listed: sm_90,compute_75 @<:@all@:>@])],
	[], [with_gpu_archs=all])
AS_CASE([$with_gpu_archs],
	[yes], [AC_MSG_ERROR([--with-gpu-archs needs a list: all, native, none or such as sm_90,compute_75])],
	[no], [with_gpu_archs=none])
GPU_ARCHS=`"$srcdir/src/kernels/images/archs" "$with_gpu_archs" "$NVRTC_VERSION" $nvrtc_archs 2> conftest.archs`
dtc_text=`cat conftest.archs; rm -f conftest.archs`
AS_IF([test -n "$dtc_text"], [AC_MSG_ERROR([--with-gpu-archs=$with_gpu_archs: $dtc_text])])
AC_MSG_CHECKING([for which architectures GPU kernels are compiled])
AC_MSG_RESULT([${GPU_ARCHS:-none}])
AC_SUBST([GPU_ARCHS])
])

# CUDA's own tool that compresses compiled kernels.
AC_DEFUN([DTC_FIND_FATBINARY], [
AC_ARG_VAR([FATBINARY], [the fatbinary of CUDA, which compresses the GPU kernels; no: leave them as they are])
FATBINARY_HAS_MODES=no
AS_IF([test -n "$NVRTC" && test "$FATBINARY" != no],
	[AC_PATH_PROG([FATBINARY], [fatbinary], [no], [$dtc_cuda_root/bin$PATH_SEPARATOR$PATH])])
AS_IF([test -z "$NVRTC" || test "$FATBINARY" = no], [FATBINARY=], [
	AC_MSG_CHECKING([whether $FATBINARY has --compress-mode])
	AS_IF(["$FATBINARY" --help 2> /dev/null | grep -e --compress-mode > /dev/null], [FATBINARY_HAS_MODES=yes])
	AC_MSG_RESULT([$FATBINARY_HAS_MODES])
])
AC_SUBST([FATBINARY_HAS_MODES])
])

# libdtconv-verbs is built where programs can be linked with a libibverbs of rdma-core 34 or later.
AC_DEFUN([DTC_WITH_VERBS], [
DTC_WITH_VENDOR([verbs], [VERBS], [InfiniBand verbs], [infiniband/verbs.h], [compiler])
VERBS_LIBS=
AS_IF([test "$have_VERBS" = yes && test "$enable_embedded" != yes], [
	AC_MSG_CHECKING([for libibverbs of rdma-core 34 or later])
	dtc_save_CPPFLAGS=$CPPFLAGS dtc_save_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $VERBS_CPPFLAGS"
	VERBS_LIBS=-libverbs
	AS_CASE([$with_verbs], [yes|maybe], [], [VERBS_LIBS="-L$with_verbs/lib -libverbs"])
	LIBS="$VERBS_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <infiniband/verbs.h>]],
		[[struct ibv_gid_entry entry;
		return ibv_query_gid_ex((struct ibv_context *)0, 1, 0, &entry, 0) ||
			ibv_reg_dmabuf_mr((struct ibv_pd *)0, 0, 1, 0, 0, 0);]])],
		[AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); VERBS_LIBS=])
	CPPFLAGS=$dtc_save_CPPFLAGS LIBS=$dtc_save_LIBS
	AS_IF([test -z "$VERBS_LIBS" && test "$with_verbs" != maybe],
		[AC_MSG_ERROR([--with-verbs=$with_verbs: no program can be linked with its libibverbs])])
])
AC_SUBST([VERBS_LIBS])
AM_CONDITIONAL([VERBS_LIBRARY], [test -n "$VERBS_LIBS"])
])

# libdtconv-ucx is built where programs can be linked with a UCX of 1.13 or later.
AC_DEFUN([DTC_WITH_UCX], [
DTC_WITH_VENDOR([ucx], [UCX], [UCX], [ucp/api/ucp.h], [compiler])
UCX_LIBS=
AS_IF([test "$have_UCX" = yes && test "$enable_embedded" != yes], [
	AC_MSG_CHECKING([for UCX 1.13 or later])
	dtc_save_CPPFLAGS=$CPPFLAGS dtc_save_LIBS=$LIBS
	CPPFLAGS="$CPPFLAGS $UCX_CPPFLAGS"
	UCX_LIBS="-lucp -lucs"
	AS_CASE([$with_ucx], [yes|maybe], [], [UCX_LIBS="-L$with_ucx/lib -lucp -lucs"])
	LIBS="$UCX_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <ucp/api/ucp.h>
#if UCP_API_VERSION < UCP_VERSION(1, 13)
#error too old
#endif]],
		[[ucp_worker_h worker = 0;
		ucp_request_param_t param = { UCP_OP_ATTR_FIELD_MEMH };
		return ucp_am_recv_data_nbx(worker, 0, 0, 0, &param) != 0;]])],
		[AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); UCX_LIBS=])
	CPPFLAGS=$dtc_save_CPPFLAGS LIBS=$dtc_save_LIBS
	AS_IF([test -z "$UCX_LIBS" && test "$with_ucx" != maybe],
		[AC_MSG_ERROR([--with-ucx=$with_ucx: no program can be linked with a UCX of 1.13 or later])])
])
AC_SUBST([UCX_LIBS])
AM_CONDITIONAL([UCX_LIBRARY], [test -n "$UCX_LIBS"])
])
