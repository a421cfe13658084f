package main

import (
	"slices"
	"testing"
	"testing/fstest"
)

func files(change map[string]string) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range map[string]string{
		"args": "/bin/bandmate\x00measure\x00\x00-o\x00json\x00", "pmus": "uncore_imc_0:icx", "rates": "* 0 1e8 5e7",
		"module_options": "", "user": "", "paranoid": "2", "before": "offline 2 sleep 1ms",
	} {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range change {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

func TestReadJob(t *testing.T) {
	j, err := readJob(files(nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/bin/bandmate", "measure", "", "-o", "json"}; !slices.Equal(j.args, want) {
		t.Errorf("args %q, want %q", j.args, want)
	}
	if len(j.rates) != 1 || j.rates[0].Counts.Reads != 1e8 || len(j.before) != 2 || j.user || j.paranoid != 2 {
		t.Errorf("job %+v", j)
	}
}

func TestReadJobFaults(t *testing.T) {
	for _, change := range []map[string]string{
		{"rates": "* 0 1"}, {"paranoid": "high"}, {"before": "offline"}, {"pmus": ""},
	} {
		if _, err := readJob(files(change)); err == nil {
			t.Errorf("%v: no error", change)
		}
	}
	dir := files(nil)
	delete(dir, "args")
	if _, err := readJob(dir); err == nil {
		t.Error("no args: no error")
	}
}
