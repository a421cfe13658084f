package samples

import "golang.org/x/sys/unix"

// mapMemory returns zeroed anonymous memory for which huge pages are asked;
// they are advice only, so a refusal is no error.
func mapMemory(size int) ([]byte, error) {
	mapping, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(mapping, unix.MADV_HUGEPAGE)
	return mapping, nil
}

// unmapMemory gives back what mapMemory returned, which cannot fail.
func unmapMemory(mapping []byte) { _ = unix.Munmap(mapping) }
