package measure

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// A command may print a megabyte before anybody reads it.
func TestACommandPrintsAMegabyteWithoutAReader(t *testing.T) {
	if got, want := string(mustRun(t, &Runner{}, helper("room")).Stdout), fmt.Sprintf("%d\n%[1]d\n", outputRoom); got != want {
		t.Errorf("there is room for %q, want %q", got, want)
	}
}

// What a measured command prints is read by this process. BenchmarkMeasuredOutput says what that costs the command: its wall
// time beside that of the same command that prints into a file.
func BenchmarkMeasuredOutput(b *testing.B) {
	for _, size := range []int{512 << 10, 64 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%d_MiB", size>>20), func(b *testing.B) {
			var read, written, none float64
			for b.Loop() {
				wall := func(env ...string) float64 {
					out, err := (&Runner{}).Run(b.Context(), helper("print", append(env, fmt.Sprintf("BYTES=%d", size))...))
					if err != nil || out.ExitCode != 0 {
						b.Fatalf("%v, %s", err, out.Stderr)
					}
					return out.Metrics[WallTime]
				}
				read += wall()
				written += wall("FILE=" + filepath.Join(b.TempDir(), "out"))
				none += wall("FILE=/dev/null")
			}
			b.ReportMetric(read/float64(b.N), "s-read")
			b.ReportMetric(read/written, "times-a-file")
			b.ReportMetric(read/none, "times-nothing")
			b.ReportMetric((read-none)*1000/float64(b.N)/(float64(size)/(1<<20)), "ms/MiB")
		})
	}
}

// A gigabyte of a measured command is read as fast as it comes, and only its ends are kept.
func TestAMeasuredFloodIsNotKept(t *testing.T) {
	out := mustRun(t, &Runner{}, helper("print", fmt.Sprintf("BYTES=%d", 256<<20)))
	if out.ExitCode != 0 || out.StdoutDropped != 256<<20-defaultOutputLimit || !bytes.Contains(out.Stdout, []byte("bytes left out")) {
		t.Errorf("dropped %d of it, %s", out.StdoutDropped, out.Stderr)
	}
	if len(out.Stdout) > defaultOutputLimit+100 || out.Metrics[WallTime] <= 0 {
		t.Errorf("kept %d bytes", len(out.Stdout))
	}
}
