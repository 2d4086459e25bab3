package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/internal/phrase"
	"github.com/tachobench/tacho/rules/suite"
)

const (
	// mostDiagnostics is how many different texts a job reports, mostDiagnosticBytes how large they may be together as JSON:
	// they travel in one event.
	mostDiagnostics     = 200
	mostDiagnosticBytes = 512 << 10
	// mostTexts is how many different texts are told apart. Those beyond it count as different from all others.
	mostTexts = 1 << 16
	// mostLevels is how many levels are told apart; lines of others count as otherLevel.
	mostLevels = 16
	otherLevel = "other"
	// diagnosticBytes bounds a text in bytes, wordBytes a level and a code. Patterns see no more of a line either.
	diagnosticBytes = 4 << 10
	wordBytes       = 64
)

// escapes are what terminals take for commands.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// diagnosis collects what the commands of a job have to say that its definitions recognise.
type diagnosis struct {
	rules suite.Diagnostics
	// places are directories whose names differ between jobs.
	places *strings.Replacer
	// known are the hashes of the texts that were seen: the index in items, or -1 for one that is not among them.
	known map[[8]byte]int
	items []events.Diagnostic
	// bytes is how large items are as JSON, more how many different texts are not among them.
	bytes, more int
	levels      map[string]int
	// denied counts the lines with which the job is no success; first is the first of them.
	denied int
	first  string
}

// diagnose returns what collects the diagnostics of a job; nil if its definitions recognise none.
func diagnose(job Steps) *diagnosis {
	if !job.Plan.Diagnostics.Any() {
		return nil
	}
	var names []string
	for _, dir := range []string{job.Slot, job.Cache, job.Toolchain.Dir} {
		if dir != "" {
			names = append(names, dir+"/", "", dir, "")
		}
	}
	return &diagnosis{rules: job.Plan.Diagnostics, places: strings.NewReplacer(names...), known: map[[8]byte]int{}, levels: map[string]int{}}
}

// lines takes one or more lines of a command while it runs (see measure.Cmd).
func (d *diagnosis) lines(text []byte) {
	if d == nil {
		return
	}
	for line := range bytes.Lines(text) {
		d.take(line)
	}
}

// take takes one line, with or without its line feed.
func (d *diagnosis) take(line []byte) {
	text := readable(line)
	level, code, ok := d.rules.Recognise([]byte(text))
	if !ok {
		return
	}
	if d.rules.Denies(level) {
		if d.denied++; d.denied == 1 {
			d.first = text
		}
	}
	level = cut(level, wordBytes)
	if _, told := d.levels[level]; !told && len(d.levels) >= mostLevels {
		level = otherLevel
	}
	d.levels[level]++
	hash := hashOf(d.places.Replace(text))
	at, known := d.known[hash]
	switch {
	case !known:
		d.add(hash, events.Diagnostic{Level: level, Code: cut(code, wordBytes), Text: text, Hash: hex.EncodeToString(hash[:]), Count: 1})
	case at >= 0:
		d.items[at].Count++
	}
}

// add takes a text that was not seen before.
func (d *diagnosis) add(hash [8]byte, item events.Diagnostic) {
	encoded, err := json.Marshal(item)
	fits := err == nil && len(d.items) < mostDiagnostics && d.bytes+len(encoded) <= mostDiagnosticBytes
	at := -1
	if fits {
		at = len(d.items)
		d.items, d.bytes = append(d.items, item), d.bytes+len(encoded)
	} else {
		d.more++
	}
	if len(d.known) < mostTexts {
		d.known[hash] = at
	}
}

// hashOf returns the hash of a text without what differs by chance.
func hashOf(text string) (hash [8]byte) {
	sum := sha256.Sum256([]byte(phrase.WithoutChance(text)))
	copy(hash[:], sum[:])
	return hash
}

// readable returns a line as people can read it: text of a bounded length, which is no command to a terminal.
func readable(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	text := strings.ToValidUTF8(string(line[:min(len(line), diagnosticBytes)]), "\uFFFD")
	if strings.ContainsRune(text, '\x1b') {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
	return cut(text, diagnosticBytes)
}

// cut returns the beginning of a text, at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// report tells the sink what was said, and returns how the job ended: err, or a *StepsError if it would be a success and what
// was said is denied. A job that is tried again says nothing yet.
func (d *diagnosis) report(ctx context.Context, sink Sink, err error) error {
	var failed *StepsError
	if d == nil || ctx.Err() != nil || err != nil && !errors.As(err, &failed) {
		return err
	}
	if len(d.items)+d.more > 0 {
		told := sink.Diagnosed(ctx, events.DiagnosticsSeen{Items: d.items, More: d.more, Lines: d.levels})
		if told != nil {
			return told
		}
	}
	if err != nil || d.denied == 0 {
		return err
	}
	return &StepsError{events.ErrorDiagnostics, fmt.Sprintf("the commands succeeded, and printed %s that the definitions deny (deny names %s); the first is: %s",
		phrase.Count(d.denied, "line"), strings.Join(d.rules.Deny(), ", "), quoted([]byte(d.first)))}
}
