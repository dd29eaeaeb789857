# Tests under the address and undefined-behaviour sanitizers, in every run: the rooms that handle what users give
# (texts, files, meshes, data, options) and every allocation are compiled once more with them and linked with the rest of
# the library as it is. `make debug` has sanitizers in everything.
if(facet_sanitizers)
  return()
endif()
set(rooms base device expr mesh problem io case api)
# Chosen by the lines of these rooms that a test reaches and the ones before it do not, per second (docs/testing.md).
set(sanitized test_api_case test_api test_api_mesh test_api_system test_gmsh test_expr_text test_case test_solid_meshes
    test_io random_api test_base test_mesh test_field test_run test_expr_grid test_expr test_api_fields test_faces
    test_api_faults corpus_gmsh corpus_case corpus_expr)

set(sources "")
foreach(room ${rooms})
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
  list(APPEND sources ${files})
endforeach()
string(REPLACE ";" "|" rooms "${rooms}")
add_library(sanitizers INTERFACE)
target_compile_options(sanitizers INTERFACE -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined
                       -fno-sanitize-recover=undefined)
if(CMAKE_C_COMPILER_ID STREQUAL GNU) # these two are guesses, and instrumented code leads gcc to wrong ones
  target_compile_options(sanitizers INTERFACE -Wno-format-truncation -Wno-maybe-uninitialized)
endif()
target_link_options(sanitizers INTERFACE -fsanitize=address,undefined)

add_library(sanitized_rooms OBJECT ${sources})
target_link_libraries(sanitized_rooms PRIVATE facet_settings facet_libraries sanitizers)
add_library(facet_sanitized STATIC $<TARGET_OBJECTS:sanitized_rooms> $<TARGET_OBJECTS:facet_commit> ${facet_kernel_objects}
            "$<FILTER:$<TARGET_OBJECTS:facet_objects>,EXCLUDE,/src/(${rooms})/>")
target_link_libraries(facet_sanitized PUBLIC facet_settings)

foreach(name ${sanitized})
  set(files ${source_${name}})
  set(arguments "")
  if(name STREQUAL random_api)
    set(files fuzz/fuzz_api.c fuzz/random.c)
    set(arguments 1 200) # seed and sequences
  elseif(name MATCHES "^corpus_(.*)")
    set(files fuzz/fuzz_${CMAKE_MATCH_1}.c fuzz/replay.c)
    set(arguments tests/fuzz/corpus/${CMAKE_MATCH_1})
  endif()
  add_executable(sanitized_${name} ${files})
  target_include_directories(sanitized_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(sanitized_${name} SYSTEM PRIVATE ${CMOCKA_INCLUDE})
  target_link_libraries(sanitized_${name} PRIVATE sanitizers facet_sanitized facet_libraries ${CMOCKA_LIBRARY})
  list(APPEND sanitized_tests sanitized_${name})
  facet_test(sanitized_${name} ${PROJECT_SOURCE_DIR} sanitized_${name} ${arguments})
endforeach()
# What they find is there with one thread too.
set_tests_properties(${sanitized_tests} PROPERTIES ENVIRONMENT "${environment};OMP_NUM_THREADS=1")

# The vector kernels, of the best set that the processor has, against the plain ones. They are compiled where
# test_slow_sanitized_kernels asks for it: two minutes of a processor, with few sizes of their own (FACET_FEW_SIZES).
if(FACET_SETS)
  list(GET FACET_SETS 0 set)
  add_library(sanitized_kernels OBJECT EXCLUDE_FROM_ALL ${FACET_SIMD_SOURCES})
  facet_compile_for(${set} sanitized_kernels)
  target_link_libraries(sanitized_kernels PRIVATE sanitizers)
  target_compile_definitions(sanitized_kernels PRIVATE FACET_FEW_SIZES)
  add_library(sanitized_choose OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/kernels/choose.c)
  target_link_libraries(sanitized_choose PRIVATE facet_settings facet_libraries)
  target_compile_definitions(sanitized_choose PRIVATE FACET_SET_${set})
  add_executable(sanitized_test_device EXCLUDE_FROM_ALL ${source_test_device})
  target_include_directories(sanitized_test_device PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(sanitized_test_device SYSTEM PRIVATE ${CMOCKA_INCLUDE})
  target_sources(sanitized_test_device PRIVATE $<TARGET_OBJECTS:sanitized_kernels> $<TARGET_OBJECTS:sanitized_choose>
                 $<TARGET_OBJECTS:sanitized_rooms> $<TARGET_OBJECTS:facet_commit>
                 "$<FILTER:$<TARGET_OBJECTS:facet_objects>,EXCLUDE,/src/(${rooms})/>")
  target_link_libraries(sanitized_test_device PRIVATE sanitizers facet_settings facet_libraries ${CMOCKA_LIBRARY})
  facet_test(test_slow_sanitized_kernels ${PROJECT_SOURCE_DIR} sh -c
             "'${CMAKE_COMMAND}' --build '${PROJECT_BINARY_DIR}' --target sanitized_test_device && \
'$<TARGET_FILE_DIR:sanitized_test_base>/sanitized_test_device'")
endif()
