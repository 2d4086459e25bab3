// Package config reads the configuration of the operator: one strict TOML file, then environment variables, then flags.
// Each overrides the one before.
//
// Every key has a default that works for one machine. An unknown key is an error with its line, so that a misspelt
// limit does not silently leave the default. Secrets come from variables or files and are never shown (Redacted).
package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Config is the effective configuration.
type Config struct {
	// Data is the directory of everything that `tacho up` keeps: the log, Postgres, caches, credentials.
	// Default: $XDG_DATA_HOME/tacho or ~/.local/share/tacho. Two processes never share one.
	Data string `toml:"data" json:"data"`
	// Server is the URL of a running Tacho; default: the one in the data directory.
	Server string `toml:"server" json:"server"`
	// ServerCA is a file with the CAs that clients of that server trust, instead of those of the system. It may also
	// hold a self-signed certificate of the server. Default: the one in the data directory.
	ServerCA string `toml:"server_ca" json:"server_ca"`
	// Listen is the address of the website and API. "127.0.0.1:0" takes a free port. An address that other machines can
	// reach should have TLS: its own (tls.cert) or that of a proxy.
	Listen string `toml:"listen" json:"listen"`
	// Suites are the definitions to publish: names of shipped ones (go, rustc, rustc-small) or files.
	Suites []string `toml:"suites" json:"suites"`
	// SealKey is a file with a private key, as `tacho seal key` makes it. `tacho up` seals the Suites with it (docs/seals.md).
	SealKey string `toml:"seal_key,omitempty" json:"seal_key,omitempty"`
	// Token is the bearer token that writing API calls need. Default: one made in the data directory.
	Token string `toml:"-" json:"-"`
	// StartWait is how long a start waits for a NATS or Postgres server that does not answer yet, and for GitHub to
	// name the account that writes the comments.
	StartWait Duration `toml:"start_wait" json:"start_wait"`

	TLS       TLS       `toml:"tls" json:"tls"`
	Database  Database  `toml:"database" json:"database"`
	NATS      NATS      `toml:"nats" json:"nats"`
	Scheduler Scheduler `toml:"scheduler" json:"scheduler"`
	Collector Collector `toml:"collector" json:"collector"`
	SLA       SLA       `toml:"sla" json:"sla"`
	Watchdog  Watchdog  `toml:"watchdog" json:"watchdog"`
	Room      Room      `toml:"room" json:"room"`
	Readers   Readers   `toml:"readers" json:"readers"`
	GitHub    GitHub    `toml:"github" json:"github"`
	// Pollers are the sources whose new artifacts become requests.
	Pollers []Poller `toml:"poller" json:"pollers"`
	// Hooks are the programs that events are posted to.
	Hooks []Hook `toml:"hook,omitempty" json:"hooks,omitempty"`
	// Sources maps the names that definitions give to directories of programs on this machine, such as
	// rustc-perf = "/srv/rustc-perf/collector/compile-benchmarks".
	Sources map[string]string `toml:"sources" json:"sources"`
}

// Database says where the projections are kept.
type Database struct {
	// URL of a Postgres; empty means one that `tacho up` runs itself on a private socket. Its content can always be
	// rebuilt from the log.
	URL string `toml:"url" json:"url"`
	// Bin is the directory of the Postgres programs; empty means: look in PATH, then in the usual places.
	Bin string `toml:"bin" json:"bin"`
}

// NATS says where the log is kept.
type NATS struct {
	// URL of a NATS cluster with JetStream; empty means a server inside `tacho up`.
	URL string `toml:"url" json:"url"`
	// Creds is a file with an nkey seed; empty means that the URL needs none.
	Creds string `toml:"creds" json:"creds"`
	// SystemURL is URL with a user of the cluster's system account. With it the core sees the connections of
	// collectors, and cuts those of collectors that flood it or were removed. Without it the core does not answer such
	// collectors, but cuts no connection.
	SystemURL string `toml:"system_url" json:"system_url"`
	// Listen is where the server inside `tacho up` accepts collectors from other machines. The default is a free port
	// of the loopback interface, for the collectors that it starts itself.
	Listen string `toml:"listen" json:"listen"`
	// Replicas of the log: 1 on one server, 3 or 5 on a cluster. It is fixed when the log is made.
	Replicas int `toml:"replicas" json:"replicas"`
	// MaxBytes is the size at which the log takes no more events, but loses none. This protects the disk from filling
	// up. `tacho up` sets the limit of its log to it at each start; it cannot be below what the log holds. On a cluster the
	// stream's operator raises the limit, and the account must have at least as much.
	MaxBytes int64 `toml:"max_bytes" json:"max_bytes"`
	// BlobBytes is how much room there is for the outputs of jobs: the oldest that are not needed are removed. UploadBytes
	// and UploadAge are the same for uploads, and how long these are kept.
	BlobBytes   int64    `toml:"blob_bytes" json:"blob_bytes"`
	UploadBytes int64    `toml:"upload_bytes" json:"upload_bytes"`
	UploadAge   Duration `toml:"upload_age" json:"upload_age"`

	NATSTLS
}

// Scheduler says how requests and jobs are scheduled.
type Scheduler struct {
	// MaxInProgress is how many requests are in progress at once. 1 keeps their jobs apart.
	MaxInProgress int `toml:"max_in_progress" json:"max_in_progress"`
	// ArtifactDeadline is how long a try request waits for its artifacts before it expires; 0 means for ever.
	ArtifactDeadline Duration `toml:"artifact_deadline" json:"artifact_deadline"`
	// Supersede replaces a try that has not started when a newer try of its pull request is asked for. Without it a
	// pull request can have several tries in the queue, but still only one that waits for its artifact.
	Supersede bool `toml:"supersede" json:"supersede"`
	// OfflineAfter is how long a collector may be silent. After that it counts as offline and its attempt as lost. Only
	// time in which heartbeats could be heard counts. A shorter time reacts faster but is wrong more often.
	OfflineAfter Duration `toml:"offline_after" json:"offline_after"`
	// TakeoverAfter is how long the collector of a lane may be silent before a standby takes over the lane and its job.
	// A change of the machine breaks the lane's series of results, so this time should be longer than a restart takes.
	TakeoverAfter Duration `toml:"takeover_after" json:"takeover_after"`
	// QuarantineAfter is the number of different artifacts in a row whose jobs a collector fails for reasons of its own
	// before it is quarantined. A person must then activate it again. 0 means never.
	QuarantineAfter int `toml:"quarantine_after" json:"quarantine_after"`
	// Retention is how long jobs stay in the tables after they ended; 0 means for ever. Results, requests and the log
	// always stay. A shorter time keeps the tables small but shows less of the past.
	Retention Duration `toml:"retention" json:"retention"`
	// MaxWaiting bounds the jobs that wait for dispatch: above it no request starts. Twice as many requests may be there
	// that have not ended; further ones are refused.
	MaxWaiting int `toml:"max_waiting" json:"max_waiting"`
	// AffinityWait is how long a matched job waits for a machine that has its caches while others could run it; 0 means
	// not at all.
	AffinityWait Duration `toml:"affinity_wait" json:"affinity_wait"`
	// RoomWait is how long a matched job whose turn it is waits for room on a machine that runs smaller ones. Then a machine
	// takes no other job until it fits; 0 means never. A shorter time leaves more of the machines idle.
	RoomWait Duration `toml:"room_wait" json:"room_wait"`
	// SealKey is a file with a private key, as `tacho seal key` makes it. The scheduler seals each dispatch with it. Empty seals
	// none.
	SealKey string `toml:"seal_key,omitempty" json:"seal_key,omitempty"`
}

// Collector says how collectors on this machine work.
type Collector struct {
	// BeatEvery is the time between heartbeats. At each one the collector also checks whether it still holds its job.
	BeatEvery Duration `toml:"beat_every" json:"beat_every"`
	// AckWait is how long after its last report a job is delivered again. Collectors report three times as often. A
	// lane can stand still for this long after a crash, so it is short. To deliver a job twice is harmless: the log
	// says which collector holds it.
	AckWait Duration `toml:"ack_wait" json:"ack_wait"`
	// MaxAttempts is how many executions of a job may be lost to crashes or silence before it fails.
	MaxAttempts int `toml:"max_attempts" json:"max_attempts"`
	// TransientDeadline is how long a job with errors that may go away is tried again before it fails.
	TransientDeadline Duration `toml:"transient_deadline" json:"transient_deadline"`
	// Cache is the directory of fetched artifacts; default: in the data directory. CacheBytes bounds it.
	Cache      string `toml:"cache" json:"cache"`
	CacheBytes int64  `toml:"cache_bytes" json:"cache_bytes"`
	// CPUs are the CPUs that measured processes are pinned to; empty pins nothing.
	CPUs []int `toml:"cpus" json:"cpus"`
	// Nice is the scheduling priority of measured processes; negative needs root.
	Nice int `toml:"nice" json:"nice"`
	// Instructions says how instructions are counted. "counters": by the processor's counters, where the machine has them.
	// "valgrind": by valgrind, in a pass of its own that takes thirty to fifty times as long as the command. "auto": by
	// counters, else by valgrind, else not at all. "off": not at all.
	Instructions string `toml:"instructions" json:"instructions"`
	// Turns is the directory by which the collectors of this machine take turns: it measures or builds, never both. All of
	// them must have the same; default: in the data directory. Measure is "alone" if what measures takes turns, too, or
	// "shared" if it runs beside others that measure, for lanes with CPUs of their own.
	Turns   string `toml:"turns" json:"turns"`
	Measure string `toml:"measure" json:"measure"`
	// Before and After are commands with their arguments that run before and after what a job measures: to drop caches, or to
	// set the governor. Each has a minute. If one fails, the machine gives the job back.
	Before []string `toml:"before" json:"before,omitempty"`
	After  []string `toml:"after" json:"after,omitempty"`

	Seals
}

// How what measures behaves to others on its machine that measure.
const (
	MeasureAlone  = "alone"
	MeasureShared = "shared"
)

// emptyCommand reports whether a command is given, but empty.
func emptyCommand(argv []string) bool { return len(argv) > 0 && argv[0] == "" }

// Duration is a time.Duration that is written as "90s" or "2h30m".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it as \"90s\" or \"2h30m\"", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Default returns the configuration without any file or variable. data is the data directory.
func Default(data string) Config {
	return Config{
		Data: data, Listen: "127.0.0.1:8421", Suites: []string{"go"}, StartWait: Duration(30 * time.Second), GitHub: defaultGitHub(),
		NATS: NATS{
			Listen: "127.0.0.1:0", Replicas: 1, MaxBytes: 64 << 30, BlobBytes: 20 << 30, UploadBytes: 5 << 30, UploadAge: Duration(30 * 24 * time.Hour),
		},
		Scheduler: Scheduler{
			MaxInProgress: 1, Supersede: true, ArtifactDeadline: Duration(7 * 24 * time.Hour), OfflineAfter: Duration(time.Minute),
			TakeoverAfter: Duration(30 * time.Second), QuarantineAfter: 3, Retention: Duration(30 * 24 * time.Hour),
			MaxWaiting: 100_000, AffinityWait: Duration(30 * time.Second), RoomWait: Duration(10 * time.Minute),
		},
		Collector: Collector{
			BeatEvery: Duration(5 * time.Second), AckWait: Duration(15 * time.Second), MaxAttempts: 3,
			TransientDeadline: Duration(2 * time.Hour), CacheBytes: 20 << 30, Measure: MeasureAlone, Instructions: "counters",
		},
		SLA: DefaultSLA(), Watchdog: defaultWatchdog(), Room: defaultRoom(), Readers: DefaultReaders(),
	}
}

// Load returns the effective configuration: the defaults, then the file (path may be empty), then the
// variables that getenv knows. Errors name the file and line, or the variable.
func Load(path string, getenv func(string) string) (Config, error) {
	c := Default(defaultData(getenv))
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return Config{}, fmt.Errorf("read the configuration: %w", err)
		}
		if err := decode(path, text, &c); err != nil {
			return Config{}, err
		}
	}
	for name, field := range map[string]*string{
		"TACHO_DATA": &c.Data, "TACHO_SERVER": &c.Server, "TACHO_TOKEN": &c.Token, "TACHO_DATABASE_URL": &c.Database.URL,
		"TACHO_PG_BIN": &c.Database.Bin, "TACHO_NATS_URL": &c.NATS.URL, "TACHO_NATS_CREDS": &c.NATS.Creds, "TACHO_NATS_SYSTEM_URL": &c.NATS.SystemURL,
		"TACHO_ALERT_WEBHOOK": &c.Watchdog.Webhook,
	} {
		if v := getenv(name); v != "" {
			*field = v
		}
	}
	for name, field := range c.tlsVariables() {
		if v := getenv(name); v != "" {
			*field = v
		}
	}
	c.Token = strings.TrimSpace(c.Token) // a token read from a file may end in a line feed, which a header cannot hold
	if v := getenv("TACHO_SUITE"); v != "" {
		c.Suites = filepath.SplitList(v)
	}
	if err := c.GitHub.environment(getenv); err != nil {
		return Config{}, err
	}
	for i, p := range c.Pollers {
		c.Pollers[i] = p.withDefaults()
	}
	return c, c.Check()
}

func decode(path string, text []byte, c *Config) error {
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(c)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		line, column := strict.Errors[0].Position()
		if slices.Equal(strict.Errors[0].Key(), toml.Key{"collector", "count_instructions"}) {
			return fmt.Errorf("%s:%d:%d: collector.count_instructions is now collector.instructions: write instructions = \"valgrind\" for true, and leave it out for false", path, line, column)
		}
		return fmt.Errorf("%s:%d:%d: unknown key %q: see `tacho config` for the valid ones", path, line, column, strict.Errors[0].Key())
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", path, line, column, bad.Error())
	}
	if err != nil {
		return err
	}
	if err := checkUnits(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	switch {
	case c.Data == "":
		return errors.New("data: no directory is known; set --data or TACHO_DATA")
	case c.Listen == "":
		// An empty address would mean every interface of the machine.
		return errors.New("listen: name an address, such as 127.0.0.1:8421")
	case c.StartWait < 0:
		return errors.New("start_wait: at least 0s")
	case c.Scheduler.MaxInProgress < 1:
		return errors.New("scheduler.max_in_progress: at least 1")
	case c.NATS.Replicas != 1 && c.NATS.Replicas != 3 && c.NATS.Replicas != 5:
		return errors.New("nats.replicas: 1, 3 or 5")
	case c.NATS.MaxBytes < 1<<20:
		return errors.New("nats.max_bytes: at least 1 MiB")
	case c.NATS.BlobBytes < 1<<20:
		return errors.New("nats.blob_bytes: at least 1 MiB")
	case c.NATS.UploadBytes < 1<<20:
		return errors.New("nats.upload_bytes: at least 1 MiB")
	case c.NATS.UploadAge.Std() < time.Minute:
		return errors.New("nats.upload_age: at least 1m")
	case c.NATS.Replicas > 1 && c.NATS.URL == "":
		return errors.New("nats.replicas: more than one replica needs a cluster: set nats.url")
	case c.Scheduler.ArtifactDeadline < 0:
		return errors.New("scheduler.artifact_deadline: above 0s, or 0s to wait for ever")
	case c.Scheduler.OfflineAfter.Std() < time.Second:
		return errors.New("scheduler.offline_after: at least 1s")
	case c.Scheduler.TakeoverAfter.Std() < time.Second || c.Scheduler.TakeoverAfter <= c.Collector.BeatEvery:
		return errors.New("scheduler.takeover_after: at least 1s and above collector.beat_every")
	case c.Scheduler.QuarantineAfter < 0:
		return errors.New("scheduler.quarantine_after: at least 0")
	case c.Scheduler.MaxWaiting < 1:
		return errors.New("scheduler.max_waiting: at least 1")
	case c.Scheduler.AffinityWait < 0:
		return errors.New("scheduler.affinity_wait: at least 0s")
	case c.Scheduler.RoomWait < 0:
		return errors.New("scheduler.room_wait: above 0s, or 0s to hold no machine")
	case c.Scheduler.Retention != 0 && c.Scheduler.Retention.Std() < time.Hour:
		return errors.New("scheduler.retention: at least 1h, or 0s to keep jobs for ever")
	case c.Collector.BeatEvery.Std() <= 0 || c.Collector.BeatEvery >= c.Scheduler.OfflineAfter:
		return errors.New("collector.beat_every: above 0 and below scheduler.offline_after")
	case c.Collector.AckWait.Std() < time.Second:
		return errors.New("collector.ack_wait: at least 1s")
	case c.Collector.MaxAttempts < 1:
		return errors.New("collector.max_attempts: at least 1")
	case c.Collector.TransientDeadline.Std() <= 0:
		return errors.New("collector.transient_deadline: above 0")
	case c.Collector.CacheBytes < 1<<20:
		return errors.New("collector.cache_bytes: at least 1 MiB")
	case c.Collector.Measure != MeasureAlone && c.Collector.Measure != MeasureShared:
		return errors.New(`collector.measure: "alone", or "shared" if the lanes of this machine have CPUs of their own`)
	case !slices.Contains([]string{"auto", "counters", "valgrind", "off"}, c.Collector.Instructions):
		return fmt.Errorf(`collector.instructions: %q is no way to count instructions: use "auto", "counters", "valgrind" or "off"`, c.Collector.Instructions)
	case emptyCommand(c.Collector.Before), emptyCommand(c.Collector.After):
		return errors.New(`collector.before, collector.after: a command with its arguments, such as ["/usr/local/bin/drop-caches"]`)
	}
	if err := c.Collector.check(); err != nil {
		return err
	}
	if err := c.CheckTLS(); err != nil {
		return err
	}
	if err := c.SLA.check(); err != nil {
		return err
	}
	if err := c.Watchdog.check(); err != nil {
		return err
	}
	if err := c.Room.check(); err != nil {
		return err
	}
	if err := c.Readers.check(); err != nil {
		return err
	}
	if _, err := NATSServers(c.NATS.URL); err != nil {
		return fmt.Errorf("nats.url (TACHO_NATS_URL): %w", err)
	}
	if _, err := NATSServers(c.NATS.SystemURL); err != nil {
		return fmt.Errorf("nats.system_url (TACHO_NATS_SYSTEM_URL): %w", err)
	}
	if c.NATS.SystemURL != "" && c.NATS.URL == "" {
		return errors.New("nats.system_url: the server inside `tacho up` needs none: set nats.url, or leave it out")
	}
	if err := c.GitHub.check(); err != nil {
		return err
	}
	if err := checkHooks(c.Hooks); err != nil {
		return err
	}
	return checkPollers(c.Pollers)
}

// TOML returns the configuration as a file.
func (c Config) TOML() ([]byte, error) { return toml.Marshal(c) }

func defaultData(getenv func(string) string) string {
	if d := getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "tacho")
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, ".local", "share", "tacho")
	}
	return ""
}
