/* The direct method in plain C, for comparison: the same tree of sums, generator and ziggurat as spn/sim/direct, on nets of single or
   infinite servers without inhibitors, guards or immediates (a capacity is a bound on a place). Measured: one place, one transition.

   The net is a block of numbers on stdin: places, transitions, watched place, watched transition, firings; the initial marking; then per
   transition rate, most clocks (0: no limit), inputs, bounds, changes, affected, and their items: input places (one token a clock), bounds
   (place, most), changes (place, by), affected transitions. The ziggurat's tables come first: tail, 256 widths, 256 accepts, 256 heights.
   Prints the mean of the place, firings per second of the transition, and firings per CPU second. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stream.h"

typedef struct {
    double rate;
    long servers, inputs, bounds, changes, affected;
    long *input, *bound, *change, *affects;
} Transition;

static inline double rate_of(const Transition *t, const long *m) {
    long n = t->servers ? t->servers : (t->inputs ? INT64_MAX : 1);
    for (long i = 0; i < t->inputs; i++)
        if (m[t->input[i]] < n) n = m[t->input[i]];
    for (long i = 0; i < t->bounds; i++)
        if (m[t->bound[2 * i]] > t->bound[2 * i + 1]) return 0;
    return n * t->rate;
}

static void put(double *tree, long node, double rate) {
    if (rate == tree[node]) return;
    tree[node] = rate;
    while (node >>= 1) tree[node] = tree[2 * node] + tree[2 * node + 1];
}

static double real(void) {
    double x;
    if (scanf("%lf", &x) != 1) exit(2);
    return x;
}

static long whole(void) { return (long)real(); }

static long *items(long count) {
    long *found = malloc((count + 1) * sizeof *found);
    for (long i = 0; i < count; i++) found[i] = whole();
    return found;
}

int main(void) {
    etail = real();
    for (int i = 0; i < 256; i++) ew[i] = real();
    for (int i = 0; i < 256; i++) ea[i] = whole();
    for (int i = 0; i < 256; i++) eh[i] = real();
    long places = whole(), count = whole(), place = whole(), watched = whole(), firings = whole();
    long *m = items(places), leaves = 1, fired = 0;
    Transition *net = calloc(count, sizeof *net);
    for (long i = 0; i < count; i++) {
        Transition *t = &net[i];
        t->rate = real(), t->servers = whole();
        t->inputs = whole(), t->bounds = whole(), t->changes = whole(), t->affected = whole();
        t->input = items(t->inputs), t->bound = items(2 * t->bounds), t->change = items(2 * t->changes), t->affects = items(t->affected);
    }
    while (leaves < count) leaves *= 2;
    double *tree = calloc(2 * leaves + 1, sizeof *tree), now = 0, since = 0, integral = 0;
    long value = m[place];
    for (long i = 0; i < count; i++) put(tree, leaves + i, rate_of(&net[i], m));
    clock_t began = clock();
    for (long k = 0; k < firings; k++) {
        now += exponential() / tree[1];
        double r = uniform() * tree[1];
        long node = 1;
        while (node < leaves) {
            node *= 2;
            double left = tree[node];
            long right = (r >= left) & (tree[node + 1] > 0);
            r -= right ? left : 0;
            node += right;
        }
        const Transition *t = &net[node - leaves];
        for (long i = 0; i < t->changes; i++) m[t->change[2 * i]] += t->change[2 * i + 1];
        fired += t == &net[watched];
        for (long i = 0; i < t->affected; i++) put(tree, leaves + t->affects[i], rate_of(&net[t->affects[i]], m));
        if (m[place] != value) integral += value * (now - since), since = now, value = m[place];
    }
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    integral += value * (now - since);
    printf("%.17g %.17g %.17g\n", integral / now, fired / now, firings / seconds);
    return 0;
}
