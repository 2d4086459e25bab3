package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/job"
)

// past is what the ledger keeps of a job that has ended, once no request holds it in memory: what later rounds and
// repairs decide on. The rest of its spec is its identity, which the scheduler has when it asks for the job.
type past struct {
	// Ended is in seconds since 1970, Place is the job's place on its lane; 0 for never.
	Ended, Place uint32
	// Maker is the number of the request that had it made, Definitions the number of the digest.
	Maker       uint32
	Definitions uint16
	// Flags are its state, the kind of its artifact, and whether it was optional or a backfill. Fault is the index of
	// its fault in faults.
	Flags, Fault uint8
}

// The bits of past.Flags: two bits each for pastStates and pastKinds, and one bit each for optional and backfill.
var (
	pastStates = []events.JobState{events.JobSuccess, events.JobFailure, events.JobCancelled}
	pastKinds  = []events.RequestKind{"", events.Master, events.Try, events.Release}
	faults     = []events.ErrorKind{
		"", events.ErrorArtifact, events.ErrorPrepare, events.ErrorBenchmark, events.ErrorTimeout, events.ErrorTransient, events.ErrorDefinitions,
		events.ErrorExhausted, events.ErrorInternal, events.ErrorMemory, events.ErrorCommand, events.ErrorSeal,
		events.ErrorOutput, events.ErrorDiagnostics,
	}
)

const (
	kindShift          = 2
	optional, backfill = 1 << 4, 1 << 5
)

// Past holds the jobs that have left the memory, by the hash of their ids.
type Past struct {
	jobs records
	// makers and digests are numbered in the order in which they came.
	makers  numbers[events.RequestID]
	digests numbers[events.Digest]
}

// numbers gives each value a number, from 1.
type numbers[T comparable] struct {
	list []T
	of   map[T]int
}

func (n *numbers[T]) number(v T) int {
	if i, ok := n.of[v]; ok {
		return i
	}
	if n.of == nil {
		n.of = map[T]int{}
	}
	n.list = append(n.list, v)
	n.of[v] = len(n.list)
	return len(n.list)
}

// value returns the value with a number; the zero value when there is none.
func (n *numbers[T]) value(i int) (v T) {
	if i < 1 || i > len(n.list) {
		return v
	}
	return n.list[i-1]
}

// hash returns 64 bits of an id, which has 64 bits itself.
func hash(id events.JobID) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// Len returns how many jobs have left the memory.
func (p *Past) Len() int { return p.jobs.len() }

func (p *Past) has(id events.JobID) bool {
	_, ok := p.jobs.get(hash(id))
	return ok
}

// forget takes a job out, and reports whether it was there.
func (p *Past) forget(id events.JobID) bool { return p.jobs.forget(hash(id)) }

// add adds a job that has ended.
func (p *Past) add(j *Job) {
	at := past{Place: uint32(min(j.Place, math.MaxUint32)), Maker: uint32(p.makers.number(j.of.request))}
	if n := p.digests.number(j.of.definitions); n <= math.MaxUint16 {
		at.Definitions = uint16(n)
	}
	if seconds := j.EndedAt.Unix(); seconds > 0 {
		at.Ended = uint32(min(seconds, math.MaxUint32))
	}
	at.Flags = uint8(max(slices.Index(pastStates, j.State), 0)) | uint8(max(slices.Index(pastKinds, j.of.artifact.Kind), 0))<<kindShift
	if j.like.Optional {
		at.Flags |= optional
	}
	if j.like.Backfill {
		at.Flags |= backfill
	}
	at.Fault = uint8(max(slices.Index(faults, j.Fault), 0))
	p.jobs.put(hash(j.ID), at)
}

// job returns a job of the past. The caller knows its identity.
func (p *Past) job(identity events.JobSpec) (*Job, bool) {
	at, ok := p.jobs.get(hash(identity.ID))
	if !ok {
		return nil, false
	}
	spec := identity
	spec.Definitions, spec.RequestID = p.digests.value(int(at.Definitions)), p.makers.value(int(at.Maker))
	spec.Artifact.Kind = pastKinds[at.Flags>>kindShift&3]
	spec.Optional, spec.Backfill = at.Flags&optional != 0, at.Flags&backfill != 0
	life := job.Life{State: pastStates[at.Flags&3], Place: uint64(at.Place), Fault: faults[at.Fault]}
	if at.Ended > 0 {
		life.EndedAt = time.Unix(int64(at.Ended), 0).UTC()
	}
	origin := &origin{artifact: spec.Artifact, definitions: spec.Definitions, request: spec.RequestID}
	if m := moreOf(spec); m != (more{}) {
		origin.more = &m
	}
	return &Job{
		course: &course{Life: life}, ID: spec.ID, Round: spec.Round, resting: true,
		of: origin, like: &spec,
	}, true
}

// pastImage is the form of Past in a snapshot.
type pastImage struct {
	// Jobs are records of 24 bytes, sorted by hash.
	Jobs    []byte
	Makers  []events.RequestID
	Digests []events.Digest
}

// frozenPast is the past at one moment. Its numbers only get longer, so what it has of them stays.
type frozenPast struct {
	jobs    []pastRecord
	makers  []events.RequestID
	digests []events.Digest
}

func (p *Past) freeze() frozenPast {
	return frozenPast{slices.AppendSeq(make([]pastRecord, 0, p.Len()), p.jobs.all()), p.makers.list, p.digests.list}
}

func (f frozenPast) image() (pastImage, error) {
	jobs, err := binary.Append(nil, binary.LittleEndian, f.jobs)
	return pastImage{jobs, f.makers, f.digests}, err
}

// restore returns the past of an image. An error says what is wrong with the image.
func (i pastImage) restore() (Past, error) {
	size := binary.Size(pastRecord{})
	if len(i.Jobs)%size != 0 {
		return Past{}, errors.New("the jobs that have ended are cut off")
	}
	list := make([]pastRecord, len(i.Jobs)/size)
	if _, err := binary.Decode(i.Jobs, binary.LittleEndian, list); err != nil {
		return Past{}, err
	}
	var p Past
	for _, r := range i.Makers {
		p.makers.number(r)
	}
	for _, d := range i.Digests {
		p.digests.number(d)
	}
	for n, r := range list {
		known := int(r.Fault) < len(faults) && int(r.Flags&3) < len(pastStates) && int(r.Maker) <= len(i.Makers) && int(r.Definitions) <= len(i.Digests)
		if !known || r.Maker == 0 {
			return Past{}, fmt.Errorf("a job that has ended has impossible values: %+v", r)
		}
		if n > 0 && r.Hash <= list[n-1].Hash {
			return Past{}, errors.New("the jobs that have ended are out of order")
		}
	}
	p.jobs.shelve(list)
	return p, nil
}
