package measure

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/ratio"
)

func TestEveryMetricIsThereOrMissing(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		out := mustRun(t, r, helper("allocate"))
		for _, m := range []events.Metric{
			WallTime, TaskClock, UserTime, SysTime, CPUTime, MaxRSS, PageFaults, ContextSwitches, CPUMigrations,
			InstructionsU, CyclesU, BranchMisses, CacheMisses,
		} {
			value, measured := out.Metrics[m]
			reason, missing := out.Missing[m]
			switch {
			case measured == missing:
				t.Errorf("%s: measured %v (%v), missing %v (%q)", m, measured, value, missing, reason)
			case missing && reason == "":
				t.Errorf("%s is missing for no reason", m)
			case measured && (value < 0 || math.IsNaN(value)):
				t.Errorf("%s is %v", m, value)
			}
		}
		for m := range out.Metrics {
			base, userOnly := strings.CutSuffix(string(m), ":u")
			if _, both := out.Metrics[events.Metric(base)]; userOnly && both {
				t.Errorf("%s is measured with and without the kernel", base)
			}
		}
	})
}

func TestProbePromisesWhatRunMeasures(t *testing.T) {
	have, missing := Probe(t.Context())
	out := mustRun(t, &Runner{}, helper("allocate"))
	for _, m := range have {
		if _, there := out.Metrics[m]; !there {
			t.Errorf("%s was promised; missing: %q", m, out.Missing[m])
		}
	}
	for m, reason := range missing {
		if value, there := out.Metrics[m]; there {
			t.Errorf("%s is %v, but was said to be missing: %s", m, value, reason)
		}
	}
	if !slices.IsSorted(have) {
		t.Errorf("%v is not sorted", have)
	}
}

// either returns the metric or its user-only form. It returns ok == false if the counter is missing, which is right
// only if the kernel forbids it to this user.
func either(t *testing.T, out Outcome, m events.Metric) (value float64, ok bool) {
	t.Helper()
	for _, name := range []events.Metric{m, UserOnly(m)} {
		if value, ok = out.Metrics[name]; ok {
			return value, true
		}
	}
	var paranoid int
	if data, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err == nil {
		paranoid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	if os.Getuid() == 0 || paranoid < 3 {
		t.Fatalf("no %s: %s", m, out.Missing[m])
	}
	return 0, false
}

func TestCountersCoverTheCommandAndItsChildrenOnly(t *testing.T) {
	eachRunner(t, func(t *testing.T, r *Runner) {
		if faults, ok := either(t, mustRun(t, r, Cmd{Path: "/bin/true"}), PageFaults); ok && (faults < 5 || faults > 500) {
			t.Errorf("%v page faults of true", faults)
		}
		// The shell itself does nothing: the time is that of its two children.
		c := shell(`"$SELF"; "$SELF"`)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if os.Getuid() != 0 {
			// We may not be allowed to read the directory of the binary.
			c = helper("burn")
		}
		c.Env = append(c.Env, "SELF="+self, helperVariable+"=burn", noGoodbye)
		out := mustRun(t, r, c)
		if out.ExitCode != 0 {
			t.Fatalf("exit code %d: %s", out.ExitCode, out.Stderr)
		}
		used := out.Metrics[UserTime] + out.Metrics[SysTime]
		if used < 0.08 {
			t.Errorf("user and system time %v s of a command that burns 0.1 s", used)
		}
		if clock, ok := either(t, out, TaskClock); ok && (clock < 0.8*used || clock > 1.2*used) {
			t.Errorf("task clock %v s, user and system time %v s", clock, used)
		}
		if group, there := out.Metrics[CPUTime]; there && (group < 0.8*used || group > 1.2*used) {
			t.Errorf("CPU time of the cgroup %v s, user and system time %v s", group, used)
		}
		if wall := out.Metrics[WallTime]; wall < 0.05 || wall > 60 {
			t.Errorf("wall time %v s", wall)
		}
	})
}

// The reported memory of a command must not include that of the program that measures it.
func TestMaxRSSIsTheCommandsOwn(t *testing.T) {
	ballast := slices.Repeat([]byte{1}, 3*allocated)
	defer runtime.KeepAlive(ballast)
	if rss, there := mustRun(t, &Runner{}, Cmd{Path: "/bin/true"}).Metrics[MaxRSS]; there {
		t.Errorf("max-rss of true is %v bytes", rss)
	}
	rss := mustRun(t, &Runner{}, helper("allocate")).Metrics[MaxRSS]
	if rss < allocated || rss > 2*allocated {
		t.Errorf("max-rss %v bytes of a command that allocates %d", rss, allocated)
	}
}

func TestSettingsTakeEffect(t *testing.T) {
	var cpu int
	for cpu = range readStat() {
		break
	}
	c := shell(`cat /proc/self/status; echo personality: $(cat /proc/self/personality); echo nice: $(nice)`)
	c.CPUs, c.Nice, c.DisableASLR = []int{cpu}, 5, true
	out := mustRun(t, &Runner{}, c)
	for key, want := range map[string]string{
		"Cpus_allowed_list": joinInts(c.CPUs), "NoNewPrivs": "1", "personality": "00040000", "nice": "5",
	} {
		if got := statusOf(t, out.Stdout, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for setting, want := range map[string]string{
		SettingCPUs: joinInts(c.CPUs), SettingNice: "5", SettingASLR: "off", SettingPrivileges: "no new ones",
	} {
		if got := out.Took[setting]; got != want {
			t.Errorf("%s took %q, want %q", setting, got, want)
		}
	}
}

func TestRefusedSettingsAreRecorded(t *testing.T) {
	for _, cpu := range []int{-1, 900, 1 << 20} {
		c := Cmd{Path: "/bin/true", CPUs: []int{cpu}}
		if os.Getuid() != 0 {
			c.Nice = -5
		}
		out := mustRun(t, &Runner{}, c)
		if got := out.Took[SettingCPUs]; !strings.HasPrefix(got, "refused: ") {
			t.Errorf("CPU %d took %q", cpu, got)
		}
		if got := out.Took[SettingNice]; c.Nice != 0 && !strings.HasPrefix(got, "refused: ") {
			t.Errorf("nice %d took %q", c.Nice, got)
		}
	}
}

func TestNoNet(t *testing.T) {
	c := helper("loopback")
	c.NoNet = true
	out := mustRun(t, &Runner{}, c)
	took := out.Took[SettingNetwork]
	if strings.HasPrefix(took, "refused: ") {
		// Then the command runs without isolation. That is right only if no program may isolate here.
		if err := exec.Command("unshare", "--map-root-user", "--net", "true").Run(); err == nil {
			t.Errorf("took %q, though it is allowed", took)
		}
		if out.ExitCode != 0 {
			t.Errorf("exit code %d: %s", out.ExitCode, out.Stderr)
		}
		return
	}
	if took != "own loopback only" || out.ExitCode != 0 {
		t.Errorf("took %q, exit code %d: %s", took, out.ExitCode, out.Stderr)
	}
	either(t, out, PageFaults) // the counters still work
	c = shell(`cat /proc/net/dev; cat /proc/self/status >&2`)
	c.NoNet = true
	out = mustRun(t, &Runner{}, c)
	if devices := strings.Count(string(out.Stdout), ":"); devices != 1 || !strings.Contains(string(out.Stdout), "lo:") {
		t.Errorf("network devices: %s", out.Stdout)
	}
	if got := statusOf(t, out.Stderr, "CapAmb"); strings.Trim(got, "0") != "" {
		t.Errorf("the command got the ambient capabilities %s", got)
	}
}

// BenchmarkOverhead compares a measured run of true with a plain one, in turns: with a shim that stays, and with one per command.
// Medians: a loaded machine has a few slow moments.
func BenchmarkOverhead(b *testing.B) {
	for _, bench := range []struct {
		name  string
		kept  bool
		r     Runner
		times float64
	}{
		{"kept", true, Runner{}, 2}, {"kept, no cgroup", true, Runner{NoCgroup: true}, 2}, {"one each", false, Runner{}, 15},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := &bench.r
			if bench.kept {
				r.Shims = &Shims{}
				defer r.Shims.Close()
			}
			var ours, plain []float64
			for b.Loop() {
				start := time.Now()
				if err := exec.Command("/bin/true").Run(); err != nil {
					b.Fatal(err)
				}
				plain = append(plain, time.Since(start).Seconds())
				start = time.Now()
				out, err := r.Run(b.Context(), Cmd{Path: "/bin/true"})
				if err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(start).Seconds()-out.Metrics[WallTime])
			}
			slices.Sort(ours)
			slices.Sort(plain)
			b.ReportMetric(1000*ours[len(ours)/2], "ms-overhead")
			b.ReportMetric(1000*plain[len(plain)/2], "ms-plain")
			ratio.AtMost(b, "times-plain", ours[len(ours)/2]/plain[len(plain)/2], bench.times)
		})
	}
}
