package progress

import (
	"os"
	"syscall"
	"unsafe"
)

// open maps the page for as long as the program runs. It returns nil when there
// is none or it cannot be used: a program never fails because it is measured.
func open() *uint64 {
	name := os.Getenv(Variable)
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	status, err := file.Stat()
	const size = int(unsafe.Sizeof(uint64(0)))
	if err != nil || !status.Mode().IsRegular() || status.Size() < int64(size) {
		return nil
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*uint64)(unsafe.Pointer(unsafe.SliceData(memory)))
}
