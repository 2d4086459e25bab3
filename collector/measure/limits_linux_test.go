package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
)

// files makes a directory with these files in it.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLimitsAreWrittenWhereTheKernelTakesThem(t *testing.T) {
	dir := files(t, map[string]string{"memory.max": "", "memory.swap.max": "", "cpu.max": ""})
	took := cgroup(dir).limit(Limits{Memory: 64 << 20, CPUs: 2})
	if took[SettingMemory] != "67108864 bytes" || took[SettingCPUTime] != "2" {
		t.Errorf("took %q", took)
	}
	if memory, swap, cpu := read(t, dir, "memory.max"), read(t, dir, "memory.swap.max"), read(t, dir, "cpu.max"); memory != "67108864" || swap != "0" || cpu != "200000 100000" {
		t.Errorf("memory %q, swap %q, cpu %q", memory, swap, cpu)
	}
	first, second := cgroup(t.TempDir()).limit(Limits{Memory: 1, CPUs: 1}), cgroup(t.TempDir()).limit(Limits{Memory: 1, CPUs: 1})
	if first[SettingMemory] != "refused: memory.max: no such file or directory" || first[SettingMemory] != second[SettingMemory] || first[SettingCPUTime] != second[SettingCPUTime] {
		t.Errorf("without controllers: %q and %q", first, second)
	}
	if took := cgroup(t.TempDir()).limit(Limits{}); len(took) > 0 {
		t.Errorf("without limits: %q", took)
	}
}

func TestOnlyTheLimitOfTheGroupCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		files    map[string]string
		exceeded bool
		peak     int64
	}{
		"killed at the limit":         {map[string]string{"memory.events": "oom 1\noom_kill 2\n", "memory.peak": "4096\n"}, true, 4096},
		"killed, on an older kernel":  {map[string]string{"memory.events": "oom 1\noom_kill 2\n"}, true, 0},
		"the machine was full":        {map[string]string{"memory.events": "oom 0\noom_kill 1\n", "memory.peak": "4096\n"}, false, 4096},
		"nothing happened":            {map[string]string{"memory.events": "oom 0\noom_kill 0\n", "memory.peak": "8192\n"}, false, 8192},
		"nothing, on an older kernel": {map[string]string{"memory.events": "oom 0\noom_kill 0\n"}, false, 0},
		"no number":                   {map[string]string{"memory.events": "oom 0\noom_kill 0\n", "memory.peak": "max\n"}, false, 0},
		"no controller":               {nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if exceeded, peak := cgroup(files(t, tc.files)).memory(); exceeded != tc.exceeded || peak != tc.peak {
				t.Errorf("exceeded %t, peak %d", exceeded, peak)
			}
		})
	}
}

func TestWhyLimitsCannotBeEnabled(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no cgroup":       {nil, "read the controllers"},
		"not delegated":   {map[string]string{"cgroup.subtree_control": "", "cgroup.controllers": "cpu pids\n"}, `no controller "memory"`},
		"already enabled": {map[string]string{"cgroup.subtree_control": "cpu memory\n", "cgroup.controllers": ""}, ""},
		"to be enabled":   {map[string]string{"cgroup.subtree_control": "cpu\n", "cgroup.controllers": "cpu memory\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, tc.files)
			err := enable(dir)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOnlyOurOwnProcessesAreMoved(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	dir := files(t, map[string]string{"cgroup.procs": own + "\n7\n1\n"})
	if err := os.Mkdir(filepath.Join(dir, leafName), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, leafName, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := settle(dir, 7); err == nil || !strings.Contains(err.Error(), "process 1 is in cgroup "+dir) {
		t.Errorf("got %v", err)
	}
	if moved := read(t, dir, leafName, "cgroup.procs"); moved != "" {
		t.Errorf("moved %q", moved)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(own+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := settle(dir, 0); err != nil {
		t.Error(err)
	}
	if moved := read(t, dir, leafName, "cgroup.procs"); moved != own {
		t.Errorf("moved %q", moved)
	}
}

// Either the kernel keeps the limits, or the outcome says why not.
func TestLimitsHoldOrAreSaidNotTo(t *testing.T) {
	enabled := EnableLimits(0)
	r := &Runner{Limits: Limits{Memory: allocated / 2, CPUs: 1}}
	out := mustRun(t, r, helper("allocate"))
	if enabled == nil {
		if !out.OutOfMemory || out.Signal != "SIGKILL" || out.MemoryLimit != allocated/2 || out.Took[SettingCPUTime] != "1" {
			t.Errorf("within limits it ended as %+v", out)
		}
		return
	}
	t.Logf("no limits here: %v", enabled)
	if out.OutOfMemory || out.ExitCode != 0 || !strings.HasPrefix(out.Took[SettingMemory], "refused: ") || !strings.HasPrefix(out.Took[SettingCPUTime], "refused: ") {
		t.Errorf("without limits it ended as %+v", out)
	}
	out = mustRun(t, &Runner{NoCgroup: true, Limits: r.Limits}, helper("allocate"))
	if out.Took[SettingMemory] != "refused: switched off" {
		t.Errorf("without cgroups it took %q", out.Took)
	}
}

func TestWhatACommandUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		out  Outcome
		want Use
	}{
		"a cgroup that counts memory": {
			Outcome{MemoryPeak: 4096, Metrics: map[events.Metric]float64{MaxRSS: 1024, CPUTime: 3, UserTime: 1, SysTime: 1}}, Use{4096, 3 * time.Second},
		},
		"a cgroup without controllers": {Outcome{Metrics: map[events.Metric]float64{MaxRSS: 1024, CPUTime: 3}}, Use{1024, 3 * time.Second}},
		"no cgroup":                    {Outcome{Metrics: map[events.Metric]float64{MaxRSS: 1024, UserTime: 1.5, SysTime: 0.5}}, Use{1024, 2 * time.Second}},
		"too small to tell":            {Outcome{}, Use{}},
	} {
		if got := tc.out.Use(); got != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEachCommandThatRanIsTold(t *testing.T) {
	var told []Outcome
	r := &Runner{Ended: func(out Outcome) { told = append(told, out) }}
	mustRun(t, r, helper("allocate"))
	mustRun(t, r, Cmd{Path: "/bin/false"})
	_, err := r.Run(t.Context(), Cmd{Path: "/no/such/file"})
	if err == nil || len(told) != 2 || told[1].ExitCode != 1 {
		t.Fatalf("%v, told %+v", err, told)
	}
	if u := told[0].Use(); u.Memory < allocated || u.CPU <= 0 {
		t.Errorf("it used %+v", u)
	}
}
