package evaluation_test

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"bandmate.dev/bandmate/predictor"
	"bandmate.dev/bandmate/predictor/evaluation"
	"bandmate.dev/bandmate/predictor/memory"
	"bandmate.dev/bandmate/units"
)

// small is a data set of two applications; columns stand in any order and
// unknown ones are ignored.
func small() map[string]string {
	return map[string]string{
		"apps.csv": "remote_runtime_s,app,remote_write_Bps,remote_read_Bps,color\n" +
			"2,a,1e9,3e9,red\n4,b,0,8e9,blue\n",
		"curves.csv": "app,read_pct,level,interferer_solo_read_Bps,interferer_solo_write_Bps,norm_perf\n" +
			"a,75,1,15e9,5e9,0.6\na,75,0.5,7.5e9,2.5e9,0.8\nb,50,1,8e9,8e9,0.7\n",
		"pairs.csv": "corunner,app,norm_perf\nb,a,0.84\na,b,0.9\n",
	}
}

func fsOf(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestRead(t *testing.T) {
	d, err := evaluation.Read(fsOf(small()))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Apps) != 2 || len(d.Pairs) != 2 || d.Apps[0].Local != nil {
		t.Fatalf("%+v", d)
	}
	a := d.Apps[0]
	if a.Remote.Seconds != 2 || a.Remote.Traffic != (units.Traffic{Read: 3e9, Write: 1e9}) {
		t.Errorf("solo run %+v", a.Remote)
	}
	points := a.Curves[0].Points
	if a.Curves[0].ReadShare != 0.75 || points[0].InterfererBytesPerSecond != 10e9 || points[1].NormalizedPerformance != 0.6 {
		t.Errorf("curve %+v, want its points in order", a.Curves[0])
	}
	if points[0].AchievedBytesPerSecond != nil {
		t.Error("an achieved bandwidth that nobody recorded")
	}
	if d.Pairs[0] != (evaluation.Pair{Target: "a", Corunner: "b", Measured: 0.84}) {
		t.Errorf("pair %+v", d.Pairs[0])
	}
}

// How often and how exactly something was measured becomes part of its profile, where a row
// says it.
func TestReadPrecision(t *testing.T) {
	const curves = "app,read_pct,level,interferer_solo_read_Bps,interferer_solo_write_Bps,norm_perf,"
	for _, test := range []struct {
		columns, fields string
		repeats         int
		spread          *float64
	}{
		{"readings,standard_error", "25,0.02", 25, new(0.1)},
		{"readings,standard_error", "25,", 25, nil},
		{"readings,standard_error", "1,0", 1, nil},
		{"readings,standard_error", ",", 1, nil},
		{"repeats,repeat_sd", "3,0.05", 3, new(0.05)},
	} {
		files := small()
		files["apps.csv"] = strings.NewReplacer("color", "relative_uncertainty", "red", "0.25", "blue", "").Replace(files["apps.csv"])
		files["curves.csv"] = curves + test.columns + "\na,75,1,15e9,5e9,0.6," + test.fields + "\nb,50,1,8e9,8e9,0.7," + test.fields + "\n"
		d, err := evaluation.Read(fsOf(files))
		if err != nil {
			t.Fatal(err)
		}
		profiles, _, err := d.Profiles(evaluation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := profiles[0].Spec.Curves[0].Points[0]
		if p.Repeats != test.repeats || (p.Spread == nil) != (test.spread == nil) || p.Spread != nil && math.Abs(*p.Spread-*test.spread) > 1e-9 {
			t.Errorf("%s %s: %+v", test.columns, test.fields, p)
		}
		if u := profiles[0].Spec.Contentiousness.RelativeUncertainty; u == nil || *u != 0.25 {
			t.Errorf("uncertainty %v, want 0.25", u)
		}
		if u := profiles[1].Spec.Contentiousness.RelativeUncertainty; u != nil {
			t.Errorf("uncertainty %v, want none", *u)
		}
	}
}

// A spread without the number of its repeats is of no use, which a row has to say rather
// than to lose it.
func TestReadSpreadWithoutRepeats(t *testing.T) {
	for columns, want := range map[string]string{
		"repeat_sd,color":      `curves.csv:2:21: repeat_sd: no repeats`,
		"readings,repeat_sd":   `curves.csv:2:24: repeat_sd: no repeats`,
		"color,standard_error": `curves.csv:2:24: standard_error: no readings`,
	} {
		files := small()
		files["curves.csv"] = "app,read_pct,level,interferer_solo_read_Bps,interferer_solo_write_Bps,norm_perf," + columns + "\na,75,1,15e9,5e9,0.6,25,0.1\nb,50,1,8e9,8e9,0.7,,\n"
		if _, err := evaluation.Read(fsOf(files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", columns, err, want)
		}
	}
}

// Quotes around any field, a comma within one included, change nothing.
func TestReadQuotedFields(t *testing.T) {
	files := small()
	files["apps.csv"] = "remote_runtime_s,\"app\",remote_write_Bps,remote_read_Bps,color\n" +
		"2,\"a, the first\",\"1e9\",3e9,\"red \"\"1\"\"\"\n4,\"b\",0,8e9,blue\n"
	files["curves.csv"] = strings.ReplaceAll(files["curves.csv"], "\na,", "\n\"a, the first\",")
	files["pairs.csv"] = "corunner,app,norm_perf\nb,\"a, the first\",0.84\n"
	d, err := evaluation.Read(fsOf(files))
	if err != nil {
		t.Fatal(err)
	}
	if a := d.Apps[0]; a.Name != "a, the first" || a.Remote.Traffic.Write != 1e9 || len(a.Curves) != 1 {
		t.Errorf("%+v", a)
	}
}

// A million rows are read and scored, and none is kept where the caller takes
// them.
func TestMillionRows(t *testing.T) {
	rows := 1_000_000
	if testing.Short() {
		rows = 20_000 // the race detector makes it slow
	}
	var pairs strings.Builder
	pairs.WriteString("app,corunner,norm_perf\n")
	for range rows / 2 {
		pairs.WriteString("a,b,0.84\nb,a,0.9\n")
	}
	files := small()
	files["pairs.csv"] = pairs.String()
	d, err := evaluation.Read(fsOf(files))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{
		Methods: []predictor.Method{predictor.Interpolation},
		Each:    func(evaluation.Row) error { seen++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Methods[0]; seen != rows || m.Rows != rows || abs(m.Mean-1.25) > 1e-6 || r.Rows != nil {
		t.Errorf("%d rows seen, %d scored, mean %v", seen, m.Rows, m.Mean)
	}
}

func TestEvaluateByHand(t *testing.T) {
	d, err := evaluation.Read(fsOf(small()))
	if err != nil {
		t.Fatal(err)
	}
	// a beside 8 GB/s: 1 − 0.2·8/10 = 0.84, exact. b beside 4 GB/s: 1 − 0.3·4/16 = 0.925, 2.5 points off.
	r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{Methods: []predictor.Method{predictor.Interpolation}})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Methods[0]
	if abs(m.Mean-1.25) > 1e-9 || abs(m.Max-2.5) > 1e-9 || abs(m.SD-2.5/1.4142135623730951) > 1e-9 {
		t.Errorf("mean %v sd %v max %v, want 1.25, 1.77 and 2.5", m.Mean, m.SD, m.Max)
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestReadPlacesFaults(t *testing.T) {
	tests := []struct {
		name, file, old, new string
		want                 string
	}{
		{"a missing column", "apps.csv", "remote_write_Bps", "writes", `apps.csv:1:1: no column "remote_write_Bps"`},
		{"a column twice", "apps.csv", "color", "app", `apps.csv:1:55: column "app" appears twice`},
		{"an application twice", "apps.csv", "4,b", "4,a", `apps.csv:3:3: app: "a" appears twice`},
		{"not a number", "apps.csv", "3e9", "three", `apps.csv:2:9: remote_read_Bps: "three" is not a number`},
		{"not finite", "apps.csv", "3e9", "+Inf", `apps.csv:2:9: remote_read_Bps: "+Inf" is not a number`},
		{"a negative rate", "apps.csv", "3e9", "-3e9", `apps.csv:2:9: remote_read_Bps: -3e+09`},
		{"a time of zero", "apps.csv", "4,b", "0,b", `apps.csv:3:1: remote_runtime_s: 0`},
		{"an empty name", "apps.csv", "4,b", "4,", `apps.csv:3:3: app: empty`},
		{"a row too short", "apps.csv", ",blue", "", `apps.csv:3:`},
		{"an open quote", "apps.csv", "blue", `"blue`, `apps.csv:3:`},
		{"an unknown application", "curves.csv", "b,50", "c,50", `curves.csv:4:1: app: "c" is not in apps.csv`},
		{"a read share above 100%", "curves.csv", "b,50", "b,150", `curves.csv:4:3: read_pct: 150`},
		{"a level above 1", "curves.csv", "b,50,1", "b,50,2", `curves.csv:4:6: level: want above 0 to 1`},
		{"performance of zero", "curves.csv", "0.7", "0", `curves.csv:4:16: norm_perf: 0`},
		{"an unknown co-runner in a group", "groups.csv", "b+b", "b+z", `groups.csv:2:3: corunners: "z" is not in apps.csv`},
		{"a setting the interferer does not have", "curves.csv", "interferer_solo_read_Bps,interferer_solo_write_Bps", "color,shade", `curves.csv:2:6: level: 1 at 75% reads is not in interferer.csv`},
		{"a setting twice", "interferer.csv", "50,1", "75,0.5", `interferer.csv:3:4: level: 0.5 at 75% reads appears twice`},
		{"half of the interferer alone", "curves.csv", "interferer_solo_read_Bps", "color", `curves.csv:2:13: interferer_solo_write_Bps: no column "interferer_solo_read_Bps"`},
		{"a part of the run as a target", "apps.csv", "color", "local_runtime_s", `apps.csv:2:13: local_runtime_s: no column "local_read_Bps" in the header: want local_runtime_s, local_read_Bps, local_write_Bps together`},
		{"a slowdown for a performance", "pairs.csv", "0.84", "1.84", `pairs.csv:2:5: norm_perf: 1.84: want solo time ÷ co-run time, above 0 to 1.5`},
		{"a percentage for a performance", "groups.csv", "0.7", "70", `groups.csv:2:7: norm_perf: 70: want solo time`},
		{"a slowdown in a curve", "curves.csv", "0.7", "1.7", `curves.csv:4:16: norm_perf: 1.7: want solo time`},
		{"a read share for a percentage", "curves.csv", "b,50", "b,0.5", `curves.csv:4:3: read_pct: 0.5: want percent`},
		{"a pair among groups", "groups.csv", "b+b", "b", `groups.csv:2:3: corunners: "b" alone`},
		{"an application without curves", "curves.csv", "b,50,1,8e9,8e9,0.7\n", "", `pairs.csv:3:3: app: no row of "b" in curves.csv`},
		{"an unknown co-runner", "pairs.csv", "b,a", "z,a", `pairs.csv:2:1: corunner: "z" is not in apps.csv`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := small()
			files["groups.csv"] = "app,corunners,norm_perf\na,b+b,0.7\n"
			files["interferer.csv"] = "read_pct,level,solo_read_Bps,solo_write_Bps\n75,0.5,7.5e9,2.5e9\n50,1,8e9,8e9\n"
			files[test.file] = strings.Replace(files[test.file], test.old, test.new, 1)
			_, err := evaluation.Read(fsOf(files))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	for name := range small() {
		files := small()
		delete(files, name)
		if _, err := evaluation.Read(fsOf(files)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: error %v", name, err)
		}
		files[name] = ""
		if _, err := evaluation.Read(fsOf(files)); err == nil || !strings.Contains(err.Error(), name+":1:1") {
			t.Errorf("%s empty: error %v", name, err)
		}
	}
}

// What the interferer reaches alone may be left to its own file.
func TestInterfererFile(t *testing.T) {
	files := small()
	files["curves.csv"] = "app,read_pct,level,norm_perf\na,75,1,0.6\na,75,0.5,0.8\nb,50,1,0.7\n"
	files["interferer.csv"] = "read_pct,level,solo_read_Bps,solo_write_Bps\n75,0.5,7.5e9,2.5e9\n75,1,15e9,5e9\n50,1,8e9,8e9\n"
	files["groups.csv"] = "app,corunners,norm_perf\na,b+b,0.7\n"
	d, err := evaluation.Read(fsOf(files))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Apps[0].Curves[0].Points[1].InterfererBytesPerSecond; got != 20e9 {
		t.Errorf("interferer alone: %v, want 20e9", got)
	}
	if len(d.Groups) != 1 || strings.Join(d.Groups[0].Corunners, " ") != "b b" || d.Groups[0].Measured != 0.7 {
		t.Errorf("groups %+v", d.Groups)
	}
}

func TestTimelineMustGoForward(t *testing.T) {
	files := small()
	files["timeseries.csv"] = "app,where,t_end_s,read_Bps,write_Bps\na,remote,2,1,1\na,local,1,1,1\na,remote,2,1,1\n"
	if _, err := evaluation.Read(fsOf(files)); err == nil || !strings.Contains(err.Error(), "timeseries.csv:4:10: t_end_s") {
		t.Errorf("error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	s := small()
	f.Add(s["apps.csv"], s["curves.csv"], s["pairs.csv"], "app,where,t_end_s,read_Bps,write_Bps\na,remote,2,1,1\n",
		"app,corunners,norm_perf\na,b+b,0.7\n", "read_pct,level,solo_read_Bps,solo_write_Bps\n50,1,8e9,8e9\n")
	f.Add("app,remote_runtime_s,remote_read_Bps,remote_write_Bps\n\"a\n\",1,0,0\n", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, apps, curves, pairs, timeline, groups, interferer string) {
		d, err := evaluation.Read(fsOf(map[string]string{
			"apps.csv": apps, "curves.csv": curves, "pairs.csv": pairs, "timeseries.csv": timeline,
			"groups.csv": groups, "interferer.csv": interferer,
		}))
		if err != nil {
			return
		}
		r, err := evaluation.Evaluate(t.Context(), d, evaluation.Options{})
		if err != nil {
			return
		}
		for _, row := range r.Rows {
			if !(row.Predicted > 0 && row.Predicted <= 1) {
				t.Fatalf("%s predicts %v for %s beside %s", row.Method, row.Predicted, row.Target, row.Corunner)
			}
		}
	})
}

func TestReadPlatform(t *testing.T) {
	files := small()
	files["platform.json"] = `{"link": "shared", "sharedCache": {"bytes": 1048576, "ways": 16, "policy": "LRU"}, "memory": "DDR4"}`
	d, err := evaluation.Read(fsOf(files))
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Platform.SharedCache; d.Platform.Link != memory.LinkShared || c == nil || c.Bytes != 1<<20 || c.Ways != 16 {
		t.Errorf("%+v", d.Platform)
	}
	for _, text := range []string{"", "{", `{"link": "long"}`, `{"sharedCache": {"bytes": -1, "ways": 16}}`} {
		files["platform.json"] = text
		if _, err := evaluation.Read(fsOf(files)); err == nil || !strings.Contains(err.Error(), "platform.json: ") {
			t.Errorf("%s: %v, want an error that names the file", text, err)
		}
	}
}
