package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tachobench/tacho/eventlog"
)

// snapshots implements eventlog.Snapshots.
type snapshots struct {
	mu   sync.Mutex
	kept map[[2]string][]eventlog.Snapshot
}

// KeepSnapshot implements eventlog.Snapshots.
func (s *snapshots) KeepSnapshot(_ context.Context, one eventlog.Snapshot) error {
	if err := eventlog.CheckSnapshot(one); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[[2]string][]eventlog.Snapshot{}
	}
	one.Data = bytes.Clone(one.Data)
	key := [2]string{one.Fold, one.Shape}
	all := append(s.kept[key], one)
	slices.SortStableFunc(all, func(a, b eventlog.Snapshot) int { return cmp.Compare(b.Seq, a.Seq) })
	s.kept[key] = all[:min(len(all), 2)]
	return nil
}

// ReadSnapshots implements eventlog.Snapshots.
func (s *snapshots) ReadSnapshots(_ context.Context, fold, shape string) (whole []eventlog.Snapshot, damaged []error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept[[2]string{fold, shape}]), nil, nil
}
