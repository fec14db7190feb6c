# SPDX-License-Identifier: BSD-3-Clause
# DTC_CHECK: the unit-test library of the tests. The library and the program build without it.
AC_DEFUN([DTC_CHECK], [
PKG_CHECK_MODULES([CHECK], [check >= 0.10], [have_check=yes], [have_check=no])
AM_CONDITIONAL([HAVE_CHECK], [test "$have_check" = yes])
])
