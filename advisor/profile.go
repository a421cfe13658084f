package advisor

import (
	"cmp"
	"sync"
	"time"

	"bandmate.dev/bandmate/api/v1alpha1"
	"bandmate.dev/bandmate/internal/plain"
)

// Profile is the profile of an application, which may be read only when it is needed. It
// must not be copied, and is safe for concurrent use.
type Profile struct {
	summary

	measured time.Time // zero when the profile does not say
	// sum identifies the content, which was validated as it was read; empty where neither
	// is known.
	sum   string
	given *v1alpha1.ApplicationProfile // nil for one that is read when needed

	checked sync.Once
	checks  bool // what given was found to be

	once   sync.Once
	read   func() (*v1alpha1.ApplicationProfile, error)
	loaded *v1alpha1.ApplicationProfile
	err    error
}

// summary is what an Advisor has to know of every profile.
type summary struct {
	name, application string // name is that of the object in its cluster
	place             place
	time              string // when it was measured, as binary data
	serves            bool   // a model of the memory can be fitted to it
	communicates      bool
}

func summaryOf(p *v1alpha1.ApplicationProfile) summary {
	return summary{
		name: v1alpha1.ObjectOf(p), application: v1alpha1.ApplicationOf(p), place: placeOf(p),
		serves: serves(p), communicates: p.Spec.Communication != nil,
	}
}

// Summarize returns what NewProfile has to know of p, for the same build of the program.
func Summarize(p *v1alpha1.ApplicationProfile) []byte {
	s := summaryOf(p)
	text, err := measured(p).MarshalBinary()
	if err != nil {
		return nil // a time zone that Go cannot write: NewProfile refuses it
	}
	s.time = string(text)
	data, err := plain.Marshal(&s)
	if err != nil {
		return nil
	}
	return data
}

// NewProfile returns a profile that read returns when it is needed. summary is what
// Summarize returned for it, and sum identifies its content, which was validated. It fails
// on other data.
func NewProfile(summary []byte, sum string, read func() (*v1alpha1.ApplicationProfile, error)) (*Profile, error) {
	p := &Profile{sum: sum, read: read}
	if err := plain.Unmarshal(summary, &p.summary); err != nil {
		return nil, err
	}
	if err := p.measured.UnmarshalBinary([]byte(p.summary.time)); err != nil {
		return nil, err
	}
	return p, nil
}

// profileOf returns p, which is not read again.
func profileOf(p *v1alpha1.ApplicationProfile) *Profile {
	return &Profile{summary: summaryOf(p), measured: measured(p), given: p}
}

// load returns the profile.
func (p *Profile) load() (*v1alpha1.ApplicationProfile, error) {
	if p.given != nil {
		return p.given, nil
	}
	p.once.Do(func() { p.loaded, p.err = p.read() })
	return p.loaded, p.err
}

// precedes reports whether p is used rather than other, of the same application and
// machine: a valid one, then the one measured last, of equally old ones the first by name.
func (p *Profile) precedes(other *Profile) bool {
	if valid := p.valid(); valid != other.valid() {
		return valid
	}
	return cmp.Or(other.measured.Compare(p.measured), cmp.Compare(p.name, other.name)) < 0
}

// same reports whether p and other are the same profile, of the same content.
func (p *Profile) same(other *Profile) bool {
	return p == other || p.given != nil && p.given == other.given
}

// sound reports whether the profile was validated as it was read.
func (p *Profile) sound() bool { return p.sum != "" }

// valid reports whether the profile is known to be valid without reading it.
func (p *Profile) valid() bool {
	if p.given == nil || p.sound() {
		return p.sound()
	}
	p.checked.Do(func() { p.checks = len(p.given.Validate()) == 0 })
	return p.checks
}
