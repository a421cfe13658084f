package memory

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// HugePage is the size of a transparent huge page in bytes, where there are any.
const HugePage = 2 << 20

// transparentHugePages is "always [madvise] never", the setting in brackets
// (Documentation/admin-guide/mm/transhuge.rst).
const transparentHugePages = "sys/kernel/mm/transparent_hugepage/enabled"

// HugePagesRemedy is the command that lets programs ask for huge pages.
const HugePagesRemedy = "echo madvise > /" + transparentHugePages

// HugePagesOff reports whether the system gives no huge pages. A kernel without
// the setting has none. root is the file system at "/".
func HugePagesOff(root fs.FS) bool {
	text, err := fs.ReadFile(root, transparentHugePages)
	return err != nil || strings.Contains(string(text), "[never]")
}

// HugeBytes returns how many bytes of buffers, all of which have been touched,
// are on transparent huge pages. The edges of a buffer need not be. What else
// the system keeps in the same mapping as a buffer counts too.
func HugeBytes(buffers ...*Buffer) (int64, error) {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("pages of buffers: %w", err)
	}
	defer smaps.Close()
	var addresses []uintptr
	for _, b := range buffers {
		addresses = append(addresses, uintptr(unsafe.Pointer(unsafe.SliceData(b.bytes))))
	}
	return hugeBytes(smaps, addresses...)
}

// hugeBytes returns how many bytes of the mappings that contain one of the
// addresses are on transparent huge pages. It reads /proc/PID/smaps, where a
// mapping is
//
//	7f2a40000000-7f2a50000000 rw-p 00000000 00:00 0
//	Size:             262144 kB
//	AnonHugePages:    262144 kB
func hugeBytes(smaps io.Reader, addresses ...uintptr) (int64, error) {
	var total int64
	wanted := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if low, high, ok := addressRange(fields[0]); ok {
			wanted = false
			for _, a := range addresses {
				wanted = wanted || low <= uint64(a) && uint64(a) < high
			}
			continue
		}
		if wanted && fields[0] == "AnonHugePages:" && len(fields) > 1 {
			kB, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("smaps: %q: %w", lines.Text(), err)
			}
			total += kB << 10
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("smaps: %w", err)
	}
	return total, nil
}

// addressRange reads "7f2a40000000-7f2a50000000".
func addressRange(s string) (low, high uint64, ok bool) {
	first, second, ok := strings.Cut(s, "-")
	if !ok {
		return 0, 0, false
	}
	low, errLow := strconv.ParseUint(first, 16, 64)
	high, errHigh := strconv.ParseUint(second, 16, 64)
	return low, high, errLow == nil && errHigh == nil
}
