/* Does what it is asked: "step N" calls both functions N times, "fork N" does so
   in a child, "thread N" in a thread, "read N" reads N times 100 bytes, "run N"
   steps for N milliseconds, as "forkrun N" and "threadrun N" do elsewhere. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

__attribute__((noinline)) int worker_step(int n) { return library_step(n) + 1; }

static volatile int kept;

static void steps(int n) {
  for (int i = 0; i < n; i++) kept = worker_step(kept);
}

static void *thread_steps(void *n) {
  steps(*(int *)n);
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void run(int milliseconds) {
  for (double end = now() + milliseconds; now() < end;) {
    for (volatile int i = 0; i < 400000; i++) {}
    steps(1);
  }
}

static void *thread_run(void *n) {
  run(*(int *)n);
  return NULL;
}

static void in_child(void *(*work)(void *), int n) {
  int child = fork();
  if (child == 0) {
    work(&n);
    _exit(0);
  }
  if (child < 0) {
    perror("fork");
    _exit(1);
  }
  wait(NULL);
}

static void in_thread(void *(*work)(void *), int n) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, &n) != 0) _exit(1);
  pthread_join(thread, NULL);
}

int main(void) {
  char what[16], data[100];
  int n;
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (scanf("%15s %d", what, &n) == 2) {
    if (!strcmp(what, "step")) steps(n);
    if (!strcmp(what, "run")) run(n);
    if (!strcmp(what, "fork")) in_child(thread_steps, n);
    if (!strcmp(what, "forkrun")) in_child(thread_run, n);
    if (!strcmp(what, "thread")) in_thread(thread_steps, n);
    if (!strcmp(what, "threadrun")) in_thread(thread_run, n);
    if (!strcmp(what, "read")) {
      int zero = open("/dev/zero", O_RDONLY);
      for (int i = 0; i < n; i++)
        if (read(zero, data, sizeof data) < 0) return 1;
      close(zero);
    }
    puts("done");
  }
  return 0;
}
