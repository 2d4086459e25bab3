package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/logfiles"
	"github.com/tachobench/tacho/internal/retry"
	"github.com/tachobench/tacho/projector"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

const (
	// scrubFile keeps the place of the scrub across restarts.
	scrubFile = "log.scrub"
	// scrubSpeed is how many bytes a second the scrub reads; one page of it at a time.
	scrubSpeed = 5 << 20
	// scrubKeep is how often its place is written down.
	scrubKeep = 10 * time.Second
	// scrubEvery is the pause from the begin of one pass to that of the next one.
	scrubEvery = 24 * time.Hour
	// scrubTries is the pause after the database or the log was away.
	scrubTries = 10 * time.Second
)

// scrubPlace is what the file says.
type scrubPlace struct {
	Identity string     `json:"identity"`
	At       events.Seq `json:"at"`
	// Began is when the pass began, Passed when the last one ended.
	Began  time.Time `json:"began"`
	Passed time.Time `json:"passed"`
	// Found is the first thing that this pass, or else the one before it, found.
	Found *logfiles.Damage `json:"found,omitempty"`
	// InArchive says that the log is right and the archive is not.
	InArchive bool `json:"in_archive,omitempty"`
}

// scrub reads the whole log again and again, slowly, and compares it with the archive: most of a log is read by nobody for years.
//
// What it finds stops nothing. Every fold of this process has read the event when it was whole, and new events are stored behind
// it. So work goes on, /readyz and an alert say what is wrong, and a person chooses when to stop and repair; the next start would
// refuse the log.
type scrub struct {
	*parts
	pace  *rate.Limiter
	every time.Duration

	mu    sync.Mutex
	place scrubPlace
	of    events.Seq
}

// scrubs starts the scrub.
func (p *parts) scrubs() {
	s := &scrub{parts: p, pace: rate.NewLimiter(scrubSpeed, scrubSpeed), every: scrubEvery}
	if json.Unmarshal([]byte(p.data().Read(scrubFile)), &s.place) != nil {
		s.place = scrubPlace{} // it begins anew
	}
	p.scrub = s
	p.checks = append(p.checks, s.check)
	p.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tacho_log_scrub_position", Help: "The event up to which the log was read again in the background.",
		}, func() float64 { return float64(s.now().At) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tacho_log_scrub_passed_timestamp_seconds", Help: "When the whole log was last read again in the background; 0 before the first time.",
		}, func() float64 { return float64(max(0, s.now().Passed.Unix())) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tacho_log_damaged", Help: "1 if the log was found damaged in the background.",
		}, func() float64 {
			if s.now().Found != nil {
				return 1
			}
			return 0
		}),
	)
	p.run(s.run)
}

func (s *scrub) now() scrubPlace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

func (s *scrub) check(context.Context) website.Check {
	at := s.now()
	if at.Found != nil {
		return website.Check{Name: "damage", Detail: "the log or its archive is damaged: " + at.Found.Error() + ". " + at.next()}
	}
	return website.Check{Name: "damage", OK: true, Detail: fmt.Sprintf("no damage found up to event %d", at.At)}
}

func (p *parts) scrubbed() *client.Scrub {
	if p.scrub == nil {
		return nil
	}
	p.scrub.mu.Lock()
	defer p.scrub.mu.Unlock()
	at := p.scrub.place
	out := &client.Scrub{At: uint64(at.At), Of: uint64(p.scrub.of)}
	if !at.Passed.IsZero() {
		out.Passed = at.Passed.Format(time.RFC3339)
	}
	if at.Found != nil {
		out.Found = at.Found.Error()
	}
	return out
}

func (s *scrub) run(ctx context.Context) error {
	for ctx.Err() == nil {
		at := s.now()
		if wait := s.every - s.Clock().Sub(at.Began); at.At == 0 && !at.Passed.IsZero() && wait > 0 {
			retry.Sleep(ctx, min(wait, time.Minute))
			continue
		}
		if err := s.pass(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			s.Logger.Warn("the log is not read in the background for a moment", "error", err)
			retry.Sleep(ctx, scrubTries)
		}
	}
	return nil
}

// pass reads the log from the kept place to its end.
func (s *scrub) pass(ctx context.Context) error {
	a, err := projector.OpenArchive(ctx, s.core.databaseURL)
	if err != nil {
		return err
	}
	defer a.Close()
	head, err := s.core.log.Head(ctx)
	if err != nil {
		return err
	}
	if a.Last == 0 {
		retry.Sleep(ctx, time.Second) // nothing is archived yet
		return nil
	}
	s.mu.Lock()
	if s.place.Identity != head.Identity || s.place.At > a.Last {
		s.place = scrubPlace{Identity: head.Identity}
	}
	if s.place.At == 0 {
		s.place.Began = s.Clock().UTC()
	}
	s.of = a.Last
	from := s.place.At
	s.mu.Unlock()
	var found *logfiles.Damage
	kept := time.Now()
	_, err = projector.Audit{
		Log: s.core.log, Archive: a,
		Found: func(f projector.Finding) {
			if found == nil {
				found = new(s.Host.place(ctx, f))
				s.tell(ctx, found, f.InArchive)
			}
		},
		Read: func(ctx context.Context, at events.Seq, bytes int) error {
			s.mu.Lock()
			s.place.At = at
			s.mu.Unlock()
			if time.Since(kept) >= scrubKeep {
				kept = time.Now()
				if err := s.keep(); err != nil {
					return err
				}
			}
			return s.pace.WaitN(ctx, min(bytes, s.pace.Burst()))
		},
	}.Run(ctx, from, a.Last)
	if row := new(projector.ArchiveError); errors.As(err, &row) && found == nil {
		s.tell(ctx, &logfiles.Damage{First: row.Seq, Last: row.Seq, What: "in the archive in the database: " + row.What}, true)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.place.At, s.place.Passed = 0, s.Clock().UTC()
	// A pass that began in the middle has not seen all.
	whole := found == nil && from == 0
	if whole {
		s.place.Found = nil
	}
	s.mu.Unlock()
	if whole {
		by := control.By{Actor: "tacho", Source: "scrub", Root: "scrub"}
		if _, err := s.control(nil).ClearAlert(ctx, by, events.NewAlertKey(events.AlertDamaged, ""), "the whole log was read again, and nothing is wrong"); err != nil {
			return err
		}
	}
	return s.keep()
}

func (s *scrub) keep() error {
	text, err := json.Marshal(s.now())
	if err != nil {
		return err
	}
	return s.data().Write(scrubFile, string(text)+"\n")
}

// tell says what was found, on /readyz and as an alert.
func (s *scrub) tell(ctx context.Context, d *logfiles.Damage, inArchive bool) {
	s.mu.Lock()
	s.place.Found, s.place.InArchive = d, inArchive
	next := s.place.next()
	s.mu.Unlock()
	s.Logger.Error("the log is damaged", "what", d.Error())
	by := control.By{Actor: "tacho", Source: "scrub", Root: "scrub"}
	_, err := s.control(nil).RaiseAlert(ctx, by, events.AlertRaised{
		Kind: events.AlertDamaged, Message: "The log or its archive is damaged: " + d.Error() + ". Work goes on.", Action: next,
	})
	if err != nil {
		s.Logger.Error("the alert about the damaged log could not be stored", "error", err)
	}
}

// next says what to do.
func (p scrubPlace) next() string {
	if p.InArchive {
		return "The log itself is right: make the tables anew with `tacho replay`; docs/repair.md tells more."
	}
	return "The next start will refuse the log. When it suits, stop `tacho up`, run `tacho log repair`, and start again; docs/repair.md tells more, also for a cluster."
}

// checkLog is `tacho log check` of a running Tacho.
func (p *parts) checkLog(ctx context.Context) (any, error) {
	return p.audit(ctx, p.core, func(events.Seq, events.Seq) {})
}

// backup is `tacho backup` of a running Tacho.
func (p *parts) backup(ctx context.Context, to io.Writer) error {
	return p.writeBackup(ctx, p.core, to)
}
