# SPDX-License-Identifier: BSD-3-Clause
# MPI serves the bench's peers and the differential test: each MPI compiler gives one program of either
# kind, named after what its mpi.h says it is. The library itself never sees MPI.

AC_DEFUN([DTC_WITH_MPI], [
AC_ARG_WITH([mpi],
	[AS_HELP_STRING([--with-mpi=MPICC@<:@,MPICC...@:>@],
		[MPI compilers to build the bench's peers and the differential test with
		(default: mpicc.openmpi and mpicc.mpich where they are in PATH)])],
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
