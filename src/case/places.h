/* Messages about input get the place in the case file that they speak of. */
#ifndef FACET_CASE_PLACES_H
#define FACET_CASE_PLACES_H

#include "case/case.h"

/* Puts the place in front of the message; the case file alone for what came from --set or a default. */
facet_status case_at_place(facet_status status, const struct case_file *file, struct case_place place);

/* Puts the case file in front of every line of the message, with the place of the groups it names. */
facet_status case_in_file(facet_status status, const struct case_file *file);

/* The lines of two messages, each with its place in front, in the order of their places; of lines about one
 * place those of the first message alone. Answers with FACET_ERROR_INPUT. */
facet_status case_join_messages(const char *one, const char *other);

#endif
