# SPDX-License-Identifier: BSD-3-Clause
# DTC_BASH_COMPLETION: where the completion of bash is installed, if it is.

AC_DEFUN([DTC_BASH_COMPLETION], [
AC_ARG_WITH([bash-completion-dir],
	[AS_HELP_STRING([--with-bash-completion-dir=DIR],
		[install the completion of bash there, or not at all: no
		 @<:@DATADIR/bash-completion/completions@:>@])],
	[], [with_bash_completion_dir=yes])
AS_CASE([$with_bash_completion_dir],
	[yes], [BASH_COMPLETION_DIR='${datadir}/bash-completion/completions'],
	[no], [BASH_COMPLETION_DIR=],
	[BASH_COMPLETION_DIR=$with_bash_completion_dir])
AC_SUBST([BASH_COMPLETION_DIR])
AM_CONDITIONAL([INSTALL_COMPLETION], [test -n "$BASH_COMPLETION_DIR"])
])
