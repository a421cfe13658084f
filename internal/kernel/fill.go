package kernel

import "encoding/binary"

// Fill writes pseudo-random bytes all over buf, the same for the same seed, at
// some gigabytes per second. It touches every page, so it also makes the
// operating system provide the memory.
func Fill(buf []byte, seed uint64) {
	words := splitMix(seed)
	for len(buf) >= 8 {
		binary.LittleEndian.PutUint64(buf, words.next())
		buf = buf[8:]
	}
	if len(buf) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], words.next())
		copy(buf, last[:])
	}
}
