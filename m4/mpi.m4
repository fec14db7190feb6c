# SPDX-License-Identifier: BSD-3-Clause
# MPI serves the transport mpi, the bench's peers and the differential test: each MPI compiler gives one library
# or program of either kind, named after what its mpi.h says it is. libdtconv itself never sees MPI.

AC_DEFUN([DTC_WITH_MPI], [
AC_ARG_WITH([mpi],
	[AS_HELP_STRING([--with-mpi=MPICC@<:@,MPICC...@:>@],
		[MPI compilers to build the transport mpi, the bench's peers and the differential test
		with (default: mpicc.openmpi and mpicc.mpich where they are in PATH)])],
	[], [with_mpi=maybe])
OPENMPI_MPICC=
MPICH_MPICC=
AS_CASE([$with_mpi],
	[no], [dtc_mpiccs=],
	[maybe], [dtc_mpiccs="mpicc.openmpi mpicc.mpich"],
	[yes], [dtc_mpiccs="mpicc.openmpi mpicc.mpich mpicc"],
	[dtc_mpiccs=`echo "$with_mpi" | tr , ' '`])
for dtc_mpicc in $dtc_mpiccs; do
	DTC_TRY_MPICC
done
AS_IF([test "$with_mpi" = yes && test -z "$OPENMPI_MPICC$MPICH_MPICC"],
	[AC_MSG_ERROR([--with-mpi: no working mpicc.openmpi, mpicc.mpich or mpicc in PATH])])
AM_CONDITIONAL([PEER_OPENMPI], [test -n "$OPENMPI_MPICC"])
AM_CONDITIONAL([PEER_MPICH], [test -n "$MPICH_MPICC"])
AC_SUBST([OPENMPI_MPICC])
AC_SUBST([MPICH_MPICC])
DTC_MPI_FLAGS([OPENMPI], [--showme:compile], [--showme:link])
DTC_MPI_FLAGS([MPICH], [-compile_info], [-link_info])
DTC_MPIEXEC([OPENMPI])
DTC_MPIEXEC([MPICH])
AS_IF([test "$have_OPENMPI" = yes], [MPI_FIRST=openmpi], [test "$have_MPICH" = yes], [MPI_FIRST=mpich], [MPI_FIRST=])
AM_CONDITIONAL([MPI_LIBRARY], [test -n "$MPI_FIRST" && test "$enable_embedded" != yes])
AC_SUBST([MPI_FIRST])
])

# DTC_MPI_FLAGS(VAR, COMPILE, LINK): what VAR_MPICC adds to the compiler and the linker when it is asked so. Libraries
# are compiled and linked with these flags, because libtool does not know MPI compilers.
AC_DEFUN([DTC_MPI_FLAGS], [
$1_CPPFLAGS=
$1_LIBS=
AS_IF([test -n "$$1_MPICC"], [
	for dtc_word in `$$1_MPICC $2 2> /dev/null`; do
		AS_CASE([$dtc_word],
			[-I*], [$1_CPPFLAGS="$$1_CPPFLAGS -isystem `AS_ECHO(["$dtc_word"]) | sed 's/^-I//'`"],
			[-D*], [$1_CPPFLAGS="$$1_CPPFLAGS $dtc_word"])
	done
	for dtc_word in `$$1_MPICC $3 2> /dev/null`; do
		AS_CASE([$dtc_word],
			[-L*|-l*|-Wl,-rpath*|-Wl,--enable-new-dtags], [$1_LIBS="$$1_LIBS $dtc_word"])
	done
	dtc_save_cppflags=$CPPFLAGS
	dtc_save_libs=$LIBS
	CPPFLAGS="$CPPFLAGS $$1_CPPFLAGS"
	LIBS="$$1_LIBS $LIBS"
	AC_MSG_CHECKING([whether $CC links with what $$1_MPICC adds])
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Init(0, 0);]])],
		[have_$1=yes], [have_$1=no])
	AC_MSG_RESULT([$have_$1: $$1_CPPFLAGS $$1_LIBS])
	CPPFLAGS=$dtc_save_cppflags
	LIBS=$dtc_save_libs
], [have_$1=no])
AM_CONDITIONAL([$1_LIBRARY], [test "$have_$1" = yes && test "$enable_embedded" != yes])
AC_SUBST([$1_CPPFLAGS])
AC_SUBST([$1_LIBS])
])

# DTC_MPIEXEC(VAR): the command beside VAR_MPICC that starts several processes; its name has the same ending.
AC_DEFUN([DTC_MPIEXEC], [
AC_ARG_VAR([$1_MPIEXEC], [starts MPI programs in tests (default: mpiexec, with the ending of the MPI compiler)])
AS_IF([test -n "$$1_MPICC" && test -z "$$1_MPIEXEC"],
	[$1_MPIEXEC=`AS_ECHO(["$$1_MPICC"]) | sed 's/mpicc/mpiexec/'`])
])

# DTC_TRY_MPICC: asks $dtc_mpicc what it is; a compiler that the user named has to work.
AC_DEFUN([DTC_TRY_MPICC], [
AC_MSG_CHECKING([which MPI $dtc_mpicc is])
dtc_mpi=none
dtc_save_cc=$CC
dtc_save_cflags=$CFLAGS
CC=$dtc_mpicc
CFLAGS=
AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <mpi.h>
#ifndef OPEN_MPI
#error not Open MPI
#endif
]], [[return MPI_Init(0, 0);]])], [dtc_mpi=openmpi],
	[AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <mpi.h>
#ifndef MPICH_VERSION
#error not MPICH
#endif
]], [[return MPI_Init(0, 0);]])], [dtc_mpi=mpich])])
CC=$dtc_save_cc
CFLAGS=$dtc_save_cflags
AC_MSG_RESULT([$dtc_mpi])
AS_CASE([$dtc_mpi],
	[openmpi], [test -n "$OPENMPI_MPICC" || OPENMPI_MPICC=$dtc_mpicc],
	[mpich], [test -n "$MPICH_MPICC" || MPICH_MPICC=$dtc_mpicc],
	[AS_CASE([$with_mpi], [yes|maybe], [],
		[AC_MSG_ERROR([--with-mpi=$with_mpi: $dtc_mpicc does not link a program with Open MPI or MPICH])])])
])
