package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
)

// What Reuse of a kind can be.
const (
	ReuseEqual = "equal-inputs"
	ReuseNever = "never"
)

// keyVersion is raised when a key is to be made of something else: every key is then another one.
const keyVersion = 1

// Goes is what goes into a job, beside what the definitions say of it.
type Goes struct {
	// Inputs are the outputs of other jobs that it uses.
	Inputs []events.Input
	// Tree names the content of the artifact; of a build, that of its commit. It is empty for jobs that get no artifact.
	Tree events.Digest
	// Fingerprint is that of the machine, Drivers are the versions of its drivers by name. Only what is measured depends on them.
	Fingerprint events.Digest
	Drivers     map[string]string
}

// Reuses reports whether a job may take over what an earlier one did with the same inputs, and later ones what it did. A
// build may, and what measures a built artifact. Others may if their kind asks for it: commands can have effects that are not
// seen here, and a file that does not know the word means what it meant. Samples and pairs measure anew by intention. Where
// nothing names the content of a program, it cannot be told whether it is the same.
func (d Definitions) Reuses(job events.JobSpec) bool {
	kind, ok := d.Kind(job.Kind)
	switch {
	case !ok || d.Version < 2 || kind.Reuse == ReuseNever || job.Sample != "" || job.Against != nil:
		return false
	case kind.Reuse != ReuseEqual && !kind.Builds() && (kind.RunsCommands() || d.Artifact.Kind != ArtifactBuilt):
		return false
	}
	return d.Sources.Revision != "" || d.namesSources(kind)
}

// reuse checks whether the jobs of a kind take over what earlier ones did.
func (c *checker) reuse(path string, d Definitions, k Kind) {
	if k.Reuse == "" {
		return
	}
	c.reference(path, "reuse", k.Reuse, []string{ReuseEqual, ReuseNever})
	switch {
	case d.Version < 2:
		c.report(path, "kind %q has reuse: write version = 2 at the head of the file, so that programs that do not know it refuse the file", k.Name)
	case k.Reuse == ReuseEqual && k.Matched() && !k.Shared && !k.RunsCommands():
		c.report(path, "kind %q has reuse = %q, and its jobs are measured beside their parent, anew each time: remove reuse, or add shared = true", k.Name, k.Reuse)
	case k.Reuse == ReuseEqual && d.Sources.Revision == "" && !d.ownsSources():
		c.report(path, "kind %q has reuse = %q, and nothing names the content of its programs: add revision to [sources], or use root = %q", k.Name, k.Reuse, SourcesFile)
	}
}

// namesSources reports whether digests name the content of all programs of a kind.
func (d Definitions) namesSources(k Kind) bool {
	if k.RunsCommands() {
		return k.Source == "" || k.SourceDigest != ""
	}
	for i := range d.Benchmarks { // each is large
		if b := &d.Benchmarks[i]; b.Kind == k.Name && b.SourceDigest == "" {
			return false
		}
	}
	return true
}

// TakesTree reports whether the content of its artifact goes into a job: of a build that of the commit, of a job that uses
// what others built nothing but that.
func (d Definitions) TakesTree(job events.JobSpec) bool {
	kind, _ := d.Kind(job.Kind)
	return kind.Builds() || d.Artifact.Kind != ArtifactBuilt
}

// Key names what a job does and with what: jobs with equal keys have equal ends. ok is false for a job that takes nothing over,
// and as long as not all that goes into it is known.
func (d Definitions) Key(job events.JobSpec, with Goes) (key events.Digest, ok bool) {
	if !d.Reuses(job) || d.TakesTree(job) == (with.Tree == "") {
		return "", false
	}
	plans, err := d.Plan(job)
	if err != nil {
		return "", false
	}
	whole := struct {
		Version     int           `json:"key"`
		Recipe      events.Digest `json:"recipe"`
		Inputs      []string      `json:"inputs"`
		Tree        events.Digest `json:"tree"`
		Fingerprint events.Digest `json:"fingerprint"`
		Drivers     []string      `json:"drivers"`
	}{keyVersion, d.recipe(job, plans), []string{}, with.Tree, "", []string{}}
	for _, i := range with.Inputs {
		whole.Inputs = append(whole.Inputs, fmt.Sprintf("%s/%s=%s", i.Kind, i.Name, i.Digest))
	}
	slices.Sort(whole.Inputs)
	if kind, _ := d.Kind(job.Kind); !kind.RunsCommands() {
		if len(plans) == 0 || with.Fingerprint == "" || d.Artifact.Kind == ArtifactBuilt && len(with.Inputs) == 0 {
			return "", false
		}
		whole.Fingerprint = with.Fingerprint
		for _, p := range plans {
			version, known := with.Drivers[p.Driver]
			if !known {
				return "", false
			}
			whole.Drivers = append(whole.Drivers, p.Driver+"="+version)
		}
		slices.SortFunc(whole.Drivers, cmp.Compare)
		whole.Drivers = slices.Compact(whole.Drivers)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return "", false // it is made of texts alone
	}
	sum := sha256.Sum256(text)
	return events.Digest(hex.EncodeToString(sum[:])), true
}
