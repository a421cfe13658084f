package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"os"
	"syscall"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/plain"
)

// record is what is kept of a file: enough to tell whether it has changed, and where its
// content is, as JSON, which takes a tenth of the time of YAML.
type record struct {
	Kind, Name, Machine string // its key

	Stamp stamp
	// Settled is true if every later change of the file gives another stamp.
	Settled bool

	Sum     string // of the text of the file
	Summary string
	// Check is the sum of the JSON, which begins Offset bytes after the records and
	// takes Length bytes.
	Check          string
	Offset, Length int64
}

func (r *record) key() key { return key{r.Kind, r.Name, r.Machine} }

// stamp tells the states of a file apart without its content.
type stamp struct {
	Inode                   uint64
	Size, Modified, Changed int64 // times in nanoseconds
}

// settling is how long ago a file must have changed for its stamp to tell the next
// change: within a tick of the clock of the file system, a file may change twice.
const settling = 2 * time.Second

// recordOf returns the record of a file without content. A file that is a link, of which
// the stamp tells nothing, is never settled.
func recordOf(k key, file string, now time.Time) record {
	r := record{Kind: k.kind, Name: k.name, Machine: k.machine}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return r // reading it tells what is wrong
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		r.Stamp = stamp{stat.Ino, stat.Size, stat.Mtim.Nano(), stat.Ctim.Nano()}
		r.Settled = now.Sub(time.Unix(stat.Ctim.Unix())) >= settling
	}
	return r
}

// pack is the records that were kept, with a file that holds the profiles.
type pack struct {
	records map[key]record
	file    *os.File // nil without records
	start   int64    // of the profiles
}

const keptProfiles = "profiles"

// openPack returns the pack that was kept; an empty one where there is none. After the
// header of a kept file it holds the length of the records in eight bytes, the records,
// and the profiles one after the other. The sum of the header is that of the length and
// the records; each profile has one of its own.
func openPack(kept Kept) *pack {
	file, header := kept.open(keptProfiles, "")
	if file == nil {
		return &pack{}
	}
	p := &pack{file: file}
	if !p.load(header) {
		_ = file.Close() // it was only read
		return &pack{}
	}
	return p
}

// lengthBytes is the size of the length of the records.
const lengthBytes = 8

func (p *pack) load(header header) bool {
	length := make([]byte, lengthBytes)
	if _, err := p.file.ReadAt(length, headerBytes); err != nil {
		return false
	}
	n := binary.LittleEndian.Uint64(length)
	if n > mostKeptBytes {
		return false
	}
	head := make([]byte, lengthBytes+n)
	if _, err := p.file.ReadAt(head, headerBytes); err != nil || sha256.Sum256(head) != header.content {
		return false
	}
	var records []record
	if plain.Unmarshal(head[lengthBytes:], &records) != nil {
		return false
	}
	p.start = headerBytes + int64(len(head))
	p.records = make(map[key]record, len(records))
	for i := range records {
		p.records[records[i].key()] = records[i]
	}
	return true
}

// text returns the JSON of a record; nil where it is damaged.
func (p *pack) text(r record) []byte {
	if p.file == nil || r.Length <= 0 || r.Length > mostKeptBytes {
		return nil
	}
	text := make([]byte, r.Length)
	if _, err := p.file.ReadAt(text, p.start+r.Offset); err != nil {
		return nil
	}
	if of := sha256.Sum256(text); string(of[:]) != r.Check {
		return nil
	}
	return text
}

// read returns the profile of a record; nil where it is damaged.
func (p *pack) read(r record) v1alpha1.Object {
	var object v1alpha1.Object
	switch r.Kind {
	case v1alpha1.KindApplicationProfile:
		object = &v1alpha1.ApplicationProfile{}
	case v1alpha1.KindMachineProfile:
		object = &v1alpha1.MachineProfile{}
	default:
		return nil
	}
	text := p.text(r)
	if text == nil || json.Unmarshal(text, object) != nil {
		return nil
	}
	return object
}

// saveAs keeps items, whose profiles are those of p where they were not decoded.
func (p *pack) saveAs(kept Kept, items []*item) {
	if kept == (Kept{}) {
		return
	}
	var profiles bytes.Buffer
	records := make([]record, 0, len(items))
	for _, it := range items {
		text := it.json
		if text == nil {
			text = p.text(it.record)
		}
		if text == nil {
			continue // damaged: it is decoded again the next time
		}
		r := it.record
		r.Offset, r.Length = int64(profiles.Len()), int64(len(text))
		profiles.Write(text)
		records = append(records, r)
	}
	data, err := plain.Marshal(&records)
	if err != nil {
		return
	}
	head := append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), data...)
	kept.write(keptProfiles, "", head, profiles.Bytes())
}
