#include "worker.h"

int library_step(int n) { return n * 3 + 1; }
