// Package command decides what a comment on a pull request asks of the bot.
//
//	comment ──visible──▶ lines ──mentions──▶ command | refusal | nothing for us
//
// Grammar.Read does all of it. The package reads what a reader of the rendered comment sees as said by its author. It ignores quoted lines, code
// (fenced, indented or in backticks) and HTML comments. It differs from the rendering in one case: a line without ">"
// right below a quote belongs to the author, who answered the quote; Markdown makes it part of the quote. goldmark
// parses the CommonMark.
//
// A mention is the bot's name after an "@", as a word of its own, in any case. The word after it decides what it
// means:
//
//   - A command ("@bors try @tacho queue"): it is a command, wherever it is on the line. It ends with the line, or
//     where the next name is mentioned.
//   - Another word, with the mention at the start of the line: the author addresses the bot, which does not
//     understand and refuses.
//   - Another word, further right: a sentence about the bot ("thanks @tacho for the numbers"), which the bot
//     ignores. It refuses it if only arguments follow, and the word is nearly a command or the line begins with
//     another mention ("@bors try @tacho queu backends=llvm").
//   - None ("cc @tacho"): the bot ignores it. But if the line is the name alone, and the comment has no command,
//     the bot answers what it can be asked.
//
// More than one command is refused: it is not clear which of them was meant, and the bot never carries out half of a
// comment.
package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Command is the closed set of what a comment can ask for. String returns the text after the name of the bot; a
// comment with that text asks for the same again.
//
//sumtype:decl
type Command interface {
	String() string
	command()
}

// Queue asks to benchmark the try build that will follow.
type Queue struct {
	Parameters events.Parameters
	Choice     Choice
}

// Build asks to benchmark an artifact that exists, now.
type Build struct {
	// SHA is 7 to 40 lower-case hex digits. The part that carries the command out finds the commit of a short one.
	SHA        events.Tag
	Parameters events.Parameters
	Choice     Choice
}

// Triage asks, on a rollup, to benchmark each unrolled build.
type Triage struct {
	// SHAs are at least one and at most [MaxTriage], each once, in the order of the comment. They may be shorter than
	// that of a Build; the part that carries the command out finds out what they mean.
	SHAs []events.Tag
}

// Retry asks to run again what did not succeed in the newest request of this pull request.
type Retry struct {
	// Select are the terms of a graph.Selector; none means all that did not succeed.
	Select []string
}

// Noise asks for further samples of the parent of that request.
type Noise struct {
	// Samples is how many; 0 for the usual number. Benchmarks narrows them to these globs; empty means all.
	Samples    int
	Benchmarks []string
}

// Priority gives that request another priority.
type Priority struct{ To events.Priority }

// Cancel asks to stop what was asked for on this pull request.
type Cancel struct{}

// Status asks where the requests of this pull request are.
type Status struct{}

// Help asks what can be asked.
type Help struct{}

// The words of the commands.
const (
	queueWord    = "queue"
	buildWord    = "build"
	triageWord   = "triage"
	retryWord    = "retry"
	noiseWord    = "noise"
	priorityWord = "priority"
	cancelWord   = "cancel"
	statusWord   = "status"
	helpWord     = "help"
)

// words returns them in the order in which people meet them.
func words() []string {
	return []string{queueWord, buildWord, triageWord, retryWord, noiseWord, priorityWord, cancelWord, statusWord, helpWord}
}

func (Queue) command()    {}
func (Build) command()    {}
func (Triage) command()   {}
func (Retry) command()    {}
func (Noise) command()    {}
func (Priority) command() {}
func (Cancel) command()   {}
func (Status) command()   {}
func (Help) command()     {}

func (c Queue) String() string {
	return strings.Join(slices.Concat([]string{queueWord}, render(c.Parameters), c.Choice.render()), " ")
}

func (c Build) String() string {
	return strings.Join(slices.Concat([]string{buildWord, string(c.SHA)}, render(c.Parameters), c.Choice.render()), " ")
}

func (c Triage) String() string { return triageWord + " " + join(c.SHAs, " ") }

func (c Retry) String() string { return strings.Join(append([]string{retryWord}, c.Select...), " ") }

func (c Noise) String() string {
	said := []string{noiseWord}
	if c.Samples > 0 {
		said = append(said, strconv.Itoa(c.Samples))
	}
	return strings.Join(append(said, render(events.Parameters{Benchmarks: c.Benchmarks})...), " ")
}

func (c Priority) String() string { return priorityWord + " " + c.To.String() }

func (Cancel) String() string { return cancelWord }
func (Status) String() string { return statusWord }
func (Help) String() string   { return helpWord }

// render returns the given parameters as key=value.
func render(p events.Parameters) (given []string) {
	for _, one := range []struct{ key, values string }{
		{targetsKey, join(p.Targets, ",")},
		{backendsKey, join(p.Backends, ",")},
		{profilesKey, join(p.Profiles, ",")},
		{benchmarksKey, strings.Join(p.Benchmarks, ",")},
	} {
		if one.values != "" {
			given = append(given, one.key+"="+one.values)
		}
	}
	return given
}

func join[T ~string](values []T, separator string) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return strings.Join(all, separator)
}
