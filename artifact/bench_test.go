package artifact

import (
	"archive/tar"
	stdbytes "bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkUnpack compares unpacking with the least possible work: a loop over the archive that writes the same files
// without regard to safety, limits or a full disk.
func BenchmarkUnpack(b *testing.B) {
	var files []file
	for i := range 2000 {
		files = append(files, file{name: fmt.Sprintf("x-1/lib/d%d/e/f%d", i/50, i), size: 2000 + i%7*8000})
	}
	files = append(files, file{name: "x-1/bin/x", size: 30_000_000})
	archive := tarball(b, files...)
	b.Run("unpack", func(b *testing.B) {
		b.SetBytes(int64(len(archive)))
		for b.Loop() {
			dir := b.TempDir()
			if err := unpack("x.tar", stdbytes.NewReader(archive), dir, &room{store: &Store{Config{Dir: dir}}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain loop", func(b *testing.B) {
		b.SetBytes(int64(len(archive)))
		for b.Loop() {
			plainLoop(b, archive, b.TempDir())
		}
	})
}

func plainLoop(b *testing.B, archive []byte, dir string) {
	tr := tar.NewReader(stdbytes.NewReader(archive))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		name := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(f, tr); err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAcquireCached measures what a job pays for a cached artifact, among a hundred others.
func BenchmarkAcquireCached(b *testing.B) {
	web := newServer(b)
	s := open(b, Config{MaxBytes: 1 << 30})
	for i := range 100 {
		tag := fmt.Sprint("t", i)
		web.publishProgram(b, tag, 1000)
		_, _, release := acquire(b, s, programRef(web, tag))
		release()
	}
	for b.Loop() {
		_, _, release, err := s.Acquire(b.Context(), programRef(web, "t50"))
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
