package compare

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestCause: the report keeps the cause from a message of any program.
func TestCause(t *testing.T) {
	command := "bench --seed 1 ended with exit code 2:\n"
	for _, test := range []struct{ name, given, want string }{
		{"one line", "killed after 10m0s", "killed after 10m0s"},
		{"nothing", "\n \n", ""},
		{"a Go panic", command + "starting\n\npanic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.main()", "bench --seed 1 ended with exit code 2: panic: runtime error: index out of range [5] with length 3"},
		{"a fatal error of Go", command + "runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n\nruntime stack:", "bench --seed 1 ended with exit code 2: fatal error: stack overflow"},
		{"a Go compiler", command + "# example\n./main.go:12:2: undefined: x", "bench --seed 1 ended with exit code 2: # example ./main.go:12:2: undefined: x"},
		{"a Rust panic", command + "thread 'main' panicked at src/main.rs:4:5:\nattempt to divide by zero\nnote: run with `RUST_BACKTRACE=1`", "bench --seed 1 ended with exit code 2: thread 'main' panicked at src/main.rs:4:5: attempt to divide by zero"},
		{"an older Rust panic", command + "thread 'main' panicked at 'boom', src/main.rs:2:5\nnote: run", "bench --seed 1 ended with exit code 2: thread 'main' panicked at 'boom', src/main.rs:2:5"},
		{"rustc", command + "warning: unused variable\nerror[E0308]: mismatched types\n  --> src/main.rs\nerror: aborting due to 1 previous error", "bench --seed 1 ended with exit code 2: error[E0308]: mismatched types"},
		{"gcc", command + "a.c: In function 'main':\na.c:3:5: error: unknown type name 'x'\n    3 | x y;", "bench --seed 1 ended with exit code 2: a.c:3:5: error: unknown type name 'x'"},
		{"tsc", command + "a.ts(1,2): error TS2322: Type 'x'\nFound 1 error.", "bench --seed 1 ended with exit code 2: a.ts(1,2): error TS2322: Type 'x'"},
		{"git", command + "fatal: not a git repository\nhint: none", "bench --seed 1 ended with exit code 2: fatal: not a git repository"},
		{"Python", command + "Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: boom", "bench --seed 1 ended with exit code 2: ValueError: boom"},
		{"Python without words", command + "Traceback (most recent call last):\n  assert x\nAssertionError", "bench --seed 1 ended with exit code 2: AssertionError"},
		{"Java", command + "starting\nException in thread \"main\" java.lang.NullPointerException: boom\n\tat Main", "bench --seed 1 ended with exit code 2: Exception in thread \"main\" java.lang.NullPointerException: boom"},
		{"no word that tells", command + "one\ntwo\n\nthree\n", "bench --seed 1 ended with exit code 2: two three"},
		{"words in passing", command + "compiling error-chain v0.1\nno errors so far\nbye", "bench --seed 1 ended with exit code 2: no errors so far bye"},
		{"the first line tells", "error[E0308]: mismatched types\n  --> src/main.rs", "error[E0308]: mismatched types"},
		{"a time limit", "bench was killed after its time limit of 10m0s:\nstep 1\nstep 2\nstep 3", "bench was killed after its time limit of 10m0s: step 2 step 3"},
		{"Windows lines", command + "a\r\npanic: b\r\nc\r\n", "bench --seed 1 ended with exit code 2: panic: b"},
		{"a long command", strings.Repeat("x", 500) + " ended with exit code 2:\npanic: boom", strings.Repeat("x", 30) + "…" + "xxxxx ended with exit code 2: panic: boom"},
		{"a long cause", "bench failed:\npanic: " + strings.Repeat("x", 500) + " the end", "bench failed: panic: " + strings.Repeat("x", 62) + "…" + strings.Repeat("x", 61) + " the end"},
		{"a long line", strings.Repeat("x", 500), strings.Repeat("x", 100) + "…" + strings.Repeat("x", 99)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cause(test.given); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestCauseIsBounded: for any output of a program, the cause is one short line.
func TestCauseIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"error: x", "panicked at x:", strings.Repeat("x", 300), strings.Repeat("error: ", 90)}))
		got := cause(strings.Join(rapid.SliceOf(line).Draw(t, "lines"), "\n"))
		if n := utf8.RuneCountInString(got); n > maxName || strings.ContainsAny(got, "\r\n") {
			t.Fatalf("%d characters: %q", n, got)
		}
	})
}
