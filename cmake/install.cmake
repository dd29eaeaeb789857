# What `make install` leaves: libraries, headers, facet.pc, CMake packages, programs, and what a user reads.
if(SKBUILD) # pyproject.toml: the library beside the Python package, and nothing else
  install(TARGETS facet LIBRARY DESTINATION facet COMPONENT python PUBLIC_HEADER DESTINATION facet COMPONENT headers)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/facet)
install(TARGETS facet EXPORT facet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT facet NAMESPACE facet:: FILE facetConfig.cmake DESTINATION ${package_dir})
write_basic_package_version_file(facetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/facetConfigVersion.cmake DESTINATION ${package_dir})

# facet.pc finds the prefix from where it lies, so that the installed tree may be moved. Programs that are linked by it
# find the library at run time: outside of /usr the system does not look for it (in /usr/local not before ldconfig).
set(FACET_PC_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(FACET_PC_RPATH "")
endif()
file(RELATIVE_PATH FACET_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/facet.pc.in facet.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/facet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET facet_program)
  install(TARGETS facet_program DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET facet_dist)
  install(TARGETS facet_dist EXPORT facet_dist LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # A package of its own, since it finds MPI for its users; facet_dist.pc has the flags of the MPI it was built with.
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/facet_dist)
  install(EXPORT facet_dist NAMESPACE facet:: FILE facet_distTargets.cmake DESTINATION ${package_dir})
  configure_file(cmake/facet_distConfig.cmake.in facet_distConfig.cmake COPYONLY)
  configure_file(${CMAKE_CURRENT_BINARY_DIR}/facetConfigVersion.cmake facet_distConfigVersion.cmake COPYONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/facet_distConfig.cmake
          ${CMAKE_CURRENT_BINARY_DIR}/facet_distConfigVersion.cmake DESTINATION ${package_dir})
  list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE FACET_PC_MPI_CFLAGS)
  string(REPLACE ";" " " FACET_PC_MPI_CFLAGS "${FACET_PC_MPI_CFLAGS}")
  string(REPLACE ";" " " FACET_PC_MPI_LIBS "${MPI_C_LIBRARIES}")
  configure_file(cmake/facet_dist.pc.in facet_dist.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/facet_dist.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(TARGET facet_mpi_program)
  install(TARGETS facet_mpi_program DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(PROGRAMS tools/view.py DESTINATION ${CMAKE_INSTALL_DATADIR}/facet OPTIONAL)
install(FILES tools/vtu.py tools/cells.py tools/letters.py tools/whole.py DESTINATION ${CMAKE_INSTALL_DATADIR}/facet
        OPTIONAL)
if(EXISTS ${PROJECT_SOURCE_DIR}/examples)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/facet)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
