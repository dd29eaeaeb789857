# The libraries facet stands on. facet_libraries links them shared; facet_static_libraries (with FACET_STATIC) takes
# the archives, so that the program runs where none of them is installed.
find_package(PkgConfig QUIET) # for hints only

# ------------------------------------------------------------------------------------------ required

set(missing "") # all of it is named at once
macro(facet_require name why)
  if(NOT ${why} STREQUAL "")
    string(APPEND missing "\n  ${name}: ${${why}}")
  endif()
endmacro()

facet_look(YAML PACKAGE libyaml-dev HEADER yaml.h LIBRARY yaml CONFIG yaml-0.1
           CODE "int main(void) { return yaml_get_version_string() == 0; }")
facet_require(libyaml YAML_WHY)

set(FACET_SCIPY_OPENBLAS "" CACHE PATH "for wheels: the directory of the Python package scipy_openblas32")
if(FACET_SCIPY_OPENBLAS)
  if(FACET_PROGRAM OR FACET_TESTS)
    message(FATAL_ERROR "FACET_SCIPY_OPENBLAS is for the library alone: -DFACET_PROGRAM=OFF -DFACET_TESTS=OFF")
  endif()
  # Its symbols have a prefix, so that no other BLAS of the process is meant: a header gives ours the same names.
  set(LAPACKE_INCLUDE ${FACET_SCIPY_OPENBLAS}/include)
  set(OPENBLAS_INCLUDE "")
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
  facet_look(OPENBLAS PACKAGE libopenblas-dev HEADER cblas.h LIBRARY openblas CONFIG openblas FOLDERS openblas
             CODE "int main(void) { double x = 0; return (int)cblas_ddot(1, &x, 1, &x, 1); }")
  facet_require(OpenBLAS OPENBLAS_WHY)
  if(OPENBLAS_WHY STREQUAL "")
    facet_look(LAPACKE PACKAGE liblapacke-dev HEADER lapacke.h LIBRARY lapacke WITH ${OPENBLAS_LIBRARY} FOLDERS openblas
               CODE "int main(void) { double a = 1; return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', 1, &a, 1); }")
  else()
    set(LAPACKE_WHY "it was not looked for without a BLAS (liblapacke-dev)")
  endif()
  facet_require(LAPACKE LAPACKE_WHY)
endif()
if(missing)
  message(FATAL_ERROR "facet cannot be built without these libraries:${missing}\n"
          "On Debian tools/install-packages.sh installs them.")
endif()

# ------------------------------------------------------------------------------------------ optional

set(why "")
if(FACET_CHOLMOD)
  facet_look(CHOLMOD PACKAGE libsuitesparse-dev HEADER cholmod.h LIBRARY cholmod FOLDERS suitesparse
             CODE "int main(void) { cholmod_common c; return !cholmod_start(&c); }")
  set(why "${CHOLMOD_WHY}")
endif()
facet_decide(FACET_CHOLMOD CHOLMOD "${why}" "direct solves use LAPACK")

set(why "")
if(FACET_ZLIB)
  facet_look(ZLIB PACKAGE zlib1g-dev HEADER zlib.h LIBRARY z CONFIG zlib
             CODE "int main(void) { return zlibVersion() == 0; }")
  set(why "${ZLIB_WHY}")
endif()
facet_decide(FACET_ZLIB zlib "${why}" "VTU files are not compressed")

set(why "")
if(FACET_OPENMP)
  facet_try(why FLAGS -fopenmp CODE "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }")
  if(why STREQUAL "")
    find_package(OpenMP QUIET COMPONENTS C)
    if(NOT OpenMP_C_FOUND)
      set(why "CMake does not know the flags of ${CMAKE_C_COMPILER_ID}")
    endif()
  elseif(CMAKE_C_COMPILER_ID MATCHES Clang)
    string(APPEND why " (libomp-dev)")
  endif()
endif()
facet_decide(FACET_OPENMP OpenMP "${why}" "everything runs in one thread")

# ------------------------------------------------------------------------------------------ how they are used

# Headers and OpenMP's compiler flag, for both ways of linking.
add_library(facet_library_headers INTERFACE)
target_include_directories(facet_library_headers SYSTEM INTERFACE ${OPENBLAS_INCLUDE} ${LAPACKE_INCLUDE}
                           ${YAML_INCLUDE})
add_library(facet_libraries INTERFACE)
target_link_libraries(facet_libraries INTERFACE facet_library_headers ${YAML_LIBRARY} ${LAPACKE_LIBRARY}
                      ${OPENBLAS_LIBRARY} m)
foreach(name CHOLMOD ZLIB)
  if(FACET_${name}_USED)
    target_include_directories(facet_library_headers SYSTEM INTERFACE ${${name}_INCLUDE})
    target_link_libraries(facet_libraries INTERFACE ${${name}_LIBRARY})
  endif()
endforeach()
find_package(Threads REQUIRED)
if(FACET_OPENMP_USED)
  target_compile_options(facet_library_headers INTERFACE $<$<COMPILE_LANGUAGE:C>:${OpenMP_C_FLAGS}>)
  target_link_libraries(facet_libraries INTERFACE OpenMP::OpenMP_C)
else() # an omp.h of one thread; what only a pragma uses is unused here
  target_include_directories(facet_library_headers BEFORE INTERFACE ${PROJECT_SOURCE_DIR}/src/base/serial)
  target_compile_options(facet_library_headers INTERFACE
                         "$<$<COMPILE_LANGUAGE:C>:-fopenmp-simd;-Wno-unknown-pragmas;-Wno-unused;-Wno-unused-parameter>")
endif()
target_link_libraries(facet_libraries INTERFACE Threads::Threads)

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
              "tools/install-packages.sh program static installs what Debian has, and FACET_STATIC=OFF does without")
    endif()
    set(FACET_ARCHIVE_${name} ${path} CACHE FILEPATH "" FORCE)
  endif()
  set(archives ${archives} ${FACET_ARCHIVE_${name}} PARENT_SCOPE)
endfunction()

if(FACET_CHOLMOD_USED)
  foreach(name cholmod amd camd colamd ccolamd suitesparseconfig)
    facet_archive(${name})
  endforeach()
  # cholmod's orderings call METIS, of which Debian has no archive: the shared one travels beside the program.
  find_library(METIS_LIBRARY NAMES libmetis.so.5 metis REQUIRED)
  list(APPEND archives ${METIS_LIBRARY})
endif()
foreach(name lapacke openblas gfortran yaml)
  facet_archive(${name})
endforeach()
if(FACET_ZLIB_USED)
  facet_archive(z)
endif()
if(FACET_OPENMP_USED)
  facet_archive(gomp)
endif()
find_library(FACET_ARCHIVE_quadmath libquadmath.a PATHS ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES}) # where gfortran has it
if(FACET_ARCHIVE_quadmath)
  list(APPEND archives ${FACET_ARCHIVE_quadmath})
endif()

add_library(facet_static_libraries INTERFACE)
# The library asks for openblas_set_num_threads weakly, and a weak name takes nothing out of an archive.
target_link_options(facet_static_libraries INTERFACE LINKER:-u,openblas_set_num_threads -static-libgcc)
target_link_libraries(facet_static_libraries INTERFACE facet_library_headers ${archives} Threads::Threads
                      ${CMAKE_DL_LIBS} m)

function(facet_carry_metis program)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/facet"
                        BUILD_WITH_INSTALL_RPATH ON)
  if(FACET_CHOLMOD_USED)
    get_filename_component(metis ${METIS_LIBRARY} REALPATH)
    add_custom_command(TARGET ${program} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy ${metis}
                       $<TARGET_FILE_DIR:${program}>/libmetis.so.5 VERBATIM)
    install(FILES ${metis} DESTINATION ${CMAKE_INSTALL_LIBDIR}/facet RENAME libmetis.so.5)
  endif()
endfunction()
