/* Quadrature rules that papers used: their tables can only be repeated with the same points. See poly/rule.h
 * for what a rule is, and for those the library uses. */
#ifndef FACET_PAPERS_RULES_H
#define FACET_PAPERS_RULES_H

#include "poly/rule.h"

/* king2014's rule on a triangle: n_lobatto Gauss-Lobatto points along the base times n_radau Gauss-Radau(1,0)
 * points (the base included) towards the collapsed vertex, the third one. */
facet_status rule_create_collapsed_lobatto_radau(int n_lobatto, int n_radau, struct rule *rule);
/* The rule of Grundmann and Moeller with index s >= 0 on a triangle or tet, exact to degree 2s + 1. Weights
 * of both signs: for repeating what a paper measured, not for matrices. */
facet_status rule_create_grundmann_moeller(enum shape shape, int s, struct rule *rule);
/* The symmetric rules of few points, all inside and of positive weight: 6 points of degree 4 on a triangle, 4
 * points of degree 2 and 14 points of degree 5 on a tet; FACET_ERROR_INPUT for another number. */
facet_status rule_create_symmetric(enum shape shape, int n, struct rule *rule);

#endif
