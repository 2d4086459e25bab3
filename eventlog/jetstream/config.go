package jetstream

import (
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/events"
)

// Config says how the log is kept. Zero values are the defaults.
type Config struct {
	// Name is the stream of the log; default "EVENTS".
	Name string
	// Replicas is 1 on a single server (default) and 3 or 5 on a cluster. It does not change by itself
	// afterwards: a stream with another number is refused as drift.
	Replicas int
	// MaxBytes is the guard against a full disk; default 64 GiB. When the log has this size it takes no
	// more events, and loses none.
	MaxBytes int64
	// LogsMaxAge and LogsMaxBytes bound the output of jobs; default 14 days and 1 GiB.
	LogsMaxAge   time.Duration
	LogsMaxBytes int64
	// AckWait is after how long a job that nobody reports on is delivered again; default 60 s.
	AckWait time.Duration
	// BeatTTL is how long a heartbeat lives, at least 1 s; default 60 s.
	BeatTTL time.Duration
}

// The fixed names beside the log.
const (
	logsName     = "LOGS"
	logPrefix    = "tacho.log."
	beatsBucket  = "tacho_beats"
	beatsStream  = "KV_" + beatsBucket
	beatsPrefix  = "$KV." + beatsBucket + "."
	defaultName  = "EVENTS"
	dedupeWindow = 10 * time.Minute
	// maxMessage fits the default limit of a NATS server, so that a log can move to any cluster.
	maxMessage = 1 << 20
	// maxConsumers is far above the number of lanes and followers; the server's own default is 1,000.
	maxConsumers = 10_000
)

func (c Config) withDefaults() Config {
	fill(&c.Name, defaultName)
	fill(&c.Replicas, 1)
	fill(&c.MaxBytes, 64<<30)
	fill(&c.LogsMaxAge, 14*24*time.Hour)
	fill(&c.LogsMaxBytes, 1<<30)
	fill(&c.AckWait, time.Minute)
	fill(&c.BeatTTL, time.Minute)
	return c
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// eventsStream is the configuration of the log, every field that matters spelled out: Verify compares
// all of them.
func (c Config) eventsStream() natsjs.StreamConfig {
	return natsjs.StreamConfig{
		Name: c.Name, Description: "Tacho: the event log", Subjects: []string{events.SubjectFilter},
		Storage: natsjs.FileStorage, Replicas: c.Replicas,
		Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardNew,
		MaxBytes: c.MaxBytes, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: maxMessage, MaxConsumers: maxConsumers,
		Duplicates: dedupeWindow, DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true,
	}
}

// logsStream is the configuration of the jobs' output. It may lose its end with the power.
func (c Config) logsStream() natsjs.StreamConfig {
	s := natsjs.StreamConfig{
		Name: logsName, Description: "Tacho: output of jobs", Subjects: []string{logPrefix + ">"},
		Storage: natsjs.FileStorage, Replicas: c.Replicas, Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardOld,
		MaxAge: c.LogsMaxAge, MaxBytes: c.LogsMaxBytes, MaxMsgSize: maxMessage, AllowDirect: true,
	}
	if c.Replicas == 1 {
		s.PersistMode = natsjs.AsyncPersistMode
	}
	return s
}

// beats is the configuration of the heartbeats: a key-value bucket, spelled out as a stream because it must
// not cost a disk sync for each beat. A single server keeps it in files that it does not sync, so that the
// bucket is there after a restart; a cluster keeps it in memory, where it is made anew, with sequences from 1, when all nodes
// restart (see Watch). The markers of what expired are read by nobody, but a stream that has them keeps them.
func (c Config) beats() natsjs.StreamConfig {
	s := natsjs.StreamConfig{
		Name: beatsStream, Description: "Tacho: heartbeats of collectors", Subjects: []string{beatsPrefix + ">"},
		Storage: natsjs.MemoryStorage, Replicas: c.Replicas, Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardNew,
		MaxMsgsPerSubject: 1, MaxAge: c.BeatTTL, Duplicates: min(dedupeWindow, c.BeatTTL), MaxMsgSize: maxMessage,
		AllowRollup: true, DenyDelete: true, AllowDirect: true, AllowMsgTTL: true, SubjectDeleteMarkerTTL: max(time.Second, c.BeatTTL),
	}
	if c.Replicas == 1 {
		s.Storage, s.PersistMode = natsjs.FileStorage, natsjs.AsyncPersistMode
	}
	return s
}
