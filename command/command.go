// Package command decides what a comment on a pull request asks of the bot.
//
//	comment ──visible──▶ lines ──mentions──▶ command | refusal | nothing for us
//
// What counts is what a reader of the rendered comment sees as said by its author: quoted lines, code (fenced,
// indented or in backticks) and HTML comments are looked through as if they were not there. Only one thing is
// read otherwise than it is rendered: a line without ">" straight below a quote belongs to the author, who
// answered it, and not to the quote that Markdown makes it part of. CommonMark is read by goldmark.
//
// A mention is the bot's name after an "@", as a word of its own, in any case. What the word after it makes of it:
//
//   - A command ("@bors try @tacho queue"): it is one, wherever it stands on the line. It ends with the line, or
//     where the next name is mentioned.
//   - Another word, with the mention at the start of the line: the bot is addressed and does not understand, so
//     it is refused.
//   - Another word, further right: a sentence about the bot ("thanks @tacho for the numbers"), which is nothing
//     for us; unless nothing but arguments follows, and the word is nearly a command or the line begins with
//     another mention ("@bors try @tacho queu backends=llvm").
//   - None ("cc @tacho"): nothing for us, unless the line is the name alone, and nothing in the comment is a
//     command: then the author is told what could be asked.
//
// More than one command is refused: which of them was meant cannot be told, and half of a comment is never
// carried out.
package command

import (
	"strings"

	"github.com/tachobench/tacho/events"
)

// Command is the closed set of what a comment can ask for. String renders what stands after the name of the
// bot; a comment with that text asks for the same again.
//
//sumtype:decl
type Command interface {
	String() string
	command()
}

// Queue asks to benchmark the try build that will follow.
type Queue struct{ Parameters events.Parameters }

// Build asks to benchmark an artifact that exists, now.
type Build struct {
	// SHA is 7 to 40 lower-case hex digits; whoever carries it out finds the commit that a short one means.
	SHA        events.Tag
	Parameters events.Parameters
}

// Triage asks, on a rollup, to benchmark each unrolled build.
type Triage struct {
	// SHAs are at least one and at most [MaxTriage], each once, in the order of the comment. They may be
	// shorter than that of a Build, and only whoever carries it out finds out what they mean.
	SHAs []events.Tag
}

// Cancel asks to stop what was asked for on this pull request.
type Cancel struct{}

// Status asks where the requests of this pull request are.
type Status struct{}

// Help asks what can be asked.
type Help struct{}

// The words of the commands.
const (
	queueWord  = "queue"
	buildWord  = "build"
	triageWord = "triage"
	cancelWord = "cancel"
	statusWord = "status"
	helpWord   = "help"
)

// words lists them in the order in which people meet them.
func words() []string {
	return []string{queueWord, buildWord, triageWord, cancelWord, statusWord, helpWord}
}

func (Queue) command()  {}
func (Build) command()  {}
func (Triage) command() {}
func (Cancel) command() {}
func (Status) command() {}
func (Help) command()   {}

func (c Queue) String() string {
	return strings.Join(append([]string{queueWord}, render(c.Parameters)...), " ")
}

func (c Build) String() string {
	return strings.Join(append([]string{buildWord, string(c.SHA)}, render(c.Parameters)...), " ")
}

func (c Triage) String() string { return triageWord + " " + join(c.SHAs, " ") }

func (Cancel) String() string { return cancelWord }
func (Status) String() string { return statusWord }
func (Help) String() string   { return helpWord }

// render returns the parameters that are given as key=value.
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
