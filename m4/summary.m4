# SPDX-License-Identifier: BSD-3-Clause
# DTC_SUMMARY: what configure found, and what that enables; nothing is claimed that no source uses.

# DTC_SAY_MPI(VAR, LIBRARY, LABEL): one line on an MPI.
AC_DEFUN([DTC_SAY_MPI], [
AS_IF([test "$have_$1" = yes], [dtc_text="$$1_MPICC: $2, and a peer of dtconv bench"],
	[test -n "$$1_MPICC"], [dtc_text="$$1_MPICC, a peer of dtconv bench; $2 cannot be linked"],
	[test "$with_mpi" = no], [dtc_text="not looked for"],
	[dtc_text="not found: no $2, no such peer in dtconv bench"])
AS_ECHO(["  $3 $dtc_text"])
])

AC_DEFUN([DTC_SUMMARY], [
AS_CASE([$have_check],
	[yes], [dtc_tests="with Check"],
	[plain], [dtc_tests="with the stand-in for Check"],
	[dtc_tests="off: Check was not found (Debian: apt-get install check)"])
AS_IF([test "$enable_embedded" = yes], [
	dtc_place="nothing: libdtconv_embedded.la is for the host project"
	dtc_tests="no tests inside a host project"],
	[dtc_place=$prefix])
AS_IF([test -n "$DOXYGEN"], [dtc_doc=$DOXYGEN], [dtc_doc="off: doxygen was not found"])
AS_ECHO(["
libdtconv $PACKAGE_VERSION for $host
  compiler       $CC $CFLAGS
  sanitizer      $enable_sanitizer
  assertions     $enable_debug
  fuzzers        $enable_fuzzers
  libraries      shared $enable_shared, static $enable_static
  installs in    $dtc_place"])
AS_IF([test "$with_bash_completion_dir" = no], [dtc_text="is not installed"],
	[dtc_text="is installed"])
AS_ECHO(["  completion     for bash $dtc_text"])
AS_CASE([$have_CUDA],
	[yes], [dtc_text="device memory, where a process has loaded the driver"],
	[off], [dtc_text="not looked for"],
	[dtc_text="cuda.h was not found: host memory only"])
AS_ECHO(["  CUDA           $dtc_text"])
AS_CASE([$have_CUDA:$have_CUDA_TESTS],
	[yes:no], [AS_ECHO(["  CUDA tests     left out: the tests' own driver needs the headers of CUDA 13"])])
AS_IF([test -z "$NVRTC"], [dtc_text="not prebuilt: no NVRTC"],
	[test -z "$GPU_ARCHS"], [dtc_text="not prebuilt: --with-gpu-archs=$with_gpu_archs"],
	[test -z "$FATBINARY"], [dtc_text="$GPU_ARCHS; not compressed: no fatbinary"],
	[dtc_text="$GPU_ARCHS; compressed by $FATBINARY"])
AS_ECHO(["  GPU kernels    $dtc_text"])
AS_IF([test -n "$NVRTC"], [AS_ECHO(["  NVRTC          $NVRTC_VERSION: $NVRTC"])])
AS_CASE([$have_NVTX],
	[yes], [dtc_text="jobs on devices are ranges, where a tool listens"],
	[dtc_text="nvtx3/nvToolsExt.h was not found: no ranges"])
AS_ECHO(["  NVTX           $dtc_text"])
AS_IF([test -n "$VERBS_LIBS"], [dtc_text="libdtconv-verbs: channels over InfiniBand and RoCE"],
	[test "$have_VERBS" = off], [dtc_text="not looked for"],
	[dtc_text="not found: no libdtconv-verbs (Debian: apt-get install libibverbs-dev)"])
AS_ECHO(["  verbs          $dtc_text"])
AS_IF([test -n "$UCX_LIBS"], [dtc_text="libdtconv-ucx: channels over the networks of UCX"],
	[test "$have_UCX" = off], [dtc_text="not looked for"],
	[dtc_text="not found: no libdtconv-ucx (Debian: apt-get install libucx-dev)"])
AS_ECHO(["  UCX            $dtc_text"])
DTC_SAY_MPI([OPENMPI], [libdtconv-openmpi], [Open MPI      ])
DTC_SAY_MPI([MPICH],   [libdtconv-mpich],   [MPICH         ])
AS_ECHO(["  make check     $dtc_tests
  make doc       $dtc_doc
"])
])
