package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The typed names of the domain. Every string that means something has a type, so that a tag is never
// passed where a target belongs.
type (
	// RequestID names a request from birth, before it has a tag.
	RequestID string
	// JobID names a job; it is a hash of the job's identity (see NewJobID).
	JobID string
	// Tag names an artifact: a commit SHA (master, try) or a release name.
	Tag string
	// SuiteName names the definitions that an artifact is measured with, such as "go" or "rustc".
	SuiteName string
	// Digest is a SHA-256 in lower-case hex.
	Digest string
	// Target is the platform that a job is measured on.
	Target string
	// Set numbers one part of the compile suite of one target. The parts do not overlap.
	Set int
	// JobKind says which suite a job runs: compile, runtime or bootstrap. Definitions may name others.
	JobKind string
	// Profile says how the compiler is run.
	Profile string
	// Backend is the code generator.
	Backend string
	// Scenario is the state of the incremental cache.
	Scenario string
	// Benchmark is the name of one measured program.
	Benchmark string
	// Metric names a measured quantity, such as "instructions:u" or "wall-time".
	Metric string
	// CollectorName names a collector for ever.
	CollectorName string
	// Actor says who caused an event, such as "cli:alice", "scheduler" or "collector:eider-1".
	Actor string
	// Seq is a position in the log, counted from 1; 0 means "nothing yet".
	Seq uint64
)

// RequestKind is the closed set of kinds of request.
type RequestKind string

// The kinds of request.
const (
	Master  RequestKind = "master"
	Try     RequestKind = "try"
	Release RequestKind = "release"
)

// ParseRequestKind returns the kind that s names, or an error that lists the valid ones.
func ParseRequestKind(s string) (RequestKind, error) {
	switch k := RequestKind(s); k {
	case Master, Try, Release:
		return k, nil
	}
	return "", fmt.Errorf("unknown kind of request %q: use master, try or release", s)
}

// Lane is one (target, set): the unit of dispatch.
type Lane struct {
	Target Target `json:"target"`
	Set    Set    `json:"set"`
}

// String returns the lane as people write it, "target/set".
func (l Lane) String() string { return fmt.Sprintf("%s/%d", l.Target, l.Set) }

// Artifact is the thing that is measured: one build, named by suite and tag. Kind decides which
// categories of benchmarks it is measured with.
type Artifact struct {
	Suite SuiteName   `json:"suite"`
	Tag   Tag         `json:"tag"`
	Kind  RequestKind `json:"kind"`
}

// NewRequestID derives the id of a request from its natural key, so that two who ask for the same thing get the same id
// on purpose. The key of a master request is its SHA, of a release its name, of a try the GitHub delivery, comment or
// command that asked.
func NewRequestID(suite SuiteName, kind RequestKind, key string) RequestID {
	return RequestID("r" + shortHash("request", string(suite), string(kind), key))
}

// NewJobID returns the id of the first round of a job that is not matched.
func NewJobID(a Artifact, kind JobKind, lane Lane, backend Backend, profile Profile, benchmarks, measures []string) JobID {
	return JobSpec{
		Artifact: a, Kind: kind, Target: lane.Target, Set: lane.Set, Backend: backend, Profile: profile, Benchmarks: benchmarks, Measures: measures,
	}.First()
}

// shortHash returns the first 64 bits of a SHA-256 over the length-prefixed parts, in hex.
func shortHash(parts ...string) string {
	text := make([]byte, 0, 512)
	for _, p := range parts {
		text = strconv.AppendInt(text, int64(len(p)), 10)
		text = append(text, ':')
		text = append(text, p...)
		text = append(text, ',')
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

var (
	tokenPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	tagPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)
	// branchPattern leaves out what git refuses in names of branches: spaces, control characters and ~^:?*[\.
	branchPattern = regexp.MustCompile(`^[A-Za-z0-9_][^\x00-\x20~^:?*\[\\\x7f]*$`)
)

// CheckToken reports whether s may be a token of a subject: lower-case letters, digits, "_" and "-", at most 64 bytes.
// what names the thing in the error.
func CheckToken(what, s string) error {
	if !tokenPattern.MatchString(s) {
		return fmt.Errorf("%s %q: use 1 to 64 lower-case letters, digits, '_' or '-', starting with a letter or digit", what, s)
	}
	return nil
}

// CheckBranch reports whether s can name a branch of a repository, at most 200 bytes. It allows what git allows for names of
// branches, apart from some forms that git refuses and that do no harm here.
func CheckBranch(s string) error {
	if len(s) > 200 || !branchPattern.MatchString(s) || strings.Contains(s, "..") || strings.Contains(s, "//") || strings.Contains(s, "@{") {
		return fmt.Errorf("branch %q: use the name of a branch as git shows it, such as main or release/1.2, with at most 200 bytes", s)
	}
	return nil
}

// CheckSet reports whether s can name a set of requests, at most 128 bytes.
func CheckSet(s string) error {
	if !tagPattern.MatchString(s) {
		return fmt.Errorf("set %q: use 1 to 128 letters, digits, '.', '_', '+' or '-', starting with a letter or digit", s)
	}
	return nil
}

// CheckTag reports whether t can name an artifact: a SHA or a release name, at most 128 bytes.
func CheckTag(t Tag) error {
	if !tagPattern.MatchString(string(t)) {
		return fmt.Errorf("tag %q: use 1 to 128 letters, digits, '.', '_', '+' or '-', starting with a letter or digit", string(t))
	}
	return nil
}
