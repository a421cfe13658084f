// The memory traffic of internal/kernel in C, as a yardstick for it:
//
//     gcc -O3 -march=native -o kernel kernel.c && ./kernel BUFFER_MIB BLOCK_KIB
//
// Each line on standard input, "KERNEL MILLISECONDS", runs one round; the
// answer on standard output is "BYTES NANOSECONDS": the traffic at the memory
// controller by line accounting (a loaded line is 64 bytes, a modified one 64
// more) and the time. Rounds go on where the last one stopped, over a buffer
// that is random, on huge pages, and touched before the first round.
//
// Every kernel exists twice: with intrinsics, and as a plain loop that the
// compiler vectorizes.
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, WORDS = LINE / 8 };

static uint64_t sink; // keeps every load alive

#if defined(__AVX512F__)
typedef __m512i vec;
#define ZERO() _mm512_setzero_si512()
#define BROADCAST(x) _mm512_set1_epi64(x)
#define LOAD(p) _mm512_load_si512(p)
#define STORE(p, v) _mm512_store_si512(p, v)
#define ADD(a, b) _mm512_add_epi64(a, b)
#elif defined(__AVX2__)
typedef __m256i vec;
#define ZERO() _mm256_setzero_si256()
#define BROADCAST(x) _mm256_set1_epi64x(x)
#define LOAD(p) _mm256_load_si256(p)
#define STORE(p, v) _mm256_store_si256(p, v)
#define ADD(a, b) _mm256_add_epi64(a, b)
#else
#error "this yardstick needs AVX2"
#endif

enum { PER_LINE = LINE / sizeof(vec) };

static void consume(vec a, vec b, vec c, vec d) {
    uint64_t words[sizeof(vec) / 8];
    vec sum = ADD(ADD(a, b), ADD(c, d));
    memcpy(words, &sum, sizeof words);
    for (size_t i = 0; i < sizeof(vec) / 8; i++)
        sink += words[i];
}

// Loads every line.
static void read_intrinsics(uint64_t *buf, size_t lines) {
    vec *p = (vec *)buf, *end = p + lines * PER_LINE;
    vec a = ZERO(), b = ZERO(), c = ZERO(), d = ZERO();
    for (; p < end; p += 8) {
        a = ADD(a, LOAD(p + 0));
        b = ADD(b, LOAD(p + 1));
        c = ADD(c, LOAD(p + 2));
        d = ADD(d, LOAD(p + 3));
        a = ADD(a, LOAD(p + 4));
        b = ADD(b, LOAD(p + 5));
        c = ADD(c, LOAD(p + 6));
        d = ADD(d, LOAD(p + 7));
    }
    consume(a, b, c, d);
}

static void read_loop(uint64_t *buf, size_t lines) {
    uint64_t sum = 0;
    for (size_t i = 0; i < lines * WORDS; i++)
        sum += buf[i];
    sink += sum;
}

// Loads every line, modifies every third; the lines left over at the end of
// the block are only loaded.
static void third_intrinsics(uint64_t *buf, size_t lines) {
    const vec k = BROADCAST(0x9e3779b97f4a7c15);
    vec *p = (vec *)buf, *end = p + (lines - lines % 3) * PER_LINE;
    vec a = ZERO(), b = ZERO(), c = ZERO();
    for (; p < end; p += 3 * PER_LINE) {
        for (int i = 0; i < PER_LINE; i++) {
            vec v = LOAD(p + i);
            a = ADD(a, v);
            STORE(p + i, ADD(v, k));
            b = ADD(b, LOAD(p + PER_LINE + i));
            c = ADD(c, LOAD(p + 2 * PER_LINE + i));
        }
    }
    consume(a, b, c, ZERO());
    read_loop((uint64_t *)end, lines % 3);
}

static void third_loop(uint64_t *buf, size_t lines) {
    uint64_t sum = 0;
    size_t i = 0;
    for (; i + 3 <= lines; i += 3) {
        uint64_t *w = buf + i * WORDS;
        for (int j = 0; j < WORDS; j++) {
            sum += w[j] + w[WORDS + j] + w[2 * WORDS + j];
            w[j] += 0x9e3779b97f4a7c15;
        }
    }
    sink += sum;
    read_loop(buf + i * WORDS, lines - i);
}

// Loads and modifies every line.
static void all_intrinsics(uint64_t *buf, size_t lines) {
    const vec k = BROADCAST(0x9e3779b97f4a7c15);
    vec *p = (vec *)buf, *end = p + lines * PER_LINE;
    for (; p < end; p += 4) {
        STORE(p + 0, ADD(LOAD(p + 0), k));
        STORE(p + 1, ADD(LOAD(p + 1), k));
        STORE(p + 2, ADD(LOAD(p + 2), k));
        STORE(p + 3, ADD(LOAD(p + 3), k));
    }
}

static void all_loop(uint64_t *buf, size_t lines) {
    for (size_t i = 0; i < lines * WORDS; i++)
        buf[i] += 0x9e3779b97f4a7c15;
}

static const struct kernel {
    const char *name;
    void (*run)(uint64_t *buf, size_t lines);
    size_t modify_one_in; // of the lines; 0 is none
} kernels[] = {
    {"read-intrinsics", read_intrinsics, 0}, {"read-loop", read_loop, 0},
    {"third-intrinsics", third_intrinsics, 3}, {"third-loop", third_loop, 3},
    {"all-intrinsics", all_intrinsics, 1}, {"all-loop", all_loop, 1},
};

static uint64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t *random_buffer(size_t bytes) {
    const size_t huge = 2 << 20;
    char *p = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    p = (char *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
    madvise(p, bytes, MADV_HUGEPAGE);
    uint64_t *words = (uint64_t *)p, x = 88172645463325252ull;
    for (size_t i = 0; i < bytes / 8; i++) { // xorshift64
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        words[i] = x;
    }
    return words;
}

// How often a round looks at the clock, in bytes.
enum { BETWEEN_LOOKS = 1 << 20 };

int main(int argc, char **argv) {
    size_t bytes = argc == 3 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    size_t block = argc == 3 ? strtoull(argv[2], NULL, 10) << 10 : 0;
    if (!bytes || !block || bytes % BETWEEN_LOOKS || BETWEEN_LOOKS % block || block % 4096) {
        fprintf(stderr, "usage: kernel BUFFER_MIB BLOCK_KIB (a power of two, 4 to 1024)\n");
        return 2;
    }
    uint64_t *buf = random_buffer(bytes);
    puts("ready");
    fflush(stdout);
    size_t at = 0;
    char name[64];
    unsigned milliseconds;
    while (scanf("%63s %u", name, &milliseconds) == 2) {
        const struct kernel *k = NULL;
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
            if (!strcmp(name, kernels[i].name))
                k = &kernels[i];
        if (!k) {
            fprintf(stderr, "no kernel %s\n", name);
            return 2;
        }
        size_t lines = block / LINE;
        size_t modified = k->modify_one_in ? lines / k->modify_one_in : 0;
        uint64_t traffic = 0, start = nanoseconds(), now;
        do {
            for (size_t done = 0; done < BETWEEN_LOOKS; done += block) {
                k->run(buf + (at + done) / 8, lines);
                traffic += (lines + modified) * LINE;
            }
            at = (at + BETWEEN_LOOKS) % bytes;
            now = nanoseconds();
        } while (now - start < milliseconds * 1000000ull);
        printf("%llu %llu\n", (unsigned long long)traffic, (unsigned long long)(now - start));
        fflush(stdout);
    }
    fprintf(stderr, "%llx\n", (unsigned long long)sink);
    return 0;
}
