package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/datadir"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// machineCore takes one command and answers as it is told.
type machineCore struct {
	method, path string
	body         map[string]any
	status       int
	answer       any
}

func (m *machineCore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.method, m.path, m.body = r.Method, strings.TrimPrefix(r.URL.RequestURI(), "/api/v1/"), nil
	// A command without a body leaves it empty.
	_ = json.NewDecoder(r.Body).Decode(&m.body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(m.status)
	_ = json.NewEncoder(w).Encode(m.answer)
}

// commanding runs one command line against the core, on a data directory.
func (m *machineCore) commanding(t *testing.T, dir, line string) (out, errs string, code int) {
	t.Helper()
	web := httptest.NewServer(m)
	defer web.Close()
	var stdout, stderr bytes.Buffer
	p := &Program{Stdout: &stdout, Stderr: &stderr, Clock: time.Now, Getenv: func(name string) string {
		return map[string]string{"HOME": dir, "TACHO_SERVER": web.URL, "TACHO_DATA": dir}[name]
	}}
	code = p.Main(t.Context(), strings.Fields(line))
	return stdout.String(), stderr.String(), code
}

func slotsMade(existed bool) control.MachineAnswer {
	return control.MachineAnswer{Answer: control.Answer{Seq: 7, Existed: existed}, Collectors: []control.SlotCollector{
		{Name: "eider-1", Lane: events.PoolLane("linux", 4)}, {Name: "eider-2", Lane: events.PoolLane("linux", 5)},
	}}
}

const addEider = "machine add eider --pool linux --slots 2"

// The keys are kept before the log knows them, and a key that it does not know is not kept.
func TestKeysOfAMachine(t *testing.T) {
	dir := t.TempDir()
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "credentials", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	m := &machineCore{status: http.StatusConflict, answer: client.Error{Message: "there is or was a collector eider-1"}}
	if _, errs, code := m.commanding(t, dir, addEider); code != ExitRefused || !strings.Contains(errs, "there is or was") || len(files()) != 0 {
		t.Errorf("refused: %d %s, %v", code, errs, files())
	}
	m.status, m.answer = http.StatusOK, slotsMade(true)
	if _, errs, code := m.commanding(t, dir, addEider); code != ExitRefused || !strings.Contains(errs, "not all of its keys are in "+dir) || len(files()) != 0 {
		t.Errorf("registered elsewhere: %d %s, %v", code, errs, files())
	}
	m.status, m.answer = http.StatusServiceUnavailable, client.Error{Message: "the log is not reachable"}
	if _, _, code := m.commanding(t, dir, addEider); code == ExitDone || len(files()) != 2 {
		t.Errorf("it is unknown whether the log has the keys, and kept are %v", files())
	}
	sent := m.body["nkeys"]
	m.status, m.answer = http.StatusOK, slotsMade(true)
	out, errs, code := m.commanding(t, dir, addEider)
	if code != ExitDone || !cmp.Equal(m.body["nkeys"], sent) {
		t.Errorf("asked again: %d %s, with %v and not %v", code, errs, m.body["nkeys"], sent)
	}
	creds, err := datadir.ReadCredentials(datadir.Dir(dir).CredentialsFile("eider-2"))
	if err != nil || creds.Target != "pool_linux" || creds.Set != 5 {
		t.Errorf("%+v %v", creds, err)
	}
	contains(t, "machine add", out, "machine eider of pool linux is registered with 2 collectors",
		"run `tacho collector run eider-2` for lane pool_linux/5; credentials: "+datadir.Dir(dir).CredentialsFile("eider-2"))
}

func TestCommandsAboutMachinesSayWhatIsGiven(t *testing.T) {
	made := control.Answer{Seq: 7}
	for line, want := range map[string]struct {
		method, path string
		body         map[string]any
		answer       any
	}{
		"machine add eider --pool linux --memory 64g --cpus 16 --device gpu:2 --device tpu --trait nvme --trait avx --only big --accepts master": {
			"POST", "machines", map[string]any{
				"name": "eider", "pool": "linux", "os": runtime.GOOS, "arch": runtime.GOARCH, "slots": 1., "memory_mib": 65536., "cpus": 16.,
				"devices": map[string]any{"gpu": 2., "tpu": 1.}, "traits": []any{"nvme", "avx"}, "only": []any{"big"}, "accepts": []any{"master"},
			}, control.MachineAnswer{Answer: made, Collectors: []control.SlotCollector{{Name: "eider", Lane: events.PoolLane("linux", 0)}}},
		},
		"machine set eider --memory 512m":                        {"PUT", "machines/eider", map[string]any{"memory_mib": 512.}, made},
		"machine set eider --clear devices --clear only":         {"PUT", "machines/eider", map[string]any{"devices": map[string]any{}, "only": []any{}}, made},
		"machine remove eider --reason sold":                     {"DELETE", "machines/eider?reason=sold", nil, made},
		"queue set q --require memory=8g --require pool=linux":   {"PUT", "queues/q", map[string]any{"requires": []any{"memory=8g", "pool=linux"}}, made},
		"queue set q --any-machine":                              {"PUT", "queues/q", map[string]any{"requires": []any{}}, made},
		"request master v1 --require memory=8g --require cpus=2": {"POST", "requests", map[string]any{"requires": []any{"memory=8g", "cpus=2"}}, client.RequestAnswer{Answer: made}},
	} {
		m := &machineCore{status: http.StatusCreated, answer: want.answer}
		_, errs, code := m.commanding(t, t.TempDir(), line)
		if code != ExitDone || m.method != want.method || m.path != want.path {
			t.Errorf("tacho %s: %d %s: %s %s", line, code, errs, m.method, m.path)
		}
		if strings.HasPrefix(line, "request ") {
			m.body = map[string]any{"requires": m.body["requires"]}
		}
		delete(m.body, "nkeys")
		if diff := cmp.Diff(want.body, m.body); diff != "" {
			t.Errorf("tacho %s: %s", line, diff)
		}
	}
}

func TestWrongCommandsAboutMachinesAreNotSent(t *testing.T) {
	for line, want := range map[string]string{
		"machine add eider":                             "--pool",
		"machine add eider --pool p --slots 0":          "--slots 0: use a number from 1 to 64",
		"machine add eider --pool p --slots 65":         "--slots 65",
		"machine add eider --pool p --memory 8q":        "--memory 8q: write memory=8",
		"machine add eider --pool p --device gpu:0":     "--device gpu:0: write device=NAME",
		"machine set eider --device gpu --device gpu:2": "--device gpu is given twice",
		"machine set eider --clear cpus":                `must be one of "devices","traits","only","accepts"`,
		"machine set eider --clear traits --trait nvme": "leave --clear out",
		"machine set eider --slots 2":                   "unknown flag --slots",
		"queue set q --require memory=8g --any-machine": "can't be used together",
	} {
		m := &machineCore{}
		_, errs, code := m.commanding(t, t.TempDir(), line)
		if code != ExitUsage || !strings.Contains(errs, want) || m.method != "" {
			t.Errorf("tacho %s: %d %s, want %q", line, code, errs, want)
		}
	}
}

func TestEventsOfMachinesInWords(t *testing.T) {
	lane := events.PoolLane("linux", 0)
	for want, f := range map[string]events.Fact{
		"machine eider of pool linux, linux/amd64, 2 slots, 64 GiB, 1 CPU, devices gpu:2 tpu, traits nvme, only for big, accepts master": events.MachineDescribed{
			Machine: "eider", Pool: "linux", OS: "linux", Arch: "amd64", Slots: 2, MemoryMiB: 65536, CPUs: 1, Devices: map[string]int{"tpu": 1, "gpu": 2},
			Traits: []string{"nvme"}, Only: []string{"big"}, Accepts: []events.RequestKind{"master"},
		},
		"machine eider of pool linux, linux/amd64, 1 slot, 512 MiB": events.MachineDescribed{Machine: "eider", Pool: "linux", OS: "linux", Arch: "amd64", Slots: 1, MemoryMiB: 512},
		"machine eider for good: sold":                              events.MachineRemoved{Machine: "eider", Reason: "sold"},
		"collector eider for lane pool_linux/0, on machine eider":   events.CollectorRegistered{Name: "eider", Target: lane.Target, Set: lane.Set, Machine: "eider"},
		"queue q has weight 10, requires memory=8g os=linux":        events.QueueConfigured{Queue: "q", Weight: 10, Requires: []string{"memory=8g", "os=linux"}},
		"master request r1 for v1, requires cpus=2: artifacts_ready": events.RequestCreated{
			RequestID: "r1", Kind: "master", Tag: "v1", State: events.StateArtifactsReady, Requires: []string{"cpus=2"},
		},
	} {
		if got := describe(f); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestViewsOfMachines(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.Local)
	eider := readmodel.Machine{
		Name: "eider", Pool: "linux", OS: "linux", Arch: "amd64", MemoryMiB: 65536, CPUs: 16, Devices: map[string]int{"gpu": 2}, Traits: []string{"nvme"},
		Only: []string{"big"}, Accepts: []events.RequestKind{"master", "try"}, Slots: 3, FreeMemoryMiB: 40960, FreeCPUs: 12, Open: 1,
		Full: &readmodel.MachineFull{Words: "a job found 7 MiB"},
		Collectors: []readmodel.MachineSlot{
			{
				Name: "eider-1", Lane: events.PoolLane("linux", 0), State: readmodel.CollectorBenchmarking, Since: at,
				Job: &readmodel.MachineJob{JobID: "j1", Tag: "v1", Kind: "build", Requires: []string{"cpus=4", "memory=24g"}},
			},
			{Name: "eider-2", Lane: events.PoolLane("linux", 1), State: readmodel.CollectorIdle, Since: at},
			{Name: "eider-3", Lane: events.PoolLane("linux", 2), State: readmodel.CollectorIdle, Since: at},
		},
	}
	answers := map[string]any{
		"machines": readmodel.Machines{
			Machines: []readmodel.Machine{eider, {Name: "plain", Pool: "linux", Slots: 1}},
			Unserved: []readmodel.Unserved{{Requires: []string{"trait=avx"}, Kind: "try", Jobs: 2, Since: at, JobID: "j7", Nearest: "eider", Lacks: "it lacks trait avx"}},
		},
		"status":         client.Status{},
		"machines/eider": eider,
		"collectors": []client.Collector{
			{Collector: readmodel.Collector{Name: "auk", Environment: &events.Environment{Settings: map[string]string{"limits": "not enforced: no"}}}},
			{Collector: readmodel.Collector{
				Name: "eider-2", Machine: "eider", Environment: &events.Environment{Settings: map[string]string{"limits": "not enforced: no controller"}},
			}},
			{Collector: readmodel.Collector{Name: "eider-3", Machine: "eider", Environment: &events.Environment{Settings: map[string]string{"limits": "enforced"}}}},
		},
		"alerts": []readmodel.Alert{
			{Kind: events.AlertHostFull, About: "auk", Message: "Machine auk is full."},
			{Kind: events.AlertHostFull, About: "eider", Message: "Machine eider is full.", Action: "Offer less."},
		},
		"shares": readmodel.Shares{FloorDefault: 100},
		"queues": []readmodel.NamedQueue{{Name: "bisect", Requires: []string{"memory=8g", "pool=linux"}}, {Name: "other"}},
	}
	for line, parts := range map[string][]string{
		"machine list": {
			"eider    linux  1 of 3  40 GiB of 64 GiB  12 of 16   gpu:2    nvme    1 benchmarking, 2 idle", "plain    linux  0 of 1  not known         not known  -        -       none",
			"eider is full: a job found 7 MiB",
			"no machine can run 2 jobs of try requests, such as j7, which waits since 2026-11-22 09:00:00 and requires trait=avx: eider comes nearest, it lacks trait avx",
		},
		"machine show eider": {
			"machine eider of pool linux", "1 of at most 3", "40 GiB of 64 GiB free", "12 of 16 free", "master try", "eider-1    pool_linux/0  benchmarking", "j1 (v1 build)  cpus=4 memory=24g",
			"limits   not enforced, jobs can use more than they reserve: no controller", "full     a job found 7 MiB", "alert    Machine eider is full. Offer less.",
		},
		"doctor": {
			"note  floors", "the floor of the tier idle is 0 %: its jobs may wait for ever", "tacho share policy --floor idle=0.5%",
			"note  limits", "they can use more, on: eider; `tacho machine show NAME` says why",
		},
		"machine list --json": {`"free_memory_mib": 40960`},
		"queue list":          {"MEMBERS   REQUIRES", "everyone  memory=8g pool=linux", "everyone  -"},
	} {
		out, errs, code := answering(t, answers, line)
		if code != ExitDone {
			t.Errorf("tacho %s: exit code %d: %s", line, code, errs)
		}
		contains(t, "tacho "+line, out, parts...)
	}
	if _, errs, code := answering(t, answers, "machine show auk"); code != ExitRefused || !strings.Contains(errs, "tacho machine list") {
		t.Errorf("%d %s", code, errs)
	}
	out, _, _ := answering(t, map[string]any{"machines": readmodel.Machines{}}, "machine list")
	contains(t, "machine list", out, "No machine of a pool is registered")
}
