# How a library is looked for: header, library, and a trial program of our own that is compiled and linked with them.
# What is optional never ends a configuration (docs/dependencies.md): it is AUTO, ON or OFF. What is half there is
# named in one line and left out; ON makes that line an error.

# The first line of a compiler's output that tells what is wrong, short enough to be read; not its last one, which is
# "error: ld returned 1 exit status".
function(facet_first_error text result)
  string(REPLACE ";" "," text "${text}")
  string(REGEX MATCH "[^\n]*(error: [^l]|undefined reference|cannot find | not found|fatal|attempted)[^\n]*" line "${text}")
  if(line STREQUAL "")
    string(STRIP "${text}" line)
    string(REGEX REPLACE "\n.*" "" line "${line}")
  endif()
  string(REGEX REPLACE "^.*/CMakeFiles/trial/[^ ]*: " "" line "${line}") # where our own few lines lie
  string(SUBSTRING "${line}" 0 200 line)
  string(STRIP "${line}" line)
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Runs a program: facet_run(RESULT program argument...). RESULT is "" where it ends with 0, and otherwise what it says.
function(facet_run result)
  execute_process(COMMAND ${ARGN} TIMEOUT 60 RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0)
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  facet_first_error("${output}" line)
  if(line STREQUAL "")
    set(line "it says nothing and ends with '${status}'")
  endif()
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Compiles and links a program of these lines: facet_try(RESULT CODE "lines" [INCLUDES dir...] [LIBRARIES item...]
# [FLAGS flag...]). RESULT is "" where it works, and otherwise the first error. A success is remembered in the cache as
# long as it is asked for with the same words.
function(facet_try result)
  cmake_parse_arguments(PARSE_ARGV 1 try "" "CODE" "INCLUDES;LIBRARIES;FLAGS")
  string(SHA1 words "${try_CODE}|${try_INCLUDES}|${try_LIBRARIES}|${try_FLAGS}|${CMAKE_C_COMPILER}|${CMAKE_C_FLAGS}")
  set(${result} "" PARENT_SCOPE)
  if(FACET_TRIED_${words})
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/trial)
  file(WRITE ${folder}/${words}.c "${try_CODE}\n")
  try_compile(FACET_TRIED_${words} ${folder} ${folder}/${words}.c CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${try_INCLUDES}"
              COMPILE_DEFINITIONS -Werror=implicit-function-declaration ${try_FLAGS} LINK_OPTIONS ${try_FLAGS} LINK_LIBRARIES ${try_LIBRARIES}
              OUTPUT_VARIABLE output)
  if(FACET_TRIED_${words})
    set(FACET_TRIED_${words} ON CACHE INTERNAL "a trial program that links")
    return()
  endif()
  unset(FACET_TRIED_${words} CACHE)
  facet_first_error("${output}" line)
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Looks for a library: facet_look(PREFIX PACKAGE debian-package HEADER file LIBRARY name CODE "lines" [FOLDERS suffix...]
# [CONFIG pkg-config-name] [BEFORE "#include lines that the header wants"] [WITH library...]). Sets PREFIX_INCLUDE, PREFIX_LIBRARY, and PREFIX_WHY: "" where the library can be used.
function(facet_look prefix)
  cmake_parse_arguments(PARSE_ARGV 1 look "" "PACKAGE;HEADER;LIBRARY;CODE;CONFIG;BEFORE" "FOLDERS;WITH")
  foreach(kind INCLUDE LIBRARY) # what was there the last time may be gone
    if(${prefix}_${kind} AND NOT EXISTS "${${prefix}_${kind}}")
      unset(${prefix}_${kind} CACHE)
    endif()
  endforeach()
  if(look_CONFIG AND PKG_CONFIG_FOUND) # a hint where to look, and no more
    pkg_check_modules(${prefix}_HINT QUIET ${look_CONFIG})
  endif()
  find_path(${prefix}_INCLUDE ${look_HEADER} HINTS ${${prefix}_HINT_INCLUDE_DIRS} PATH_SUFFIXES ${look_FOLDERS})
  find_library(${prefix}_LIBRARY ${look_LIBRARY} HINTS ${${prefix}_HINT_LIBRARY_DIRS})
  mark_as_advanced(${prefix}_INCLUDE ${prefix}_LIBRARY)
  set(why "")
  if(NOT ${prefix}_INCLUDE AND NOT ${prefix}_LIBRARY)
    set(why "it was not found (${look_PACKAGE})")
  elseif(NOT ${prefix}_INCLUDE)
    set(why "${${prefix}_LIBRARY} is there, but its header ${look_HEADER} is not (${look_PACKAGE})")
  elseif(NOT ${prefix}_LIBRARY)
    set(why "${${prefix}_INCLUDE}/${look_HEADER} is there, but its library is not (${look_PACKAGE})")
  else()
    facet_try(error CODE "${look_BEFORE}#include <${look_HEADER}>\n${look_CODE}" INCLUDES ${${prefix}_INCLUDE}
              LIBRARIES ${${prefix}_LIBRARY} ${look_WITH} m)
    if(NOT error STREQUAL "")
      set(why "a trial program with ${${prefix}_INCLUDE}/${look_HEADER} and ${${prefix}_LIBRARY} fails: ${error}")
    endif()
  endif()
  if(NOT why STREQUAL "") # the next configuration looks again
    unset(${prefix}_INCLUDE CACHE)
    unset(${prefix}_LIBRARY CACHE)
  endif()
  set(${prefix}_WHY "${why}" PARENT_SCOPE)
endfunction()

# Holds an option to AUTO, ON and OFF, however they are written.
function(facet_check_option option)
  string(TOUPPER "${${option}}" value)
  if(value MATCHES "^(1|YES|TRUE|Y)$")
    set(value ON)
  elseif(value MATCHES "^(0|NO|FALSE|N)$")
    set(value OFF)
  elseif(NOT value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${option}=${${option}}: it is AUTO, ON or OFF")
  endif()
  set(${option} ${value} PARENT_SCOPE)
endfunction()

# Whether an option asks for what is not there. facet_decide(OPTION "its name" "why it cannot be used, or nothing" "what
# is done without it") sets OPTION_USED, and ends the configuration only where the option is ON.
function(facet_decide option name why without)
  set(${option}_USED OFF PARENT_SCOPE)
  if(NOT ${option})
    return()
  elseif(why STREQUAL "")
    set(${option}_USED ON PARENT_SCOPE)
  elseif(${option} STREQUAL AUTO)
    message(STATUS "${name} is not used: ${why}; ${without}")
  else()
    message(FATAL_ERROR "${option}=${${option}}, but ${name} cannot be used: ${why}")
  endif()
endfunction()
