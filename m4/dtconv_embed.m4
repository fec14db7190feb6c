# SPDX-License-Identifier: BSD-3-Clause
# For the configure.ac of a project that carries libdtconv in a folder of its own; doc/embedding.md
# has the whole example. Read it with m4_include; it needs nothing else of libdtconv's m4 folder.

# DTCONV_SETUP_EMBEDDED(FOLDER)
# Has libdtconv's tree in FOLDER (relative to configure.ac, written out) configured as a part of this
# project, and tells this project's makefiles how to use it:
#   DTCONV_EMBEDDED_CPPFLAGS  for whatever includes <dtconv/dtconv.h>
#   DTCONV_EMBEDDED_LIBS      for the shared object or program that uses it, and what it depends on
# FOLDER also has to stand in SUBDIRS, before the folder that uses it.
AC_DEFUN([DTCONV_SETUP_EMBEDDED], [
AC_CONFIG_SUBDIRS([$1])
DTCONV_EMBEDDED_CPPFLAGS='-DDTCONV_EMBEDDED -I$(top_builddir)/$1/include -I$(top_srcdir)/$1/include'
DTCONV_EMBEDDED_LIBS='$(top_builddir)/$1/libdtconv_embedded.la'
AC_SUBST([DTCONV_EMBEDDED_CPPFLAGS])
AC_SUBST([DTCONV_EMBEDDED_LIBS])
])
