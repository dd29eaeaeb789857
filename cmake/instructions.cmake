# The vector kernels of the host, once for each instruction set in FACET_SETS; kernels/choose.c takes the best one when
# the program runs, and the plain ones of ref where the processor has none of them. Sets facet_kernel_objects.
set(known x86_64_v4 x86_64_v3 x86_64_v1) # the best first

# The best set that the processor of this machine has.
function(facet_set_of_host result)
  file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/trial/host.c "#include <stdio.h>
#define FACET_SET_x86_64_v4
#define FACET_SET_x86_64_v3
#define FACET_SET_x86_64_v1
#include \"kernels/choose.c\"
const struct kernels *kernels_x86_64_v4(void) { return 0; }
const struct kernels *kernels_x86_64_v3(void) { return 0; }
const struct kernels *kernels_x86_64_v1(void) { return 0; }
int main(void) { puts(kernels_instructions(0)); return 0; }
")
  try_run(ran compiled ${PROJECT_BINARY_DIR}/CMakeFiles/trial ${PROJECT_BINARY_DIR}/CMakeFiles/trial/host.c
          CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR};${PROJECT_SOURCE_DIR}/include;${PROJECT_SOURCE_DIR}/src"
          LINK_LIBRARIES Threads::Threads RUN_OUTPUT_VARIABLE name COMPILE_OUTPUT_VARIABLE output)
  if(NOT compiled OR NOT ran EQUAL 0)
    message(FATAL_ERROR "FACET_INSTRUCTIONS=host: the processor could not be asked; name the sets instead\n${output}")
  endif()
  string(STRIP "${name}" name)
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# The names that users know, as parts of names in C.
set(FACET_SETS "")
if(FACET_NATIVE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  if(NOT FACET_INSTRUCTIONS STREQUAL none)
    set(FACET_SETS native)
  endif()
elseif(FACET_INSTRUCTIONS STREQUAL all)
  set(FACET_SETS ${known})
elseif(NOT FACET_INSTRUCTIONS STREQUAL none)
  set(names ${FACET_INSTRUCTIONS})
  if(names STREQUAL "")
    set(names "nothing")
  endif()
  if(names STREQUAL host)
    if(NOT FACET_HOST_INSTRUCTIONS)
      facet_set_of_host(names)
      set(FACET_HOST_INSTRUCTIONS ${names} CACHE INTERNAL "the best set of this machine")
    endif()
    set(names ${FACET_HOST_INSTRUCTIONS})
  endif()
  foreach(name ${names})
    string(REPLACE "x86-64-" "x86_64_" set ${name})
    string(REGEX REPLACE "^x86-64$" "x86_64_v1" set ${set})
    if(NOT set IN_LIST known)
      message(FATAL_ERROR "FACET_INSTRUCTIONS=${FACET_INSTRUCTIONS}: it is all, host or none alone, or a list of "
              "x86-64-v4, x86-64-v3 and x86-64; '${name}' is no such set")
    endif()
    list(APPEND FACET_SETS ${set})
  endforeach()
  list(REMOVE_DUPLICATES FACET_SETS)
endif()

# What the files of one set are compiled with.
function(facet_compile_for set target)
  target_link_libraries(${target} PRIVATE facet_settings facet_libraries)
  target_compile_definitions(${target} PRIVATE FACET_ISA=${set})
  if(set MATCHES "x86_64_v[34]")
    string(REPLACE "x86_64_" "x86-64-" march ${set})
    target_compile_options(${target} PRIVATE -march=${march})
  elseif(set STREQUAL x86_64_v1 AND CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -O1) # for processors of before 2013: not worth minutes of compiling
  endif()
endfunction()

file(GLOB FACET_SIMD_SOURCES CONFIGURE_DEPENDS kernels/simd/*.c)
set(facet_kernel_objects "")
set(defined "")
foreach(set ${FACET_SETS})
  add_library(facet_${set} OBJECT ${FACET_SIMD_SOURCES})
  facet_compile_for(${set} facet_${set})
  target_compile_options(facet_${set} PRIVATE ${facet_frames})
  list(APPEND facet_kernel_objects $<TARGET_OBJECTS:facet_${set}>)
  list(APPEND defined FACET_SET_${set})
endforeach()
add_library(facet_choose OBJECT kernels/choose.c) # apart, so that other sets compile nothing else anew
target_link_libraries(facet_choose PRIVATE facet_settings facet_libraries)
target_compile_definitions(facet_choose PRIVATE ${defined})
list(APPEND facet_kernel_objects $<TARGET_OBJECTS:facet_choose>)
