package main

import (
	"bytes"
	"fmt"
	"io"
)

// Modes of the entries, as in stat(2).
const (
	modeFolder  = 0o040755
	modeProgram = 0o100755
	modeConsole = 0o020600
)

// entry is one file of an archive.
type entry struct {
	name         string
	mode         uint32
	major, minor int // of a device
	data         []byte
}

// writeArchive writes entries in the "newc" format that the Linux kernel
// unpacks into its first root file system (Documentation/driver-api/early-userspace/buffer-format.rst).
// Numbers are 8 hexadecimal digits; header with name, and data, each end at a
// multiple of 4 bytes.
func writeArchive(w io.Writer, entries []entry) error {
	var b bytes.Buffer
	pad := func() { b.Write(make([]byte, -b.Len()&3)) }
	for i, e := range append(entries, entry{name: "TRAILER!!!"}) {
		b.Reset()
		const owner, group, links, modified, deviceMajor, deviceMinor, checksum = 0, 0, 1, 0, 0, 0, 0
		b.WriteString("070701")
		for _, field := range []int{
			i + 1, int(e.mode), owner, group, links, modified, len(e.data),
			deviceMajor, deviceMinor, e.major, e.minor, len(e.name) + 1, checksum,
		} {
			fmt.Fprintf(&b, "%08X", field)
		}
		b.WriteString(e.name + "\x00")
		pad()
		b.Write(e.data)
		pad()
		if _, err := w.Write(b.Bytes()); err != nil {
			return fmt.Errorf("archive entry %s: %w", e.name, err)
		}
	}
	return nil
}
