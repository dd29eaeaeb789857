# Finds the commit of a source tree and writes it as the value of facet_commit(). A commit changes without CMake being
# told, therefore every build runs this script; it leaves a file alone that already says the same.
#
#     cmake -DSOURCE=DIR -DGIVEN=COMMIT -DTEMPLATE=FILE -DOUTPUT=FILE -P commit.cmake
#
# GIVEN, if it is not empty, is taken as it is. Otherwise git says it, if the tree has .git: a folder, or a file in a
# worktree or submodule. Without .git nobody asks git, which would answer for a project around the tree. Two files may
# know then: git archive writes the commit into cmake/commit.txt, and a source distribution of the Python package, which
# has PKG-INFO, brings cmake/commit-of-sdist.txt.
set(commit "${GIVEN}")
if(commit STREQUAL "" AND EXISTS "${SOURCE}/.git")
  foreach(variable DIR WORK_TREE INDEX_FILE COMMON_DIR OBJECT_DIRECTORY NAMESPACE) # a hook of git sets them
    unset(ENV{GIT_${variable}})
  endforeach()
  find_program(GIT git)
  if(GIT) # --git-dir also keeps git from refusing a tree that belongs to another user
    execute_process(COMMAND "${GIT}" --no-optional-locks "--git-dir=${SOURCE}/.git" "--work-tree=${SOURCE}"
                            describe --always --dirty "--exclude=*"
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
elseif(commit STREQUAL "")
  set(files "${SOURCE}/cmake/commit.txt")
  if(EXISTS "${SOURCE}/PKG-INFO")
    list(APPEND files "${SOURCE}/cmake/commit-of-sdist.txt")
  endif()
  foreach(file IN LISTS files)
    if(NOT commit AND EXISTS "${file}")
      file(STRINGS "${file}" commit LIMIT_COUNT 1 REGEX "^[0-9a-f]+(-dirty)?$")
    endif()
  endforeach()
endif()
if(NOT commit MATCHES "^[A-Za-z0-9._+-]+$")
  set(commit unknown)
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
