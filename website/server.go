package website

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
)

// Log is what the website needs of the log itself.
type Log interface {
	// Head returns the identity and the extent of the log.
	Head(ctx context.Context) (eventlog.Head, error)
}

// Config is what the website is made of. Its fields are set once, before New.
type Config struct {
	// Reader reads the tables; required.
	Reader *readmodel.Reader
	// Control carries out commands; nil refuses them all.
	Control *control.Control
	// Log is asked for its head by /readyz; required.
	Log Log
	// Hearing tells who is heard; without it collectors are shown as the log knows them.
	Hearing presence.Hearing
	// OfflineAfter is how long a collector may be silent before it is shown as offline: as long as the scheduler
	// waits (scheduler.offline_after). 0 is the default of the configuration.
	OfflineAfter time.Duration
	// JobLogs holds the output of jobs; without it there is none to show.
	JobLogs eventlog.JobLogs
	// Ledger returns how far this process has read the log for what it decides, and whether it has caught up; nil where
	// nothing is decided here.
	Ledger func() (at events.Seq, current bool)
	// Alerts returns those that this process knows of and that the tables may not show: that they are late, that
	// the log is away. nil knows of none.
	Alerts func() []readmodel.Alert
	// Token is the bearer token of writes; empty refuses them.
	Token string
	// Verify rebuilds the tables from the log and compares them; the report is passed on as JSON. nil says
	// that this process cannot.
	Verify func(ctx context.Context) (report any, err error)
	// Site is the URL by which others reach the website, for the links of reports; empty leaves them out.
	Site string
	// Version is that of the program.
	Version string
	// Clock tells the time that ages are counted from; nil is time.Now.
	Clock func() time.Time
	// Logger gets faults; nil discards them.
	Logger *slog.Logger
	// Registry is what /metrics shows, and gets the website's own metrics; nil makes one.
	Registry *prometheus.Registry
	// MaxLag is how many events the tables may trail the log and still be ready; 0 means 1,000.
	MaxLag uint64
	// WaitFor bounds how long a read waits for an event that it named; 0 means 10 s.
	WaitFor time.Duration
	// BodyWithin bounds how long the body of a command may take to arrive; 0 means 30 s.
	BodyWithin time.Duration
	// PingEvery is the shortest time between two pings of /events; 0 means 1 s.
	PingEvery time.Duration
	// AliveEvery is how often an idle stream says that it is alive: for proxies that close silent ones, and for pages,
	// which say that they are not live when they have not heard it for a while. 0 means 15 s.
	AliveEvery time.Duration
	// Readers bounds what readers may ask for at once; what is 0 there is as in config.DefaultReaders.
	Readers config.Readers
}

// Server is the website. Make it with New.
type Server struct {
	Config

	// long reads by connections of its own what takes long; Reader is for the pages.
	long    *readmodel.Reader
	bounds  *bounds
	beats   beats
	metrics *metrics
	// recent are pages of the log that streams sent a moment ago.
	recent *recent
	// statuses, now and probed read the status, how far the tables are, and the readiness: once for all who ask at the
	// same time.
	statuses func(*http.Request) (json.RawMessage, error)
	now      func(*http.Request) (events.Seq, error)
	probed   *shared[[]check]
	pages    *pages
	handler  http.Handler
	// verifying lets one verification run at a time.
	verifying sync.Mutex
	// stopped is closed when Run ends: streams, which have no end of their own, end with it.
	stopped chan struct{}
}

// New returns a website. Its Handler may serve at once; its streams end with Run. It panics when the
// registry has the metrics of a website already.
func New(c Config) *Server {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Hearing == nil {
		c.Hearing = presence.Deaf{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.MaxLag == 0 {
		c.MaxLag = 1000
	}
	if c.WaitFor == 0 {
		c.WaitFor = 10 * time.Second
	}
	if c.BodyWithin == 0 {
		c.BodyWithin = 30 * time.Second
	}
	if c.AliveEvery == 0 {
		c.AliveEvery = 15 * time.Second
	}
	if c.OfflineAfter == 0 {
		c.OfflineAfter = config.Default("").Scheduler.OfflineAfter.Std()
	}
	if c.PingEvery == 0 {
		c.PingEvery = time.Second
	}
	s := &Server{
		Config: c, long: c.Reader.Long(), bounds: newBounds(orDefault(c.Readers), c.Reader), beats: beats{c.Hearing, c.OfflineAfter}, metrics: newMetrics(c.Registry),
		recent: newRecent(), probed: newShared[[]check](), stopped: make(chan struct{}),
	}
	s.metrics.watch(c.Registry, s.bounds)
	s.statuses, s.now = inCommon(s.statusText), inCommon(s.seqNow)
	s.pages = newPages(c.Clock)
	s.handler = s.routes()
	return s
}

// orDefault fills in the bounds that are not set.
func orDefault(r config.Readers) config.Readers {
	usual := config.DefaultReaders()
	for field, value := range map[*int]int{
		&r.Streams: usual.Streams, &r.StreamsPerAddress: usual.StreamsPerAddress, &r.Answers: usual.Answers,
		&r.AnswersPerAddress: usual.AnswersPerAddress, &r.Connections: usual.Connections,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if r.Wait == 0 {
		r.Wait = usual.Wait
	}
	return r
}

// Handler returns the whole website: pages, API, streams, health and metrics.
func (s *Server) Handler() http.Handler { return s.handler }

// Run waits until ctx ends, which is no error, and then ends all streams. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	defer close(s.stopped)
	<-ctx.Done()
	return nil
}
