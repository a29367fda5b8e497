/* The event queue in plain C, for comparison: the same generator, ziggurats and gamma draws, indexed heap with keys beside the ids, virtual
   time of links, lists of those that a crowded place alone may disable, and gates, as spn/sim/kernels.py. For nets of single clocks with one law
   out of four, restart, constant arcs, links shared equally, one at a time, and immediates of one priority. Measured: one place, one
   transition.

   stdin: the two ziggurats (tail, 256 widths, accepts, heights each); places, transitions, links, crowds, watched place, watched
   transition, firings; initial marking; capacity of each link; each crowd (number of members, members; its place or -1 where it has no
   gate, tokens that open it); then per transition: kind (0
   immediate, else the law: 1 exponential, 2 lognormal, 3 gamma, 4 constant), two parameters, link or -1, and six counted lists: inputs
   (place, tokens), bounds (place, most), changes (place, by), timed and immediate transitions to look at, crowds met; and its inputs at
   places that are not crowded, counted, if it is in a crowd.
   Prints the mean of the place, firings per second of the transition, and firings per CPU second. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stream.h"

typedef struct { long n, *at; } List;
typedef struct {
    int kind, timed;
    double a, b;
    long link, crowd, active;
    List inputs, bounds, changes, near, now, met, own;
} Transition;
typedef struct { double key; long id; } Item;
typedef struct { long n; Item *at; long *place; double *key; } Heap;
typedef struct { double capacity, attained, since, rate; Heap heap; } Link;
typedef struct { List members; long *place; int timed; long gate, needs, open, active; uint64_t *bits; } Crowd;

static double ntail, nw[256], nh[256];
static long na[256];

static inline double normal(void) {
    for (;;) {
        uint64_t drawn = bits() >> 2;
        double sign = 1.0 - 2.0 * (drawn & 1);
        long layer = (drawn >> 1) & 0xFF, steps = (long)(drawn >> 9);
        double x = steps * nw[layer];
        if (steps < na[layer]) return sign * x;
        if (layer == 0) {
            do x = exponential() / ntail;
            while (2 * exponential() <= x * x);
            return sign * (ntail + x);
        }
        if ((nh[layer - 1] - nh[layer]) * uniform() + nh[layer] < exp(-0.5 * x * x)) return sign * x;
    }
}

static double gamma_draw(double shape) {
    if (shape < 1) {
        double drawn = gamma_draw(shape + 1);
        return drawn * exp(-exponential() / shape);
    }
    if (shape == 1) return exponential();
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = 1 - uniform(), square = x * x;
        if (u < 1 - 0.0331 * (square * square) || log(u) < 0.5 * square + d * (1 - v + log(v))) return d * v;
    }
}

static inline double work(const Transition *t) {
    switch (t->kind) {
        case 1: return exponential() / t->a;
        case 2: return exp(t->a + t->b * normal());
        case 3: return gamma_draw(t->a) * t->b;
        default: return t->a;
    }
}

static inline int before(double x, long i, double y, long j) { return x != y ? x < y : i < j; }

static inline void put_at(Heap *h, long place, double key, long id) {
    h->at[place].key = key, h->at[place].id = id;
    h->place[id] = place;
}

static inline void settle(Heap *h, long place, long id) {
    double key = h->key[id];
    long begin = place;
    while (place > 0) {
        long parent = (place - 1) >> 1;
        if (!before(key, id, h->at[parent].key, h->at[parent].id)) break;
        put_at(h, place, h->at[parent].key, h->at[parent].id);
        place = parent;
    }
    if (place == begin)
        for (;;) {
            long child = 2 * place + 1;
            if (child >= h->n) break;
            if (child + 1 < h->n && before(h->at[child + 1].key, h->at[child + 1].id, h->at[child].key, h->at[child].id)) child++;
            if (!before(h->at[child].key, h->at[child].id, key, id)) break;
            put_at(h, place, h->at[child].key, h->at[child].id);
            place = child;
        }
    put_at(h, place, key, id);
}

static inline void put(Heap *h, long id, double key) {
    long place = h->place[id];
    h->key[id] = key;
    if (place < 0) place = h->n++;
    settle(h, place, id);
}

static inline void take(Heap *h, long id) {
    long place = h->place[id];
    if (place < 0) return;
    h->place[id] = -1;
    long last = --h->n;
    if (place < last) settle(h, place, h->at[last].id);
}

static Heap heap_of(long n) {
    Heap h = {0, malloc(n * sizeof *h.at), malloc(n * sizeof *h.place), malloc(n * sizeof *h.key)};
    for (long i = 0; i < n; i++) h.place[i] = -1;
    return h;
}

static double real(void) {
    double x;
    if (scanf("%lf", &x) != 1) exit(2);
    return x;
}

static long whole(void) { return (long)real(); }

static List list(long width) {
    List l;
    l.n = whole();
    l.at = malloc((l.n * width + 1) * sizeof *l.at);
    for (long i = 0; i < l.n * width; i++) l.at[i] = whole();
    return l;
}

static void ziggurat(double *tail, double *w, long *a, double *h) {
    *tail = real();
    for (int i = 0; i < 256; i++) w[i] = real();
    for (int i = 0; i < 256; i++) a[i] = whole();
    for (int i = 0; i < 256; i++) h[i] = real();
}

static Transition *net;
static Crowd *crowds;
static Link *links;
static Heap heap;
static long *m, transitions, enabled_n, words;
static uint64_t *enabled_bits, *dirty, *dirty_words;
static double now;

static inline int inputs_met(const List *inputs) {
    for (long i = 0; i < inputs->n; i++)
        if (m[inputs->at[2 * i]] < inputs->at[2 * i + 1]) return 0;
    return 1;
}

static inline int is_enabled(long k) {
    Transition *t = &net[k];
    if (t->crowd >= 0) {
        int active = inputs_met(&t->own);
        if (active != t->active) {
            Crowd *c = &crowds[t->crowd];
            t->active = active;
            if (active) {
                c->place[k] = c->members.n;
                c->members.at[c->members.n++] = k;
            } else {
                long last = c->members.at[--c->members.n];
                c->members.at[c->place[k]] = last;
                c->place[last] = c->place[k];
            }
        }
        if (!active) return 0;
    }
    if (!inputs_met(&t->inputs)) return 0;
    for (long i = 0; i < t->bounds.n; i++)
        if (m[t->bounds.at[2 * i]] > t->bounds.at[2 * i + 1]) return 0;
    return 1;
}

static void look_now(long k) {
    uint64_t bit = 1ull << (k & 63);
    Transition *t = &net[k];
    if (t->crowd >= 0 && crowds[t->crowd].gate >= 0) {
        Crowd *c = &crowds[t->crowd];
        int active = inputs_met(&t->own);
        if (active == t->active) return;
        t->active = active;
        c->active += 2 * active - 1;
        c->bits[k >> 6] ^= bit;
        if (c->open) enabled_n += 2 * active - 1, enabled_bits[k >> 6] ^= bit;
        return;
    }
    int is = is_enabled(k);
    if (((enabled_bits[k >> 6] & bit) != 0) != is) {
        enabled_bits[k >> 6] ^= bit;
        enabled_n += is ? 1 : -1;
    }
}

static inline void move_gate(Crowd *c) {
    long is_open = m[c->gate] >= c->needs;
    if (is_open == c->open) return;
    c->open = is_open;
    enabled_n += c->active * (2 * is_open - 1);
    long left = c->active;
    for (long w = 0; left > 0; w++) {
        enabled_bits[w] ^= c->bits[w];
        left -= __builtin_popcountll(c->bits[w]);
    }
}

static inline void pass_work(Link *l) {
    l->attained += l->rate * (now - l->since);
    l->since = now;
}

static inline void post(long g) {
    Link *l = &links[g];
    if (l->heap.n == 0) {
        take(&heap, transitions + g);
        return;
    }
    l->rate = l->capacity / l->heap.n;
    put(&heap, transitions + g, now + (l->heap.at[0].key - l->attained) / l->rate);
}

static inline void align(long k, uint64_t *touched) {
    Transition *t = &net[k];
    int is = is_enabled(k);
    if (t->link < 0) {
        if (!is)
            take(&heap, k);
        else if (heap.place[k] < 0)
            put(&heap, k, now + work(t));
    } else {
        Link *l = &links[t->link];
        if (is == (l->heap.place[k] >= 0)) return;
        double x = is ? work(t) : 0;
        if (l->heap.n == 0)
            l->attained = 0, l->since = now;
        else
            pass_work(l);
        if (is)
            put(&l->heap, k, l->attained + x);
        else
            take(&l->heap, k);
        *touched |= 1ull << t->link;
    }
}

static inline void mark(long k) {
    dirty[k >> 6] |= 1ull << (k & 63);
    dirty_words[k >> 12] |= 1ull << ((k >> 6) & 63);
}

static void mark_all(const Transition *t) {
    for (long i = 0; i < t->near.n; i++) mark(t->near.at[i]);
    for (long i = 0; i < t->met.n; i++)
        if (crowds[t->met.at[i]].timed)
            for (long j = 0; j < crowds[t->met.at[i]].members.n; j++) mark(crowds[t->met.at[i]].members.at[j]);
}

static inline void fire(const Transition *t) {
    for (long i = 0; i < t->changes.n; i++) m[t->changes.at[2 * i]] += t->changes.at[2 * i + 1];
    for (long i = 0; i < t->now.n; i++) look_now(t->now.at[i]);
    for (long i = 0; i < t->met.n; i++) {
        Crowd *c = &crowds[t->met.at[i]];
        if (c->gate >= 0)
            move_gate(c);
        else if (!c->timed)
            for (long j = c->members.n; j-- > 0;) look_now(c->members.at[j]);
    }
}

static long enabled_at(long i) {
    for (long w = 0;; w++) {
        uint64_t b = enabled_bits[w];
        long found = __builtin_popcountll(b);
        if (i < found) {
            while (i--) b &= b - 1;
            return 64 * w + __builtin_ctzll(b);
        }
        i -= found;
    }
}

static long choose(void) { return enabled_n == 1 ? enabled_at(0) : enabled_at((long)(uniform() * enabled_n)); }

int main(void) {
    ziggurat(&etail, ew, ea, eh);
    ziggurat(&ntail, nw, na, nh);
    long places = whole(), link_n, crowd_n;
    transitions = whole(), link_n = whole(), crowd_n = whole();
    long place = whole(), watched = whole(), firings = whole(), count = 0;
    m = malloc(places * sizeof *m);
    for (long i = 0; i < places; i++) m[i] = whole();
    links = calloc(link_n + 1, sizeof *links);
    for (long i = 0; i < link_n; i++) links[i].capacity = real(), links[i].heap = heap_of(transitions);
    crowds = calloc(crowd_n + 1, sizeof *crowds);
    net = calloc(transitions, sizeof *net);
    for (long i = 0; i < transitions; i++) net[i].crowd = -1, net[i].active = 1;
    for (long i = 0; i < crowd_n; i++) {
        crowds[i].members = list(1);
        crowds[i].place = malloc(transitions * sizeof(long));
        crowds[i].gate = whole(), crowds[i].needs = whole();
        crowds[i].bits = calloc(transitions / 64 + 1, 8);
        crowds[i].open = crowds[i].gate >= 0 && m[crowds[i].gate] >= crowds[i].needs;
        for (long j = 0; j < crowds[i].members.n; j++) {
            Transition *t = &net[crowds[i].members.at[j]];
            crowds[i].place[crowds[i].members.at[j]] = j;
            t->crowd = i, t->active = crowds[i].gate < 0;
        }
    }
    for (long i = 0; i < transitions; i++) {
        Transition *t = &net[i];
        t->kind = whole(), t->a = real(), t->b = real(), t->link = whole(), t->timed = t->kind > 0;
        t->inputs = list(2), t->bounds = list(2), t->changes = list(2), t->near = list(1), t->now = list(1), t->met = list(1);
        if (t->crowd >= 0) t->own = list(2), crowds[t->crowd].timed = t->timed;
    }
    heap = heap_of(transitions + link_n);
    words = transitions / 64 + 1;
    enabled_bits = calloc(words, 8), dirty = calloc(words, 8), dirty_words = calloc(words / 64 + 1, 8);
    uint64_t touched = 0;
    for (long i = 0; i < transitions; i++)
        if (net[i].timed)
            align(i, &touched);
        else
            look_now(i);
    for (long g = 0; g < link_n; g++) post(g);
    double since = 0, integral = 0;
    long value = m[place];
    clock_t began = clock();
    for (long k = 0; k < firings; k++) {
        long id = heap.at[0].id;
        now = heap.at[0].key;
        touched = 0;
        if (id >= transitions) {
            Link *l = &links[id - transitions];
            touched |= 1ull << (id - transitions);
            id = l->heap.at[0].id;
            l->attained = l->heap.at[0].key, l->since = now;
            take(&l->heap, id);
        }
        const Transition *t = &net[id];
        long expired = t->link < 0 ? id : -1;
        count += id == watched;
        fire(t);
        int several = enabled_n > 0;
        if (several || t->met.n > 0) {
            mark_all(t);
            while (enabled_n > 0) {
                long j = choose();
                count += j == watched;
                k++;
                fire(&net[j]);
                mark_all(&net[j]);
            }
            for (long w = 0; w <= words / 64; w++)
                for (; dirty_words[w]; dirty_words[w] &= dirty_words[w] - 1) {
                    long x = 64 * w + __builtin_ctzll(dirty_words[w]);
                    for (; dirty[x]; dirty[x] &= dirty[x] - 1) {
                        long j = 64 * x + __builtin_ctzll(dirty[x]);
                        if (j == expired && is_enabled(j))
                            put(&heap, j, now + work(&net[j]));
                        else
                            align(j, &touched);
                    }
                }
        } else
            for (long i = 0; i < t->near.n; i++) {
                long j = t->near.at[i];
                if (j == expired && is_enabled(j))
                    put(&heap, j, now + work(&net[j]));
                else
                    align(j, &touched);
            }
        for (; touched; touched &= touched - 1) {
            Link *l = &links[__builtin_ctzll(touched)];
            pass_work(l);
            post(__builtin_ctzll(touched));
        }
        if (m[place] != value) integral += value * (now - since), since = now, value = m[place];
    }
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    integral += value * (now - since);
    printf("%.17g %.17g %.17g\n", integral / now, count / now, firings / seconds);
    return 0;
}
