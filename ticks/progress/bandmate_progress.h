/* Counts the work of a program for Bandmate: bandmate_progress(1) after each step.
   Costs next to nothing when nobody measures. Linux, GCC or Clang; C or C++. */
#ifndef BANDMATE_PROGRESS_H
#define BANDMATE_PROGRESS_H
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *bandmate_progress_page;

__attribute__((constructor)) static void bandmate_progress_open(void) {
  const char *name = getenv("BANDMATE_PROGRESS");
  int file = name ? open(name, O_RDWR) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) bandmate_progress_page = (uint64_t *)page;
  close(file);
}

static inline void bandmate_progress(uint64_t n) {
  if (bandmate_progress_page) __atomic_fetch_add(bandmate_progress_page, n, __ATOMIC_RELAXED);
}
#endif
