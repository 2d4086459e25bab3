package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// inputField is how an argument names an output that the job uses: by its name, or by the kind that yields it and its name.
var inputField = regexp.MustCompile(`\{input:([^{}]*)\}`)

// ReplaceInputs replaces each {input:NAME} and {input:KIND/NAME} in the arguments by the directory that dir returns for it.
// It returns the first error of dir.
func ReplaceInputs(argv []string, dir func(name string) (string, error)) ([]string, error) {
	replaced := make([]string, len(argv))
	var err error
	for i, argument := range argv {
		replaced[i] = inputField.ReplaceAllStringFunc(argument, func(field string) string {
			if err != nil {
				return ""
			}
			var path string
			path, err = dir(inputField.FindStringSubmatch(field)[1])
			return path
		})
	}
	return replaced, err
}

// Input returns the place, among the inputs of a job, of that with a name, or with a kind and a name. The error says that
// there is none, or more than one.
func Input(inputs []events.Input, name string) (int, error) {
	found := -1
	for i, in := range inputs {
		if in.Name != name && string(in.Kind)+"/"+in.Name != name {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("{input:%s} is the output of two jobs: %s and %s", name, inputs[found].JobID, in.JobID)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("the job has no input %s", name)
	}
	return found, nil
}

// inputFields checks that an argument names only outputs that the kind needs, each without a doubt.
func (c *checker) inputFields(path, argument string, k Kind) {
	for _, m := range inputField.FindAllStringSubmatch(argument, -1) {
		var valid []string
		found := 0
		for _, n := range k.Needs {
			if n.Output == "" {
				continue
			}
			if full := string(n.Kind) + "/" + n.Output; m[1] == n.Output || m[1] == full {
				found++
			}
			valid = append(valid, fmt.Sprintf("{input:%s/%s}", n.Kind, n.Output))
		}
		switch {
		case found > 1:
			c.report(path, "%s is the output of %d kinds: use %s", m[0], found, either(valid))
		case found == 0 && len(valid) > 0:
			c.report(path, "%s is no output that kind %q needs: use %s", m[0], k.Name, either(valid))
		case found == 0:
			c.report(path, "%s is no output that kind %q needs: write needs = [{ kind = \"build\", output = %q }]", m[0], k.Name, m[1][strings.LastIndexByte(m[1], '/')+1:])
		}
	}
}

// fields returns the fields that the steps of a kind may have, without those of caches and inputs.
func (k Kind) fields(d Definitions) []string {
	known := []string{"{tag}", "{target}", "{profile}", "{backend}"}
	// What is built by the farm is there only if the job needs it.
	if d.Artifact.Kind != ArtifactBuilt && !k.Builds() || !k.Builds() && slices.ContainsFunc(k.Needs, func(n KindNeed) bool { return n.Output != "" }) {
		known = append(known, "{artifact}")
	}
	if !k.Builds() || k.Source != "" {
		known = append(known, "{source}")
	}
	return append(known, "{tokens}")
}
