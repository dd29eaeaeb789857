# What `make install` leaves: library, header, facet.pc, CMake package, program, and what a user reads.
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

# facet.pc finds the prefix from where it lies, so that the installed tree may be moved.
file(RELATIVE_PATH FACET_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/facet.pc.in facet.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/facet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET facet_program)
  install(TARGETS facet_program DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET facet_dist)
  install(TARGETS facet_dist LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(TARGET facet_mpi_program)
  install(TARGETS facet_mpi_program DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(PROGRAMS tools/view.py DESTINATION ${CMAKE_INSTALL_DATADIR}/facet OPTIONAL)
install(FILES tools/whole.py DESTINATION ${CMAKE_INSTALL_DATADIR}/facet OPTIONAL)
if(EXISTS ${PROJECT_SOURCE_DIR}/examples)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/facet)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
