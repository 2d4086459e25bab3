package node

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/turns"
)

// doctorBuilds looks at what builds need, and at who shares the machine.
func (h *Host) doctorBuilds(ctx context.Context) []Finding {
	tokens := Finding{What: "tokens", Verdict: "good", Detail: fmt.Sprintf(
		"%s: jobs that build get at most as many, and fewer if the machine offers fewer (`tacho machine set --cpus`)", phrase.Count(runtime.NumCPU(), "CPU"))}
	return []Finding{tokens, doctorMake(ctx), h.doctorTurns()}
}

// doctorMake says which make runs, since only some know how to take tokens by a named pipe.
func doctorMake(ctx context.Context) Finding {
	f := Finding{What: "make", Verdict: "good"}
	path, err := exec.LookPath("make")
	if err != nil {
		f.Verdict, f.Detail, f.Next = "note", "not found; it is for suites whose builds call it", "apt-get install make"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	version, _, _ := strings.Cut(string(out), "\n")
	if err != nil || !strings.HasPrefix(version, "GNU Make") {
		f.Verdict, f.Detail = "note", path+" is not GNU make: builds that call it do not share their tokens"
		f.Next = "install GNU make"
		return f
	}
	f.Detail = version + " in " + path
	return f
}

// doctorTurns says who takes turns on this machine.
func (h *Host) doctorTurns() Finding {
	f := Finding{What: "turns", Verdict: "good"}
	dir := h.turns()
	users := turns.Users(dir)
	if len(users) == 0 {
		f.Detail = "no collector runs on this machine now; they take turns by " + dir
		return f
	}
	var words []string
	for _, u := range users {
		text := u.Name
		if u.Measures != "" {
			text = fmt.Sprintf("%s (process %d, %s)", u.Name, u.PID, measuresHow(u.Measures))
		}
		words = append(words, text)
	}
	f.Detail = fmt.Sprintf("%s share this machine, which measures or builds, never both: %s; by %s",
		phrase.Count(len(users), "collector"), strings.Join(words, ", "), dir)
	if len(users) == 1 {
		f.Detail = fmt.Sprintf("%s has this machine for itself; others would take turns with it by %s", words[0], dir)
	}
	return f
}

func measuresHow(k turns.Kind) string {
	if k == turns.Measure {
		return "measures beside others"
	}
	return "measures alone"
}
