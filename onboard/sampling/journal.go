package sampling

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bandmate.dev/bandmate/interferer"
	"bandmate.dev/bandmate/regime"
	"bandmate.dev/bandmate/units"
)

// Journal keeps every sample of an experiment as it is taken, one JSON line
// each, so that an interrupted experiment can be resumed.
type Journal struct {
	file *os.File
	// whole is the length of the file in bytes.
	whole   int64
	samples int
}

// journalHeader is the first line, which names the experiment.
type journalHeader struct {
	Journal     string `json:"journal"`
	Fingerprint string `json:"fingerprint"`
}

const journalVersion = "bandmate-samples-1"

// journalLine is a sample on disk.
type journalLine struct {
	Target             string    `json:"target"`
	Beside             string    `json:"beside,omitempty"`
	Regime             string    `json:"regime"`
	RoundTripNanos     int64     `json:"roundTripNanoseconds"`
	Spell              int       `json:"spell"`
	Start              time.Time `json:"start"`
	Seconds            float64   `json:"seconds"`
	PressedSeconds     float64   `json:"pressedSeconds,omitempty"`
	AchievedSeconds    float64   `json:"achievedSeconds,omitempty"`
	AchievedReadBytes  float64   `json:"achievedReadBytesPerSecond,omitempty"`
	AchievedWriteBytes float64   `json:"achievedWriteBytesPerSecond,omitempty"`
	AloneReadBytes     float64   `json:"aloneReadBytesPerSecond,omitempty"`
	AloneWriteBytes    float64   `json:"aloneWriteBytesPerSecond,omitempty"`
}

// Fingerprint hashes the values that must be equal for samples to belong together.
func Fingerprint(parts ...any) (string, error) {
	data, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("fingerprint of the experiment: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// ErrOtherExperiment is wrapped when a journal holds samples of another
// command, machine or grid.
var ErrOtherExperiment = errors.New("the interrupted experiment was another one")

// ErrInterrupted is wrapped when an interrupted experiment left samples.
var ErrInterrupted = errors.New("an interrupted experiment left samples")

// ErrBusy is wrapped when a journal is open already, in this process or another.
var ErrBusy = errors.New("another bandmate is onboarding")

// CreateJournal starts an empty journal at path. A journal with samples is kept,
// and the error wraps ErrInterrupted: they may have taken hours. Any other file
// is replaced. The error wraps ErrBusy where the journal is open.
func CreateJournal(path, fingerprint string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("creating the sample journal: %w%s", err, journalRemedy)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating the sample journal: %w%s", err, journalRemedy)
	}
	if err := empty(file, path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	j := &Journal{file: file}
	if err := j.write(journalHeader{Journal: journalVersion, Fingerprint: fingerprint}); err != nil {
		return nil, errors.Join(err, j.Close(), RemoveJournal(path))
	}
	return j, nil
}

// empty locks the file of a journal and empties it, unless it holds samples.
func empty(file *os.File, path string) error {
	if err := lock(file, path); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if n := samplesIn(data); n > 0 {
		return fmt.Errorf("%w: %d in %s", ErrInterrupted, n, path)
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("creating the sample journal: %w%s", err, journalRemedy)
	}
	return nil
}

// lock keeps others from the journal at path until its file is closed. A file system
// without locks does not.
func lock(file *os.File, path string) error {
	busy := fmt.Errorf("%w %s: wait until it ends", ErrBusy, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return busy
	}
	locked, err := file.Stat()
	if err != nil {
		return fmt.Errorf("sample journal %s: %w", path, err)
	}
	// The one that held the lock before may have removed the journal.
	if there, err := os.Stat(path); err != nil || !os.SameFile(locked, there) {
		return busy
	}
	return nil
}

// ResumeJournal opens a journal and returns its samples. A last line cut off
// by a crash is dropped. Without a journal the error wraps fs.ErrNotExist, and
// ErrBusy where the journal is open.
func ResumeJournal(path, fingerprint string) (*Journal, []Sample, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the sample journal: %w", err)
	}
	if err := lock(file, path); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	data, err := io.ReadAll(file)
	var samples []Sample
	var whole int64
	if err == nil {
		samples, whole, err = parseJournal(data, fingerprint)
	}
	if err == nil {
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("sample journal %s: %w", path, err), file.Close())
	}
	return &Journal{file: file, whole: whole, samples: len(samples)}, samples, nil
}

// samplesIn counts the whole lines of a journal after its header, whatever its
// experiment; 0 where the header is not one.
func samplesIn(data []byte) int {
	header, lines, _ := bytes.Cut(data, []byte("\n"))
	if _, err := parseHeader(header); err != nil {
		return 0
	}
	return bytes.Count(lines, []byte("\n"))
}

// startAnew is the remedy for a journal that cannot be resumed.
const startAnew = ": start anew, with --discard instead of --resume"

func parseHeader(line []byte) (journalHeader, error) {
	var h journalHeader
	if err := json.Unmarshal(line, &h); err != nil || h.Journal != journalVersion {
		return h, fmt.Errorf("line 1: not a journal of this version (%s)%s", journalVersion, startAnew)
	}
	return h, nil
}

// parseJournal reads samples up to the last whole line, whose end it returns.
func parseJournal(data []byte, fingerprint string) (samples []Sample, whole int64, err error) {
	for number := 1; ; number++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		switch {
		case !ended && number == 1:
			return nil, 0, errors.New("it is empty" + startAnew)
		case !ended:
			return samples, whole, nil
		case number == 1:
			header, err := parseHeader(line)
			if err == nil && header.Fingerprint != fingerprint {
				err = fmt.Errorf("%w (command, CPUs or settings differ)%s", ErrOtherExperiment, startAnew)
			}
			if err != nil {
				return nil, 0, err
			}
		default:
			sample, err := parseSample(line)
			if err != nil {
				return nil, 0, fmt.Errorf("line %d: %w%s", number, err, startAnew)
			}
			samples = append(samples, sample)
		}
		whole += int64(len(line)) + 1
		data = rest
	}
}

// sound reports whether a line can be a sample. Times are below a year.
func (l journalLine) sound() bool {
	const year = 366 * 24 * 3600
	for _, v := range []float64{l.PressedSeconds, l.AchievedSeconds, l.AchievedReadBytes, l.AchievedWriteBytes, l.AloneReadBytes, l.AloneWriteBytes} {
		if v < 0 {
			return false
		}
	}
	return l.Target != "" && l.RoundTripNanos >= 0 && l.Seconds > 0 && l.Seconds < year && l.AchievedSeconds < year
}

func parseSample(line []byte) (Sample, error) {
	var l journalLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Sample{}, err
	}
	if !l.sound() {
		return Sample{}, fmt.Errorf("not a sample: %.80s", line)
	}
	return Sample{
		Key:   Key{l.Target, l.Beside},
		Tag:   regime.Tag{Class: regime.Class(l.Regime), RoundTrip: time.Duration(l.RoundTripNanos)},
		Spell: l.Spell,
		Start: l.Start,
		Observation: Observation{
			Wall:    time.Duration(l.Seconds * float64(time.Second)),
			Pressed: time.Duration(min(l.PressedSeconds, l.Seconds) * float64(time.Second)),
			Achieved: interferer.Achieved{
				Elapsed: time.Duration(l.AchievedSeconds * float64(time.Second)),
				Traffic: units.Traffic{Read: units.Bandwidth(l.AchievedReadBytes), Write: units.Bandwidth(l.AchievedWriteBytes)},
			},
			Alone: units.Traffic{Read: units.Bandwidth(l.AloneReadBytes), Write: units.Bandwidth(l.AloneWriteBytes)},
		},
	}, nil
}

// Samples returns the number of samples in the journal.
func (j *Journal) Samples() int { return j.samples }

// Keep appends a sample.
func (j *Journal) Keep(s Sample) error {
	if err := j.write(lineOf(s)); err != nil {
		return err
	}
	j.samples++
	return nil
}

func lineOf(s Sample) journalLine {
	return journalLine{
		Target:             s.Target,
		Beside:             s.Beside,
		Regime:             string(s.Tag.Class),
		RoundTripNanos:     int64(s.Tag.RoundTrip),
		Spell:              s.Spell,
		Start:              s.Start.UTC(),
		Seconds:            s.Wall.Seconds(),
		PressedSeconds:     s.Pressed.Seconds(),
		AchievedSeconds:    s.Achieved.Elapsed.Seconds(),
		AchievedReadBytes:  float64(s.Achieved.Traffic.Read),
		AchievedWriteBytes: float64(s.Achieved.Traffic.Write),
		AloneReadBytes:     float64(s.Alone.Read),
		AloneWriteBytes:    float64(s.Alone.Write),
	}
}

// write appends a line. A failed write leaves the lines before as they are.
func (j *Journal) write(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("writing the sample journal: %w", err)
	}
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return errors.Join(fmt.Errorf("writing the sample journal: %w%s", err, journalRemedy), j.file.Truncate(j.whole))
	}
	j.whole += int64(len(data)) + 1
	return nil
}

// journalRemedy is the remedy when the journal cannot be written.
const journalRemedy = ": make room and check the permissions there, or choose another folder with --store or BANDMATE_STORE"

// Close keeps the journal for a later resume.
func (j *Journal) Close() error { return j.file.Close() }

// RemoveJournal deletes a journal that is not needed any more; without a journal it
// does nothing. The error wraps ErrBusy where the journal is open.
func RemoveJournal(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing the sample journal: %w", err)
	}
	defer file.Close()
	if err := lock(file, path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the sample journal: %w", err)
	}
	return nil
}
