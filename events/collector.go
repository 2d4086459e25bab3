package events

// The facts about collectors. Each subject has one kind of writer: on registry.<name> the operator and the scheduler
// write about a collector, on collector.<name> the collector writes about itself.

// ---- registry ----

// RegistryOpened: from here on the standing of collectors is on registry.<name>. Earlier versions kept it on
// collector.<name>, where a collector could write it as well; what is written there afterwards does not count. It is
// appended once in the life of a log.
type RegistryOpened struct {
	// Collectors is how many were copied from collector.<name>.
	Collectors int `json:"collectors"`
}

// ---- registry.<name> ----

// RegistryCopied: the standing that collector.<name> held when the registry was opened.
type RegistryCopied struct {
	CollectorRegistered
	Active bool `json:"active"`
	// AtOnce is set for a collector that was deactivated and had to give its job back at once.
	AtOnce      bool `json:"at_once,omitempty"`
	Draining    bool `json:"draining,omitempty"`
	Quarantined bool `json:"quarantined,omitempty"`
	// Reason is why it is inactive, draining or quarantined.
	Reason string `json:"reason,omitempty"`
	// KeySince is when the key was registered, in RFC 3339; RegisteredAt the same for the collector.
	KeySince     string `json:"key_since"`
	RegisteredAt string `json:"registered_at"`
}

// CollectorRegistered: a machine may execute the jobs of one lane.
type CollectorRegistered struct {
	Name    CollectorName `json:"name"`
	Target  Target        `json:"target"`
	Set     Set           `json:"set"`
	Standby bool          `json:"standby,omitempty"`
	// OS and Arch are what its host must have, as Go names them (GOOS, GOARCH); empty accepts any.
	OS   string `json:"os,omitempty"`
	Arch string `json:"arch,omitempty"`
	// NKey is the public key that the collector proves itself with.
	NKey string `json:"nkey,omitempty"`
	// Machine is the machine of a pool that it is a slot of; empty for none.
	Machine MachineName `json:"machine,omitempty"`
}

// Lane returns the lane whose jobs the collector may execute.
func (f CollectorRegistered) Lane() Lane { return Lane{Target: f.Target, Set: f.Set} }

// CollectorKeyRotated: the collector has a new key. The old one is refused from here on.
type CollectorKeyRotated struct {
	Name CollectorName `json:"name"`
	NKey string        `json:"nkey"`
	// Reason is why; empty when none was given.
	Reason string `json:"reason,omitempty"`
}

// CollectorRemoved: the collector is gone for good. Its key is refused, and its name is never used again.
type CollectorRemoved struct {
	Name   CollectorName `json:"name"`
	Reason string        `json:"reason,omitempty"`
}

// CollectorActivated: the collector takes jobs again.
type CollectorActivated struct {
	Name CollectorName `json:"name"`
}

// CollectorDeactivated: the collector takes no more jobs; its history stays.
type CollectorDeactivated struct {
	Name   CollectorName `json:"name"`
	Reason string        `json:"reason,omitempty"`
	// Now: the collector gives its job back at once, which spends no attempt. Otherwise it finishes the job first.
	Now bool `json:"now,omitempty"`
}

// CollectorDraining: the collector was asked to finish its job and take no other.
type CollectorDraining struct {
	Name   CollectorName `json:"name"`
	Reason string        `json:"reason,omitempty"`
}

// CollectorQuarantined: the collector failed several different jobs in a row for reasons of its own. It takes
// no more jobs until a person activates it.
type CollectorQuarantined struct {
	Name   CollectorName `json:"name"`
	Reason string        `json:"reason"`
	// Jobs are those that it failed, oldest first.
	Jobs []JobID `json:"jobs"`
}

// CollectorSilent: the heartbeat of a process is too old. The scheduler says so.
type CollectorSilent struct {
	Name     CollectorName `json:"name"`
	Instance string        `json:"instance"`
	Reason   string        `json:"reason"`
}

// ---- collector.<name> ----

// CollectorOnline: a process of the collector started.
type CollectorOnline struct {
	Name        CollectorName `json:"name"`
	Instance    string        `json:"instance"`
	Version     string        `json:"version"`
	PID         int           `json:"pid"`
	Environment Environment   `json:"environment"`
	// UpdateFailed says why the wanted version could not be fetched or built; empty when nothing failed.
	UpdateFailed string `json:"update_failed,omitempty"`
	// Knows are the abilities of the program that older ones lack. Those of matched jobs are said in a pool alone.
	Knows []string `json:"knows,omitempty"`
	// Evicted are caches that the machine had and has no more.
	Evicted []string `json:"evicted,omitempty"`
	// Drivers are the versions of the ways in which it measures, by the names of the drivers: results of different versions
	// are not the same measurement. Programs of earlier versions have none.
	Drivers map[string]string `json:"drivers,omitempty"`
}

// KnowsMatched is the ability to execute matched jobs.
const KnowsMatched = "matched"

// KnowsSuite2 is the ability to read suite files of version 2.
const KnowsSuite2 = "suite-2"

// KnowsBuild is the ability to build, to use what others built, and to measure a chunk of a job.
const KnowsBuild = "build"

// CollectorOffline: the collector left. Before the registry was opened, the scheduler wrote it too, for a collector
// whose heartbeat was too old.
type CollectorOffline struct {
	Name     CollectorName `json:"name"`
	Instance string        `json:"instance"`
	Reason   string        `json:"reason"`
}

// CollectorUpdating: a process of the collector left, between two requests, to be replaced by another version.
type CollectorUpdating struct {
	Name     CollectorName `json:"name"`
	Instance string        `json:"instance"`
	// Version is the version that left, Wanted the one that comes next.
	Version string `json:"version"`
	Wanted  string `json:"wanted"`
}
