# Many machines: libfacet_dist (facet_dist.h) and the program facet-mpi, which alone know MPI, PETSc and METIS.
if(NOT FACET_MPI OR NOT FACET_DIST_SOURCES OR SKBUILD OR FACET_STATIC)
  return()
endif()
set(missing "")
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
  list(APPEND missing "MPI (Debian: libopenmpi-dev)")
endif()
pkg_check_modules(PETSC QUIET IMPORTED_TARGET petsc)
if(NOT PETSC_FOUND)
  list(APPEND missing "PETSc (libpetsc-real-dev)")
endif()
find_path(METIS_INCLUDE metis.h)
find_library(METIS_LINK metis)
if(NOT METIS_INCLUDE OR NOT METIS_LINK)
  list(APPEND missing "METIS (libmetis-dev)")
endif()
if(missing)
  string(REPLACE ";" ", " missing "${missing}")
  if(FACET_MPI STREQUAL AUTO)
    message(STATUS "facet-mpi is not built: ${missing} was not found; 'make mpi' installs it")
    return()
  endif()
  message(FATAL_ERROR "FACET_MPI=${FACET_MPI} needs ${missing}: tools/install-packages.sh mpi installs it")
endif()

add_library(facet_mpi_libraries INTERFACE)
target_include_directories(facet_mpi_libraries SYSTEM INTERFACE ${MPI_C_INCLUDE_DIRS} ${PETSC_INCLUDE_DIRS}
                           ${METIS_INCLUDE})
target_link_libraries(facet_mpi_libraries INTERFACE MPI::MPI_C ${PETSC_LINK_LIBRARIES} ${METIS_LINK})

add_library(facet_dist_objects OBJECT ${FACET_DIST_SOURCES})
target_link_libraries(facet_dist_objects PRIVATE facet_settings facet_library_headers facet_mpi_libraries)

# One library with all of facet in it: it shares private symbols with what facet.h hides.
add_library(facet_dist SHARED $<TARGET_OBJECTS:facet_dist_objects> ${FACET_ALL_OBJECTS})
set_target_properties(facet_dist PROPERTIES PUBLIC_HEADER include/facet_dist.h VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(facet_dist PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(facet_dist PRIVATE facet_settings facet_libraries facet_mpi_libraries PUBLIC MPI::MPI_C)
target_link_options(facet_dist PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT facet_sanitizers)
  target_link_options(facet_dist PRIVATE LINKER:--no-undefined)
endif()

# The same objects with the private symbols in reach, for the program and the tests.
add_library(facet_dist_private STATIC $<TARGET_OBJECTS:facet_dist_objects>)
target_link_libraries(facet_dist_private PUBLIC facet_private facet_settings facet_mpi_libraries)

if(FACET_PROGRAM AND FACET_PROGRAM_SOURCES)
  file(GLOB FACET_MPI_PROGRAM_SOURCES CONFIGURE_DEPENDS app/mpi/*.c bench/mpi/*.c)
  list(APPEND FACET_MPI_PROGRAM_SOURCES bench/bench.c bench/ceiling.c bench/plot.c)
  foreach(name bench check info limits options program progress report solve view)
    list(APPEND FACET_MPI_PROGRAM_SOURCES app/${name}.c)
  endforeach()
  list(FILTER FACET_MPI_PROGRAM_SOURCES EXCLUDE REGEX app/mpi/main.c)
  add_library(facet_mpi_app OBJECT ${FACET_MPI_PROGRAM_SOURCES}) # for the program, and for tests/mpi/serve.c
  target_link_libraries(facet_mpi_app PRIVATE facet_dist_private facet_libraries)
  add_executable(facet_mpi_program app/mpi/main.c $<TARGET_OBJECTS:facet_mpi_app>)
  set_target_properties(facet_mpi_program PROPERTIES OUTPUT_NAME facet-mpi)
  target_link_libraries(facet_mpi_program PRIVATE facet_dist_private facet_libraries)
endif()
