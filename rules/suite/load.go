package suite

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/tachobench/tacho/events"
)

// FormVersion is the newest version of the form of suite files; this program reads all versions from 1.
const FormVersion = 2

// The roots of sources whose content belongs to the definitions. Any other root is a key in the configuration of the
// collectors.
const (
	SourcesShipped = "shipped"
	SourcesFile    = "file"
)

// Load reads and checks a suite file. file is its name, for messages only. sourceDigest returns the digest of the
// content of a benchmark's source; it may be nil. Load calls it once per benchmark, and per kind with a source, if the sources belong to the
// definitions (root "shipped" or "file"). The error is Problems, with all of them at once.
func Load(file string, data []byte, sourceDigest func(BenchmarkDef) (events.Digest, error)) (Definitions, error) {
	return loadChecked(file, data, sourceDigest, checker{})
}

// loadChecked is Load with a checker that says how strict it is.
func loadChecked(file string, data []byte, sourceDigest func(BenchmarkDef) (events.Digest, error), c checker) (Definitions, error) {
	var d Definitions
	problems, ok := decode(file, data, &d)
	if !ok {
		return Definitions{}, problems
	}
	d.complete()
	c.file, c.places, c.problems = file, locate(data), problems
	c.check(d)
	if c.bounded && len(c.problems) == 0 {
		c.jobCount(d)
	}
	switch {
	case len(c.problems) > 0:
	case d.HasChoices():
		c.templateSizes(d)
	default:
		c.graphSizes(d)
	}
	if sourceDigest != nil && d.ownsSources() {
		for i := range d.Benchmarks {
			digest, err := sourceDigest(d.Benchmarks[i])
			if err != nil {
				c.report(join(index("benchmark", i), "source"), "%v", err)
			}
			d.Benchmarks[i].SourceDigest = digest
		}
		for i, k := range d.Kinds {
			if k.Source == "" {
				continue
			}
			digest, err := sourceDigest(BenchmarkDef{Source: k.Source})
			if err != nil {
				c.report(join(index("kind", i), "source"), "%v", err)
			}
			d.Kinds[i].SourceDigest = digest
		}
	}
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return Definitions{}, slices.Compact(c.problems)
	}
	return d, nil
}

// decode fills d from TOML. ok is false when the problems left nothing to check.
func decode(file string, data []byte, d *Definitions) (problems Problems, ok bool) {
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(d)
	if err == nil {
		return nil, true
	}
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		for _, e := range unknown.Errors {
			line, column := e.Position()
			problems = append(problems, Problem{file, line, column, fmt.Sprintf("unknown key %q", strings.Join(e.Key(), "."))})
		}
		return problems, true
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return Problems{{file, line, column, explain(wrong)}}, false
	}
	return Problems{{File: file, Message: strings.TrimPrefix(err.Error(), "toml: ")}}, false
}

// explain returns the message of e in words of the file instead of Go's types.
func explain(e *toml.DecodeError) string {
	text := strings.TrimPrefix(e.Error(), "toml: ")
	key := strings.Join(e.Key(), ".")
	got, into, mismatch := strings.Cut(strings.TrimPrefix(text, "cannot decode TOML "), " into ")
	field, wanted, _ := strings.Cut(strings.TrimPrefix(into, "struct field "), " of type ")
	switch {
	case mismatch && key != "":
		// The key of a value inside of an inline table is that of the table.
		if name := strings.ToLower(field[strings.LastIndexByte(field, '.')+1:]); name != "" && !strings.HasSuffix(strings.ReplaceAll(key, "_", ""), name) {
			key += "." + name
		}
		if strings.HasPrefix(wanted, "[]") {
			return fmt.Sprintf("%s cannot be of type %s: write a list, in brackets", key, got)
		}
		return fmt.Sprintf("%s cannot be of type %s", key, got)
	case mismatch:
		return fmt.Sprintf("the value cannot be of type %s", got)
	}
	return text
}

// complete fills in what a file may leave out, so that equal definitions have one form.
func (d *Definitions) complete() {
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		if b.Kind == "" && len(d.Kinds) > 0 {
			b.Kind = d.Kinds[0].Name
		}
		if b.Source == "" {
			b.Source = string(b.Name)
		}
		if d.Sources.Directory != "" {
			b.Source = d.Sources.Directory + "/" + b.Source
		}
		if len(b.Sets) == 0 {
			b.Sets = nil
		}
	}
	for i := range d.Kinds {
		k := &d.Kinds[i]
		if k.Does == DoesMeasure {
			k.Does = ""
		}
		if k.Source != "" && d.Sources.Directory != "" {
			k.Source = d.Sources.Directory + "/" + k.Source
		}
	}
	for i := range d.Options {
		if d.Options[i].Who == WhoRequest {
			d.Options[i].Who = ""
		}
	}
	for i := range d.Graphs {
		if d.Graphs[i].OnFailure == KeepGoing {
			d.Graphs[i].OnFailure = ""
		}
	}
}

func (d Definitions) ownsSources() bool {
	return d.Sources.Root == SourcesShipped || d.Sources.Root == SourcesFile
}

// Canonical returns the one stored form of d: JSON with sorted keys and no white space, escaped as
// encoding/json does, so that it passes through an event unchanged.
func (d Definitions) Canonical() []byte {
	first, err := json.Marshal(d)
	if err == nil {
		var sorted any
		dec := json.NewDecoder(bytes.NewReader(first))
		dec.UseNumber()
		if err = dec.Decode(&sorted); err == nil {
			first, err = json.Marshal(sorted)
		}
	}
	if err != nil {
		// Only a NaN or infinite floor cannot be written. Load and Parse refuse it.
		panic(fmt.Sprintf("suite: canonical form of %s: %v", d.Name, err))
	}
	return first
}

// Digest names the content of d: the SHA-256 of its canonical form.
func (d Definitions) Digest() events.Digest {
	sum := sha256.Sum256(d.Canonical())
	return events.Digest(hex.EncodeToString(sum[:]))
}

// Parse reads definitions as they were published (see Canonical). It does not check them again, so published
// definitions stay readable. A field that this program does not know is an error: without it the program would measure
// something else.
func Parse(canonical []byte) (Definitions, error) {
	var d Definitions
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return Definitions{}, fmt.Errorf("parse definitions: %w; if a newer program published them, update this one", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Definitions{}, errors.New("parse definitions: something follows the definitions")
	}
	if d.Version < 1 || d.Version > FormVersion {
		return Definitions{}, fmt.Errorf("parse definitions: they have version %d and this program reads versions 1 to %d: update it",
			d.Version, FormVersion)
	}
	for _, t := range d.Targets {
		if t.Sets < 0 || t.Sets > maxSets {
			return Definitions{}, fmt.Errorf("parse definitions: target %q has %d sets; 0 to %d can be expanded", t.Name, t.Sets, maxSets)
		}
	}
	return d, nil
}
