# The libraries facet stands on. facet_libraries links them shared; facet_static_libraries (with FACET_STATIC) takes
# the archives, so that the program runs where none of them is installed.
if(FACET_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS C)
else()
  find_package(Threads REQUIRED)
  # What only a pragma uses is unused here.
  set(OpenMP_C_FLAGS -fopenmp-simd -Wno-unknown-pragmas -Wno-unused -Wno-unused-parameter)
endif()
set(FACET_HAVE_ZLIB OFF)
if(FACET_ZLIB)
  find_package(ZLIB)
  set(FACET_HAVE_ZLIB ${ZLIB_FOUND})
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
set(FACET_SCIPY_OPENBLAS "" CACHE PATH "for wheels: the directory of the Python package scipy_openblas32")
if(FACET_SCIPY_OPENBLAS)
  if(FACET_PROGRAM OR FACET_TESTS)
    message(FATAL_ERROR "FACET_SCIPY_OPENBLAS is for the library alone: -DFACET_PROGRAM=OFF -DFACET_TESTS=OFF")
  endif()
  # Its symbols have a prefix, so that no other BLAS of the process is meant: a header gives ours the same names.
  set(LAPACKE_INCLUDE ${FACET_SCIPY_OPENBLAS}/include)
  set(LAPACKE_LIBRARY "")
  set(OPENBLAS_LIBRARY ${FACET_SCIPY_OPENBLAS}/lib/libscipy_openblas.so)
  set(prefixed "")
  foreach(header cblas lapacke)
    file(STRINGS ${LAPACKE_INCLUDE}/${header}.h lines REGEX "scipy_(cblas|LAPACKE|openblas)_[a-z0-9_]+ *\\(")
    foreach(line ${lines})
      string(REGEX MATCH "scipy_((cblas|LAPACKE|openblas)_[a-z0-9_]+) *\\(" found "${line}")
      string(APPEND prefixed "#define ${CMAKE_MATCH_1} scipy_${CMAKE_MATCH_1}\n")
    endforeach()
  endforeach()
  set(FACET_PREFIXED_NAMES ${PROJECT_BINARY_DIR}/scipy_openblas_names.h)
  file(CONFIGURE OUTPUT ${FACET_PREFIXED_NAMES} CONTENT "${prefixed}" @ONLY)
else()
  find_path(LAPACKE_INCLUDE lapacke.h REQUIRED)
  find_library(LAPACKE_LIBRARY lapacke REQUIRED)
  find_library(OPENBLAS_LIBRARY openblas REQUIRED)
endif()

set(FACET_HAVE_CHOLMOD OFF)
if(FACET_CHOLMOD)
  find_path(CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse)
  find_library(CHOLMOD_LIBRARY cholmod)
  if(CHOLMOD_INCLUDE AND CHOLMOD_LIBRARY)
    set(FACET_HAVE_CHOLMOD ON)
  else()
    message(STATUS "CHOLMOD was not found (Debian: libsuitesparse-dev): direct solves will use dense LAPACK")
  endif()
endif()

# Headers and OpenMP's compiler flag, for both.
add_library(facet_library_headers INTERFACE)
target_include_directories(facet_library_headers SYSTEM INTERFACE ${LAPACKE_INCLUDE} ${YAML_INCLUDE_DIRS}
                           ${ZLIB_INCLUDE_DIRS})
target_compile_options(facet_library_headers INTERFACE "$<$<COMPILE_LANGUAGE:C>:${OpenMP_C_FLAGS}>")
if(NOT FACET_OPENMP) # an omp.h of ours
  target_include_directories(facet_library_headers BEFORE INTERFACE ${PROJECT_SOURCE_DIR}/src/base/serial)
endif()
if(FACET_HAVE_CHOLMOD)
  target_include_directories(facet_library_headers SYSTEM INTERFACE ${CHOLMOD_INCLUDE})
endif()

add_library(facet_libraries INTERFACE)
target_link_libraries(facet_libraries INTERFACE facet_library_headers $<IF:$<BOOL:${FACET_OPENMP}>,OpenMP::OpenMP_C,Threads::Threads>
                      $<TARGET_NAME_IF_EXISTS:ZLIB::ZLIB> PkgConfig::YAML
                      ${LAPACKE_LIBRARY} ${OPENBLAS_LIBRARY} m)
if(FACET_HAVE_CHOLMOD)
  target_link_libraries(facet_libraries INTERFACE ${CHOLMOD_LIBRARY})
endif()

if(NOT FACET_STATIC)
  return()
endif()

# The archive of a library: where the linker looks, or among the compiler's own (libgomp, libgfortran).
set(archives "")
function(facet_archive name)
  find_library(FACET_ARCHIVE_${name} lib${name}.a)
  if(NOT FACET_ARCHIVE_${name})
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE path
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT IS_ABSOLUTE "${path}")
      message(FATAL_ERROR "FACET_STATIC needs lib${name}.a, which was not found: "
              "tools/install-packages.sh build static installs what Debian has, and FACET_STATIC=OFF does without")
    endif()
    set(FACET_ARCHIVE_${name} ${path} CACHE FILEPATH "" FORCE)
  endif()
  set(archives ${archives} ${FACET_ARCHIVE_${name}} PARENT_SCOPE)
endfunction()

if(FACET_HAVE_CHOLMOD)
  foreach(name cholmod amd camd colamd ccolamd suitesparseconfig)
    facet_archive(${name})
  endforeach()
  # cholmod's orderings call METIS, of which Debian has no archive: the shared one travels beside the program.
  find_library(METIS_LIBRARY NAMES libmetis.so.5 metis REQUIRED)
  list(APPEND archives ${METIS_LIBRARY})
endif()
foreach(name lapacke openblas gfortran yaml gomp)
  facet_archive(${name})
endforeach()
if(FACET_HAVE_ZLIB)
  facet_archive(z)
endif()
find_library(FACET_ARCHIVE_quadmath libquadmath.a PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES}) # where gfortran has it
if(FACET_ARCHIVE_quadmath)
  list(APPEND archives ${FACET_ARCHIVE_quadmath})
endif()

find_package(Threads REQUIRED)
add_library(facet_static_libraries INTERFACE)
# The library asks for openblas_set_num_threads weakly, and a weak name takes nothing out of an archive.
target_link_options(facet_static_libraries INTERFACE LINKER:-u,openblas_set_num_threads -static-libgcc)
target_link_libraries(facet_static_libraries INTERFACE facet_library_headers ${archives} Threads::Threads
                      ${CMAKE_DL_LIBS} m)

function(facet_carry_metis program)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/facet"
                        BUILD_WITH_INSTALL_RPATH ON)
  if(FACET_HAVE_CHOLMOD)
    get_filename_component(metis ${METIS_LIBRARY} REALPATH)
    add_custom_command(TARGET ${program} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy ${metis}
                       $<TARGET_FILE_DIR:${program}>/libmetis.so.5 VERBATIM)
    install(FILES ${metis} DESTINATION ${CMAKE_INSTALL_LIBDIR}/facet RENAME libmetis.so.5)
  endif()
endfunction()
