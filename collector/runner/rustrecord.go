package runner

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// leafMark is a flag that no compiler has. Cargo gives it only to the compiler of the leaf.
	leafMark = "--tacho-leaf"
	// leafSuffix is in the names of the files that the leaf is compiled to, in the place of a hash.
	leafSuffix = "-leaf"
	// faultSuffix marks the file in which a wrapper says why it failed.
	faultSuffix = ".fault"

	// These variables tell a wrapper where the real tools are, where to record to, and where the slot is.
	variableBin    = "TACHO_RUST_BIN"
	variableRecord = "TACHO_RUST_RECORD"
	variableSlot   = "TACHO_RUST_SLOT"
)

// recording is the command with which cargo compiles the leaf, as cargo gave it. It is stored as gob, since arguments
// and environment are bytes and need not be valid text.
type recording struct {
	Args, Env []string
	Dir       string
}

// RunWrapperIfAsked does the work of a compiler if cargo started this process in the place of one. It then returns
// true, and the program must end at once. Call it first in main, beside measure.RunShimIfAsked, and in the TestMain
// of packages that measure Rust.
func RunWrapperIfAsked() bool {
	tool, file := filepath.Base(os.Args[0]), os.Getenv(variableRecord)
	if file == "" || tool != verbRustc && tool != verbRustdoc {
		return false
	}
	if err := wrap(tool, file); err != nil {
		// Cargo may take this for a success. So the driver looks at this file first.
		if err := os.WriteFile(file+faultSuffix, []byte(err.Error()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return true
}

// wrap records the command of the leaf. For any other crate it becomes the real tool.
func wrap(tool, file string) error {
	env := os.Environ()
	home := strings.TrimPrefix(os.Getenv("CARGO_MANIFEST_DIR"), os.Getenv(variableSlot))
	identity := []string{os.Getenv("CARGO_PKG_NAME"), os.Getenv("CARGO_PKG_VERSION"), home}
	args := replaceMetadata(os.Args[1:], identity)
	mark := slices.Index(args, leafMark)
	if mark < 0 {
		real := filepath.Join(os.Getenv(variableBin), tool)
		return fmt.Errorf("execute %s: %w", real, unix.Exec(real, append([]string{real}, args...), env))
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("record the compile of the program: %w", err)
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("cargo compiles more than one crate of the program: choose one by the args of the benchmark, such as \"--lib\" or \"--bin=NAME\"")
	}
	if err != nil {
		return fmt.Errorf("record the compile of the program: %w", err)
	}
	r := recording{Args: slices.Delete(slices.Clone(args), mark, mark+1), Env: env, Dir: dir}
	if err := errors.Join(gob.NewEncoder(out).Encode(r), out.Close()); err != nil {
		return fmt.Errorf("record the compile of the program: %w", err)
	}
	return nil
}

// readRecording reads what a wrapper recorded. It returns fs.ErrNotExist if there is nothing, and another error if
// the wrapper failed.
func readRecording(file string) (recording, error) {
	var r recording
	if fault, err := os.ReadFile(file + faultSuffix); err == nil {
		return r, errors.New(string(fault))
	}
	in, err := os.Open(file)
	if err != nil {
		return r, fmt.Errorf("read the compile of the program: %w", err)
	}
	defer func() { _ = in.Close() }()
	if err := gob.NewDecoder(in).Decode(&r); err != nil {
		return r, fmt.Errorf("read the compile of the program: %w", err)
	}
	return r, nil
}

// linkWrapper makes a directory in which the compilers' names are links to this program.
func linkWrapper(dir string) error {
	self, err := os.Executable()
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	for _, tool := range []string{verbRustc, verbRustdoc} {
		if err == nil {
			err = os.Symlink(self, filepath.Join(dir, tool))
		}
	}
	if err != nil {
		return fmt.Errorf("put this program in the place of the compiler: %w", err)
	}
	return nil
}

// wrapperEnv returns the variables that make cargo call the wrappers in dir, and that tell the wrappers what they
// need.
func wrapperEnv(dir, bin, file, slot string) []string {
	return []string{
		"RUSTC=" + filepath.Join(dir, verbRustc),
		"RUSTDOC=" + filepath.Join(dir, verbRustdoc),
		variableBin + "=" + bin,
		variableRecord + "=" + file,
		variableSlot + "=" + slot,
	}
}

// replaceMetadata replaces the hash by which cargo tells the crates of a build apart. Cargo's own hash covers cargo's
// version and the compiler's, and the compiler hashes it into every name. So two toolchains would walk their hash
// tables in different orders and differ by chance. Our hash covers what the crate is: package, name, type, features,
// and whether it is for the host.
func replaceMetadata(args, identity []string) []string {
	for i, a := range args {
		switch {
		case a == "--test" || strings.HasPrefix(a, "--target"):
			identity = append(identity, a)
		case i > 0 && slices.Contains([]string{"--crate-name", "--crate-type", "--cfg"}, args[i-1]):
			identity = append(identity, args[i-1], a)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	settled := slices.Clone(args)
	for i, a := range args {
		if i > 0 && args[i-1] == "-C" && strings.HasPrefix(a, "metadata=") {
			settled[i] = "metadata=" + hex.EncodeToString(sum[:8])
		}
	}
	return settled
}

// arguments returns the compiler's arguments for measuring. The compiler writes to out, to files whose names do not
// tell the toolchain; only its list of dependencies goes to depInfo. It reports errors as text, not as JSON, which
// cargo asks for.
func (r recording) arguments(out, depInfo string) []string {
	var args []string
	for i := 0; i < len(r.Args); i++ {
		a := r.Args[i]
		name, value, _ := strings.Cut(a, "=")
		next := i+1 < len(r.Args)
		switch {
		case name == "--error-format" || name == "--json":
		case (a == "--out-dir" || a == "-o") && next:
			args = append(args, a, out)
			i++
		case a == "-C" && next && strings.HasPrefix(r.Args[i+1], "extra-filename="):
			args = append(args, a, "extra-filename="+leafSuffix)
			i++
		case name == "--emit":
			kinds := strings.Split(value, ",")
			if at := slices.Index(kinds, "dep-info"); at >= 0 {
				kinds[at] = "dep-info=" + depInfo
			}
			args = append(args, "--emit="+strings.Join(kinds, ","))
		default:
			args = append(args, a)
		}
	}
	return args
}

// writesFiles reports whether the leaf is compiled to files whose size is worth a metric.
func (r recording) writesFiles(verb string) bool {
	if verb == verbRustdoc {
		return slices.Contains(r.Args, "--output-format=json")
	}
	kind := slices.Index(r.Args, "--crate-type")
	program := kind >= 0 && kind+1 < len(r.Args) && r.Args[kind+1] == "bin"
	return !program || slices.ContainsFunc(r.Args, func(a string) bool {
		kinds, ok := strings.CutPrefix(a, "--emit=")
		return ok && slices.Contains(strings.Split(kinds, ","), "link")
	})
}

// environment returns the compiler's environment for measuring: without our variables, and without the job server of
// a cargo that has ended.
func (r recording) environment() []string {
	return slices.DeleteFunc(slices.Clone(r.Env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains([]string{
			"RUSTC", "RUSTDOC", "MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS", variableBin, variableRecord, variableSlot,
		}, name)
	})
}
