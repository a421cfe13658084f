int library_step(int n);
