package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// completeWord is the first argument when a shell asks which words may come next.
const completeWord = "__complete"

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Which shell: bash, zsh or fish."`
}

// Help is shown by --help.
func (c *completionCmd) Help() string {
	return "For bash: source <(tacho completion bash). For zsh: source <(tacho completion zsh). For fish: tacho completion fish | source. " +
		"To have it in every shell, put the line into the shell's start-up file."
}

// The scripts ask the program itself, so they need no change when it changes.
var completionScripts = map[string]string{
	"bash": `_tacho() {
  local IFS=$'\n'
  COMPREPLY=($(tacho ` + completeWord + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _tacho tacho
`,
	"zsh": `_tacho() {
  local -a found
  local line
  for line in "${(@f)$(tacho ` + completeWord + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#found} )); then _describe tacho found; else _files; fi
}
compdef _tacho tacho
`,
	"fish": `complete -c tacho -a '(tacho ` + completeWord + ` (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script.
func (c *completionCmd) Run(_ context.Context, p *Program) error {
	_, err := io.WriteString(p.Stdout, completionScripts[c.Shell])
	return err
}

// complete writes the words that may replace the last word. Each line has one of them, a tab, and its meaning.
func complete(w io.Writer, at *kong.Node, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	var pending *kong.Flag
	arguments := 0
	for _, word := range words[:len(words)-1] {
		switch {
		case pending != nil:
			pending = nil
		case strings.HasPrefix(word, "-"):
			if flag := findFlag(at, word); flag != nil && !flag.IsBool() && !strings.Contains(word, "=") {
				pending = flag
			}
		default:
			if child := findCommand(at, word); child != nil {
				at = child
			} else {
				arguments++
			}
		}
	}
	partial := words[len(words)-1]
	offer := func(word, meaning string) error {
		if !strings.HasPrefix(word, partial) {
			return nil
		}
		_, err := fmt.Fprintf(w, "%s\t%s\n", word, meaning)
		return err
	}
	switch {
	case pending != nil:
		return offerEnum(pending.Value, offer)
	case strings.HasPrefix(partial, "-"):
		groups := at.AllFlags(true)
		if at.DefaultCmd != nil { // its flags need no name of a command
			groups = append(groups, at.DefaultCmd.Flags)
		}
		for _, group := range groups {
			for _, flag := range group {
				if err := offer("--"+flag.Name, flag.Help); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, child := range at.Children {
		if child.Hidden {
			continue
		}
		if err := offer(child.Name, child.Help); err != nil {
			return err
		}
	}
	if arguments < len(at.Positional) {
		return offerEnum(at.Positional[arguments], offer)
	}
	return nil
}

func offerEnum(v *kong.Value, offer func(word, meaning string) error) error {
	if v.Enum == "" {
		return nil
	}
	for _, word := range v.EnumSlice() {
		if err := offer(word, ""); err != nil {
			return err
		}
	}
	return nil
}

func findCommand(at *kong.Node, name string) *kong.Node {
	for _, child := range at.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func findFlag(at *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	groups := at.AllFlags(false)
	if at.DefaultCmd != nil {
		groups = append(groups, at.DefaultCmd.Flags)
	}
	for _, group := range groups {
		for _, flag := range group {
			if flag.Name == name || string(flag.Short) == name {
				return flag
			}
		}
	}
	return nil
}
