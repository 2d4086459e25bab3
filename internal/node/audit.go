package node

import (
	"context"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/projector"
)

// withLog runs f with the log of the cluster and its database.
func (h *Host) withLog(ctx context.Context, f func(*core) error) error {
	k, done, err := h.ownLog(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	if err := k.startDatabase(ctx, h); err != nil {
		return err
	}
	if err := h.migrate(ctx, k.databaseURL); err != nil {
		return err
	}
	return f(k)
}

// audit reads all of a log that a server has, and compares it with the archive.
func (h *Host) audit(ctx context.Context, k *core, say func(at, of events.Seq)) (report LogReport, err error) {
	a, err := projector.OpenArchive(ctx, k.databaseURL)
	if err != nil {
		return report, err
	}
	defer a.Close()
	head, err := k.log.Head(ctx)
	if err != nil {
		return report, err
	}
	report = LogReport{Identity: head.Identity, Archive: a.Last, Chain: a.Chain.String()}
	found := func(f projector.Finding) { report.Damage = append(report.Damage, h.place(ctx, f)) }
	if a.Identity != "" && a.Identity != head.Identity {
		found(projector.Finding{First: 1, What: "the log is another one than the tables were made of, " + a.Identity})
		return report, nil
	}
	report.Last, err = projector.Audit{
		Log: k.log, Archive: a, Found: found,
		Read: func(_ context.Context, at events.Seq, _ int) error {
			say(at, a.Last)
			return nil
		},
	}.Run(ctx, 0, a.Last)
	if err == nil && report.Last < a.Last {
		found(projector.Finding{First: report.Last + 1, Last: a.Last, What: "the log ends before it"})
	}
	for _, d := range report.Damage {
		report.FromArchive += int(d.Last-d.First) + 1
	}
	report.FromFiles = int(report.Last) - report.FromArchive
	return report, err
}

// place says where a finding is in the files, if they are here.
func (h *Host) place(ctx context.Context, f projector.Finding) logfiles.Damage {
	d := logfiles.Damage{First: f.First, Last: f.Last, Subject: f.Subject, What: f.What}
	if h.Config.NATS.URL != "" || f.InArchive {
		return d
	}
	file, offset, err := logfiles.In(h.data().Path("log")).Locate(ctx, f.First)
	if err != nil {
		h.Logger.WarnContext(ctx, "the files of the log cannot be read", "error", err)
	}
	d.File, d.Offset = file, offset
	return d
}
