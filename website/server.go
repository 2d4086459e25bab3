package website

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/room"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// Log is what the website needs of the log itself.
type Log interface {
	// Head returns the identity and the extent of the log.
	Head(ctx context.Context) (eventlog.Head, error)
}

// Config says what the website uses. Its fields are set once, before New.
type Config struct {
	// Reader reads the tables; required.
	Reader *readmodel.Reader
	// Control carries out commands; nil refuses them all.
	Control *control.Control
	// Log tells its head, for /readyz and waiting reads; required.
	Log Log
	// Hearing tells which collectors are heard. Without it collectors are shown as the log knows them.
	Hearing presence.Hearing
	// OfflineAfter is how long a collector may be silent before it is shown as offline. It should be as long as the
	// scheduler waits (scheduler.offline_after). 0 means the default of the configuration.
	OfflineAfter time.Duration
	// AffinityWait and RoomWait are how long the scheduler lets a matched job wait for a machine that has its caches, and for
	// room before a machine is held for it. They should be those of the scheduler (scheduler.affinity_wait and
	// scheduler.room_wait): the reasons why jobs wait follow from them. 0 is as there.
	AffinityWait, RoomWait time.Duration
	// SLA says how long a job may wait for a machine: waits are judged by it. A target of 0 means that of the configuration.
	SLA config.SLA
	// Outputs returns how full the store of outputs is; false while that is not known. It may be nil.
	Outputs func() (blob.Usage, bool)
	// Room returns how full the log, its disk and the database are. It may be nil.
	Room func() []room.Place
	// JobLogs holds the output of jobs. If it is nil, no output is shown.
	JobLogs eventlog.JobLogs
	// Blobs holds what jobs stored. If it is nil, nothing of that can be fetched.
	Blobs blob.Store
	// Ledger returns how far this process has read the log for its decisions, and whether it has read all that it understands
	// of it. It is nil if this process decides nothing.
	Ledger func() (at events.Seq, current bool)
	// Checks are what else must be right before this process is ready. Each must answer as soon as its context ends.
	Checks []func(context.Context) Check
	// Alerts returns the alerts that this process knows and that the tables may not show: the tables are late, or
	// the log is away. It may be nil.
	Alerts func() []readmodel.Alert
	// Token is the bearer token of writes; empty refuses them.
	Token string
	// Verify rebuilds the tables from the log and compares them. The report is passed on as JSON. It is nil if this
	// process cannot do that.
	Verify func(ctx context.Context) (report any, err error)
	// CheckLog compares the log with the archive, and Backup writes a backup of it. Both are nil if this process cannot do that.
	CheckLog func(ctx context.Context) (report any, err error)
	Backup   func(ctx context.Context, to io.Writer) error
	// Scrub says how far the reading of the log in the background is; nil if this process does not read it.
	Scrub func() *client.Scrub
	// Preview returns what a scheduler would make for a checked wish now, with everything counted that the log holds when it
	// is called. parts are those of a graph that somebody wrote. It is nil if this process cannot tell.
	Preview func(ctx context.Context, id events.RequestID, wish events.GraphWanted, parts ...events.GraphProposed) (graph.Preview, error)
	// CannotRead returns the collectors that cannot execute definitions before they are updated. It is nil if this process
	// cannot tell.
	CannotRead func(suite.Definitions) []events.CollectorName
	// Site is the URL by which others reach the website, for the links of reports; empty leaves them out.
	Site string
	// Version is the version of the program.
	Version string
	// Clock tells the time from which ages are counted; nil means time.Now.
	Clock func() time.Time
	// Logger receives faults; nil discards them.
	Logger *slog.Logger
	// Registry is shown by /metrics, and New adds the website's own metrics to it; nil makes a new one.
	Registry *prometheus.Registry
	// MaxLag is how many events the tables may trail the log and still be ready; 0 means 1,000.
	MaxLag uint64
	// WaitFor bounds how long a read waits for the event that it names; 0 means 10 s.
	WaitFor time.Duration
	// BodyWithin bounds how long the body of a command may take to arrive; 0 means 30 s.
	BodyWithin time.Duration
	// PingEvery is the shortest time between two pings of /events; 0 means 1 s.
	PingEvery time.Duration
	// AliveEvery is how often an idle stream says that it is alive. Proxies close silent streams, and pages show that
	// they are not live when they have not heard it for a while. 0 means 15 s.
	AliveEvery time.Duration
	// Readers bounds what readers may ask for at once; a field that is 0 gets its value from config.DefaultReaders.
	Readers config.Readers
}

// Server is the website. Make it with New.
type Server struct {
	Config

	// long is the reader for long reads, with connections of its own; Reader is for the pages.
	long    *readmodel.Reader
	bounds  *bounds
	beats   beats
	metrics *metrics
	// recent holds pages of the log that streams sent a moment ago.
	recent *recent
	// statuses, now and probed read the status, the place of the tables, and the readiness, each once for all who ask at
	// the same time.
	statuses func(*http.Request) (json.RawMessage, error)
	now      func(*http.Request) (events.Seq, error)
	probed   *shared[[]Check]
	// short belongs to the probe that is under way.
	short   shortness
	pages   *pages
	planner *planner
	// key returns the key that seals sessions; it is made when it is first needed.
	key     func() []byte
	handler http.Handler
	// pack compresses what a handler answers (see packed).
	pack func(http.Handler) http.HandlerFunc
	// isShared is set once the farm is known to be shared (see sharing).
	isShared atomic.Bool
	// hasMachines is set once the farm is known to have machines of pools (see peopled).
	hasMachines atomic.Bool
	// verifying lets one verification, check or backup run at a time.
	verifying sync.Mutex
	// stopped is closed when Run ends. Streams have no end of their own and end with it.
	stopped chan struct{}
}

// New returns a website. Its Handler may serve at once; its streams end with Run. New panics if the
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
	if c.SLA.Target == 0 {
		c.SLA.Target = config.DefaultSLA().Target
	}
	if c.PingEvery == 0 {
		c.PingEvery = time.Second
	}
	s := &Server{
		Config: c, long: c.Reader.Long(), bounds: newBounds(orDefault(c.Readers), c.Reader), beats: beats{c.Hearing, c.OfflineAfter}, metrics: newMetrics(c.Registry),
		recent: newRecent(), probed: newShared[[]Check](), stopped: make(chan struct{}),
	}
	s.metrics.watch(c.Registry, s.bounds)
	c.Registry.MustRegister(newWaitMetrics(s))
	s.statuses, s.now = inCommon(s.statusText), inCommon(s.seqNow)
	s.pages, s.planner = newPages(c.Clock), newPlanner()
	s.pack = packer()
	s.key = sync.OnceValue(func() []byte { return sessionKey(c.Token) })
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

// Run waits until ctx ends, which is no error, and then ends all streams. Call it once.
func (s *Server) Run(ctx context.Context) error {
	defer close(s.stopped)
	<-ctx.Done()
	return nil
}
