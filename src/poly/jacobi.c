/* Jacobi polynomials by their three-term recurrences. Inside the interval of oscillation the recurrence is
 * stable, and outside it the polynomial is the dominant solution, so that forward recursion is accurate for
 * every x and a, b > -1. */
#include "poly/jacobi.h"

#include <math.h>
#include <stddef.h>

long double jacobi_alpha(int n, long double a, long double b) {
    if (n == 0) return (b - a) / (a + b + 2);
    long double m = 2 * n + a + b;
    return (b - a) * (b + a) / (m * (m + 2));
}

/* root_n^2 = 4 n (n+a) (n+b) (n+a+b) / ((m^2 (m+1) (m-1)), m = 2n+a+b; for n = 1 a factor cancels, which
 * matters when a + b = -1. */
long double jacobi_root(int n, long double a, long double b) {
    long double m = 2 * n + a + b;
    if (n == 1) return 2 / m * sqrtl((1 + a) * (1 + b) / (m + 1));
    return 2 / m * sqrtl(n * (n + a) * (n + b) * (n + a + b) / ((m + 1) * (m - 1)));
}

/* lgammal_r, because lgammal writes the sign into a global variable that threads would share. */
long double jacobi_mass(long double a, long double b) {
    int sign;
    if (a == 0 && b == 0) return 2; /* the common case, and lgammal takes its time */
    return expl((a + b + 1) * logl(2.0L) + lgammal_r(a + 1, &sign) + lgammal_r(b + 1, &sign) -
                lgammal_r(a + b + 2, &sign));
}

void jacobi_orthonormal(int n, double a, double b, double x, double *values, double *derivatives) {
    values[0] = (double)(1 / sqrtl(jacobi_mass(a, b)));
    if (derivatives != NULL) derivatives[0] = 0.0;
    double root = 0.0;
    for (int i = 0; i < n; i++) {
        double next = (double)jacobi_root(i + 1, a, b), shifted = x - (double)jacobi_alpha(i, a, b);
        values[i + 1] = (shifted * values[i] - (i > 0 ? root * values[i - 1] : 0.0)) / next;
        if (derivatives != NULL)
            derivatives[i + 1] =
                (values[i] + shifted * derivatives[i] - (i > 0 ? root * derivatives[i - 1] : 0.0)) / next;
        root = next;
    }
}
