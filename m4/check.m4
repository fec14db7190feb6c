# SPDX-License-Identifier: BSD-3-Clause
# DTC_CHECK: the unit-test library of the tests. The library and the program build without it. Where the
# compiler makes programs for a machine that has no Check, the tests' own stand-in runs them.
AC_DEFUN([DTC_CHECK], [
AC_ARG_WITH([check],
	[AS_HELP_STRING([--with-check=plain],
		[run the tests with their own stand-in for the Check library])],
	[], [with_check=yes])
AS_CASE([$with_check],
	[plain], [have_check=plain
		CHECK_CFLAGS='-I$(top_srcdir)/test/support/plain'
		CHECK_LIBS=-lm],
	[yes], [PKG_CHECK_MODULES([CHECK], [check >= 0.10], [have_check=yes], [have_check=no])],
	[no], [have_check=no],
	[AC_MSG_ERROR([--with-check takes yes, no and plain, not $with_check])])
AC_SUBST([CHECK_CFLAGS])
AC_SUBST([CHECK_LIBS])
AM_CONDITIONAL([HAVE_CHECK], [test "$have_check" != no])
AM_CONDITIONAL([PLAIN_CHECK], [test "$have_check" = plain])
])
