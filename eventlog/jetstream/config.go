package jetstream

import (
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/tachobench/tacho/eventlog"
	"github.com/tachobench/tacho/events"
)

// Config says how the log is kept. Zero values are the defaults.
type Config struct {
	// Name is the stream of the log; default "EVENTS".
	Name string
	// Replicas is 1 on a single server (default) and 3 or 5 on a cluster. It never changes afterwards: a stream with
	// another number is refused as drift.
	Replicas int
	// MaxBytes protects the disk from filling up; default 64 GiB. When the log has this size it takes no more events,
	// but loses none. A log with a higher limit keeps it, because its operator has raised it.
	MaxBytes int64
	// Own says that this process is the operator of the log: Open sets its limit to MaxBytes.
	Own bool
	// Limited is called when Open has changed the limit. It may be nil.
	Limited func(before, now int64)
	// Stopped returns why the server stores nothing now; nil while it does. A process that runs the server knows it. It may
	// be nil.
	Stopped func() *eventlog.FullError
	// LogsMaxAge and LogsMaxBytes bound the output of jobs; default 14 days and 1 GiB.
	LogsMaxAge   time.Duration
	LogsMaxBytes int64
	// AckWait is how long after its last report a job is delivered again; default 60 s.
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
	// maxMessage is the default limit of a NATS server, so that a log can move to any cluster.
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

// eventsStream returns the configuration of the log with every field that matters: Verify compares all fields.
func (c Config) eventsStream() natsjs.StreamConfig {
	return natsjs.StreamConfig{
		Name: c.Name, Description: "Tacho: the event log", Subjects: []string{events.SubjectFilter},
		Storage: natsjs.FileStorage, Replicas: c.Replicas,
		Retention: natsjs.LimitsPolicy, Discard: natsjs.DiscardNew,
		MaxBytes: c.MaxBytes, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: maxMessage, MaxConsumers: maxConsumers,
		Duplicates: dedupeWindow, DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true,
	}
}

// logsStream returns the configuration of the stream with the jobs' output. A power cut may cost its end.
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

// beats returns the configuration of the heartbeats: a key-value bucket, configured as a stream so that a beat costs no
// disk sync. A single server keeps it in files that it does not sync, so that the bucket survives a restart. A cluster
// keeps it in memory: when all nodes restart it begins again, with sequences from 1 (see Watch). No part reads the
// markers of expired beats, but an existing stream cannot lose them.
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
