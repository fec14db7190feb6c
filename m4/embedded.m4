# SPDX-License-Identifier: BSD-3-Clause
# DTC_ENABLE_EMBEDDED: our own side of being embedded; the host's side is dtconv_embed.m4.
# A host hands us all of its own switches, so those that only tests and benches read are ignored:
# what a host means by --with-mpi is its business.
AC_DEFUN([DTC_ENABLE_EMBEDDED], [
AC_ARG_ENABLE([embedded],
	[AS_HELP_STRING([--enable-embedded],
		[be a part of a host project: build libdtconv_embedded.la, hide every symbol, install
		nothing (doc/embedding.md)])],
	[], [enable_embedded=no])
EMBEDDED_CPPFLAGS=
AS_IF([test "$enable_embedded" = yes], [
	EMBEDDED_CPPFLAGS=-DDTCONV_EMBEDDED
	with_mpi=no
	enable_fuzzers=no
])
AM_CONDITIONAL([EMBEDDED], [test "$enable_embedded" = yes])
AC_SUBST([EMBEDDED_CPPFLAGS])
])
