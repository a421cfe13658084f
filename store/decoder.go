package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// sum is that of the text of a file.
type sum = [sha256.Size]byte

// decoder decodes profiles, whose validated content is kept as JSON, by the sum of the
// text: YAML takes ten times as long. It is safe for concurrent use.
type decoder struct {
	kept Kept

	known map[sum]decoded // as loaded

	mu      sync.Mutex
	decoded map[sum]v1alpha1.Object // since, from text
}

// decoded is the content of a file of this sum.
type decoded struct {
	sum  sum
	kind string
	json []byte
}

// pack lays profiles out one after the other: the sum, the length of the kind in a byte,
// the kind, the length of the JSON in four bytes, and the JSON.
func pack(all []decoded) []byte {
	var text []byte
	for _, p := range all {
		text = append(text, p.sum[:]...)
		text = append(append(text, byte(len(p.kind))), p.kind...)
		text = append(binary.LittleEndian.AppendUint32(text, uint32(len(p.json))), p.json...)
	}
	return text
}

// unpack is the inverse of pack. Of a text that pack did not write it returns what it can.
func unpack(text []byte) []decoded {
	var all []decoded
	take := func(n int) (part []byte) {
		if n > len(text) {
			text = nil
			return nil
		}
		part, text = text[:n], text[n:]
		return part
	}
	for len(text) > 0 {
		var p decoded
		copy(p.sum[:], take(len(p.sum)))
		if length := take(1); length != nil {
			p.kind = string(take(int(length[0])))
		}
		if length := take(4); length != nil {
			p.json = take(int(binary.LittleEndian.Uint32(length)))
		}
		if p.json != nil {
			all = append(all, p)
		}
	}
	return all
}

const keptProfiles = "profiles"

func newDecoder(kept Kept) *decoder {
	d := &decoder{kept: kept, known: map[sum]decoded{}, decoded: map[sum]v1alpha1.Object{}}
	text, ok := kept.Load(keptProfiles, "")
	if !ok {
		return d
	}
	for _, p := range unpack(text) {
		d.known[p.sum] = p
	}
	return d
}

// decode returns the profile of a text.
func (d *decoder) decode(text []byte) (v1alpha1.Object, error) {
	of := sha256.Sum256(text)
	if p, ok := d.known[of]; ok {
		if object := p.object(); object != nil {
			return object, nil
		}
	}
	object, err := v1alpha1.Decode(text)
	if err == nil && d.kept != (Kept{}) {
		d.mu.Lock()
		d.decoded[of] = object
		d.mu.Unlock()
	}
	return object, err
}

func (p decoded) object() v1alpha1.Object {
	var object v1alpha1.Object
	switch p.kind {
	case v1alpha1.KindApplicationProfile:
		object = &v1alpha1.ApplicationProfile{}
	case v1alpha1.KindMachineProfile:
		object = &v1alpha1.MachineProfile{}
	default:
		return nil
	}
	if json.Unmarshal(p.json, object) != nil {
		return nil
	}
	return object
}

// save keeps the profiles of a snapshot if any of them was decoded from text.
func (d *decoder) save(s *Snapshot) {
	if len(d.decoded) == 0 {
		return
	}
	var all []decoded
	for _, list := range [][]held{s.applications, s.machines} {
		for _, h := range list {
			if h.object == nil {
				continue
			}
			p, ok := d.known[h.sum]
			if !ok {
				text, err := json.Marshal(h.object)
				if err != nil {
					continue
				}
				p = decoded{h.sum, v1alpha1.KindOf(h.object), text}
			}
			all = append(all, p)
		}
	}
	d.kept.Save(keptProfiles, "", pack(all))
}
