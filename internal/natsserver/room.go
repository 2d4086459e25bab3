package natsserver

import (
	"fmt"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/internal/room"
)

// After an error of the disk, such as a full one, a stream takes nothing more until its files are opened again, however
// much room there is: the server cannot know what a broken write left behind. It does not answer writers then. What it
// acknowledged before stays readable. So writers ask Stopped before: they stop while the server can still write.

// Stopped returns why nothing should be appended now; nil when nothing speaks against it.
func (s *Server) Stopped() *eventlog.FullError {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	// The answer goes to everybody who asks for something: it names no path.
	const next = "free some of the disk that holds the data directory; Tacho goes on by itself then"
	if broken != "" {
		return &eventlog.FullError{Why: "its disk failed a write", Next: next}
	}
	d, err := room.DiskOf(s.store.StoreDir)
	if err != nil || d.Free >= d.Reserve() {
		return nil
	}
	return &eventlog.FullError{
		Why:  fmt.Sprintf("its disk is full (%s left, and the log leaves %s free)", phrase.Bytes(d.Free), phrase.Bytes(d.Reserve())),
		Next: next,
	}
}

// brokenBy notes what the server says when it stops storing.
func (s *Server) brokenBy(said string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == "" {
		s.broken = said
	}
}

// Mend opens the files of all streams again if the server stopped storing and there is room, and reports whether it did.
// What was written in half is cut off. Clients stay connected; they get no answer for a moment. If it fails, the server
// stays stopped: call it again.
func (s *Server) Mend() (mended bool, err error) {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if broken == "" {
		return false, nil
	}
	if d, err := room.DiskOf(s.store.StoreDir); err != nil || d.Free < d.Reserve() {
		return false, err
	}
	if err := s.ns.ShutdownJetStream(); err != nil {
		return false, fmt.Errorf("close the streams: %w", err)
	}
	s.mu.Lock()
	s.broken = ""
	s.mu.Unlock()
	store := s.store // the server changes it
	if err := s.ns.EnableJetStream(&store); err != nil {
		s.brokenBy(err.Error())
		return false, fmt.Errorf("open the streams: %w", err)
	}
	return true, nil
}
