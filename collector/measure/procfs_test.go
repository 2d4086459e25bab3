package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const twoCPUs = `cpu  30 2 30 400 50 6 7 8 0 0
cpu0 10 1 10 200 25 3 3 4 9 9
cpu3 20 1 20 200 25 3 4 4 9 9
intr 123 0 0
ctxt 456
`

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte(twoCPUs))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]cpuTicks{0: {busy: 27, steal: 4}, 3: {busy: 48, steal: 4}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cpuTicks{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3", "cpux 1 2 3 4 5 6 7 8", "cpu0 1 2 3 4 5 6 7 -8"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %v, want an error", bad, got)
		}
	}
}

func TestShares(t *testing.T) {
	at := func(busy0, busy1, steal uint64) map[int]cpuTicks {
		return map[int]cpuTicks{0: {busy: busy0, steal: steal}, 1: {busy: busy1}}
	}
	for name, c := range map[string]struct {
		before, after  map[int]cpuTicks
		only           []int
		own            time.Duration
		foreign, steal Share
	}{
		"alone":              {at(0, 0, 0), at(100, 0, 0), nil, time.Second, Share{0, true}, Share{0, true}},
		"a neighbour":        {at(0, 0, 0), at(100, 52, 0), nil, time.Second, Share{0.25, true}, Share{0, true}},
		"on another CPU":     {at(0, 0, 0), at(100, 50, 0), []int{0}, time.Second, Share{0, true}, Share{0, true}},
		"on the same CPU":    {at(0, 0, 0), at(100, 50, 0), []int{0}, 490 * time.Millisecond, Share{0.5, true}, Share{0, true}},
		"stolen":             {at(0, 0, 5), at(80, 0, 26), []int{0}, 800 * time.Millisecond, Share{0, true}, Share{0.2, true}},
		"within rounding":    {at(0, 0, 0), at(101, 1, 1), nil, time.Second, Share{0, true}, Share{0, true}},
		"a CPU went away":    {at(0, 0, 0), map[int]cpuTicks{0: {busy: 1}}, nil, time.Second, Share{}, Share{}},
		"a clock went back":  {at(9, 0, 0), at(8, 0, 0), nil, time.Second, Share{}, Share{}},
		"nothing was read":   {nil, nil, nil, time.Second, Share{}, Share{}},
		"pinned to a riddle": {at(0, 0, 0), at(1, 1, 1), []int{7}, time.Second, Share{}, Share{}},
	} {
		foreign, steal := shares(c.before, c.after, c.only, time.Second, c.own)
		if diff := cmp.Diff([]Share{c.foreign, c.steal}, []Share{foreign, steal}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if foreign, steal := shares(at(0, 0, 0), at(9, 9, 9), nil, 20*time.Millisecond, 0); foreign.Known || steal.Known {
		t.Errorf("20 ms in ticks of 10 ms give %v and %v, want unknown", foreign, steal)
	}
}

func TestInterference(t *testing.T) {
	known := func(v float64) Share { return Share{Value: v, Known: true} }
	for name, c := range map[string]struct {
		runner   Runner
		evidence Evidence
		want     string
	}{
		"nothing is known":         {},
		"quiet":                    {evidence: Evidence{Stall: known(0.01), Foreign: known(0.02), Steal: known(0.01)}},
		"fights itself":            {evidence: Evidence{Stall: known(0.5), Foreign: known(0.02), Steal: known(0)}},
		"others in no way":         {evidence: Evidence{Stall: known(0.01), Foreign: known(0.5), Steal: known(0)}},
		"others in the way":        {evidence: Evidence{Stall: known(0.1), Foreign: known(0.5)}, want: "waited for a CPU 10 % of the time while other processes used 50 % of the CPUs"},
		"too short to see others":  {evidence: Evidence{Stall: known(0.1)}, want: "waited for a CPU 10 % of the time"},
		"no cgroup to see waiting": {evidence: Evidence{Foreign: known(0.5)}, want: "other processes used 50 % of the CPUs"},
		"hypervisor":               {evidence: Evidence{Stall: known(0), Steal: known(0.05)}, want: "the hypervisor withheld 5 % of the CPUs"},
		"own limits":               {runner: Runner{MaxStall: 0.2, MaxSteal: 0.1}, evidence: Evidence{Stall: known(0.1), Steal: known(0.05)}},
	} {
		if got := c.runner.interference(c.evidence); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestParseCgroupFiles(t *testing.T) {
	usage, err := parseUsage([]byte("usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"))
	if err != nil || usage != 1500*time.Microsecond {
		t.Errorf("usage %v, error %v", usage, err)
	}
	stall, err := parsePressure([]byte("some avg10=0.06 avg60=0.76 avg300=7.45 total=68324617\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"))
	if err != nil || stall != 68324617*time.Microsecond {
		t.Errorf("stall %v, error %v", stall, err)
	}
	if n, err := parseEvents([]byte("low 0\nmax 17\noom 2\noom_kill 3\n"), "oom_kill"); err != nil || n != 3 {
		t.Errorf("%d kills, error %v", n, err)
	}
	for _, bad := range []string{"", "oom 1", "oom_kill", "oom_kill -1", "oom_kill x"} {
		if n, err := parseEvents([]byte(bad), "oom_kill"); err == nil {
			t.Errorf("kills of %q are %d, want an error", bad, n)
		}
	}
	for _, bad := range []string{"", "usage_usec", "usage_usec -1", "usage_usec 99999999999999999", "some", "some total=", "full total=1", "some total=1x"} {
		if v, err := parseUsage([]byte(bad)); err == nil {
			t.Errorf("usage of %q is %v, want an error", bad, v)
		}
		if v, err := parsePressure([]byte(bad)); err == nil {
			t.Errorf("pressure of %q is %v, want an error", bad, v)
		}
	}
}

func TestParseParent(t *testing.T) {
	if got, err := parseParent([]byte("77 (a ) S 1 (b) R 42 77 77 0 -1")); err != nil || got != 42 {
		t.Errorf("parent %d, error %v, want 42", got, err)
	}
	for _, bad := range []string{"", "77 (x", "77 (x)", "77 (x) S", "77 (x) S y"} {
		if got, err := parseParent([]byte(bad)); err == nil {
			t.Errorf("parent of %q is %d, want an error", bad, got)
		}
	}
}

func TestFindCgroup(t *testing.T) {
	const (
		hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
		unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"
		inside  = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
		blank   = `30 23 0:26 / /mnt/my\040groups rw - cgroup2 cgroup rw` + "\n"
	)
	for _, c := range []struct{ mounts, cgroup, want string }{
		{hybrid, "9:name=systemd:/\n1:cpu:/a\n0::/\n", "/sys/fs/cgroup/unified"},
		{hybrid, "0::/a/b\n", "/sys/fs/cgroup/unified/a/b"},
		{unified, "0::/user.slice/user-1000.slice\n", "/sys/fs/cgroup/user.slice/user-1000.slice"},
		{inside, "0::/docker/abc\n", "/sys/fs/cgroup"},
		{inside, "0::/docker/abc/x\n", "/sys/fs/cgroup/x"},
		{inside, "0::/docker/abcd\n", ""},
		{blank, "0::/a\n", "/mnt/my groups/a"},
		{unified, "1:cpu:/a\n", ""},
		{"", "0::/\n", ""},
	} {
		got, err := findCgroup([]byte(c.mounts), []byte(c.cgroup))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, error %v, want %q", c.cgroup, c.mounts, got, err, c.want)
		}
	}
}

func TestParseKilobytes(t *testing.T) {
	if got, err := parseKilobytes([]byte("VmPeak:\t  9 kB\nVmHWM:\t    3456 kB\n"), "VmHWM"); err != nil || got != 3456<<10 {
		t.Errorf("%d, error %v, want %d", got, err, 3456<<10)
	}
	for _, bad := range []string{"", "VmHWM", "VmHWM: x kB", "VmHWM: 1 MB", "VmHWM: -1 kB", "VmHWM: 9223372036854775807 kB"} {
		if got, err := parseKilobytes([]byte(bad), "VmHWM"); err == nil {
			t.Errorf("%q gives %d, want an error", bad, got)
		}
	}
}

// The kept output is the head and the tail of all of it.
func TestOutputKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		o, _ := newOutputs(Cmd{OutputLimit: limit})
		var all []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "pieces") {
			all = append(all, piece...)
			if n, err := o.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d, error %v", n, len(piece), err)
			}
		}
		got := string(o.Bytes())
		if len(all) <= limit {
			if got != string(all) || o.dropped != 0 {
				t.Fatalf("%q (%d dropped) of %q within %d", got, o.dropped, all, limit)
			}
			return
		}
		head, tail := string(all[:limit-limit/2]), string(all[len(all)-limit/2:])
		if !strings.HasPrefix(got, head+"\n[") || !strings.HasSuffix(got, "]\n"+tail) || o.dropped != int64(len(all)-limit) {
			t.Fatalf("%q (%d dropped) of %q within %d", got, o.dropped, all, limit)
		}
	})
}

// FuzzParsers feeds each parser of foreign bytes: none may panic, and accepted values make sense.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{
		twoCPUs, "usage_usec 1\n", "some total=1\n", "1 (a) S 2 3", "VmHWM: 1 kB\n", "0::/a\n", "30 23 0:26 / /sys rw - cgroup2 c rw\n",
		"events: Ir\nsummary: 12\n", "model name : x\n", "oom_kill 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if cpus, err := parseStat(data); err == nil && len(cpus) == 0 {
			t.Error("no CPUs and no error")
		}
		if d, err := parseUsage(data); err == nil && d < 0 {
			t.Errorf("usage %v", d)
		}
		if d, err := parsePressure(data); err == nil && d < 0 {
			t.Errorf("stall %v", d)
		}
		if pid, err := parseParent(data); err == nil && pid < 0 {
			t.Errorf("parent %d", pid)
		}
		if n, err := parseKilobytes(data, "VmHWM"); err == nil && n < 0 {
			t.Errorf("size %d", n)
		}
		if dir, err := findCgroup(data, []byte("0::/a\n")); err == nil && !strings.HasPrefix(dir, "/") {
			t.Errorf("cgroup %q", dir)
		}
		if dir, err := findCgroup([]byte("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n"), data); err == nil && dir != "/sys/fs/cgroup" && !strings.HasPrefix(dir, "/sys/fs/cgroup/") {
			t.Errorf("cgroup %q lies outside", dir)
		}
		if n, err := parseCachegrind(data); err == nil && n < 0 {
			t.Errorf("count %v", n)
		}
		if n, err := parseEvents(data, "oom_kill"); err != nil && n != 0 {
			t.Errorf("%d kills beside an error", n)
		}
		parseCPUModel(data)
	})
}
