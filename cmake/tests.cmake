# Whether the tests can be built: with cmocka, bash and Python, and with the benches, whose algorithms are tested too.
set(why "")
if(FACET_TESTS)
  facet_look(CMOCKA PACKAGE libcmocka-dev HEADER cmocka.h LIBRARY cmocka CONFIG cmocka
             BEFORE "#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n"
             CODE "int main(void) { assert_true(1); return 0; }")
  find_program(FACET_BASH bash)
  find_program(FACET_PYTHON python3 HINTS /usr/bin) # the distribution's: it is the one that has VTK
  if(NOT TARGET facet_program OR NOT TARGET facet_papers)
    set(why "the program and its benches are tested too (FACET_PROGRAM=ON, FACET_BENCH=ON)")
  elseif(NOT CMOCKA_WHY STREQUAL "")
    set(why "cmocka: ${CMOCKA_WHY}")
  elseif(NOT FACET_BASH OR NOT FACET_PYTHON)
    set(why "bash or python3 was not found")
  endif()
endif()
facet_decide(FACET_TESTS "the test suite" "${why}" "'make test' installs what it needs")
