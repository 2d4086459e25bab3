package command_test

import (
	"fmt"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/webhook/command"
)

// A comment asks for one thing, after the name of the bot. A mention in code asks for nothing.
func ExampleGrammar_Read() {
	g := command.Grammar{Bot: "tacho", Profiles: command.Set[events.Profile]{Usual: []events.Profile{"opt"}}}
	for _, comment := range []string{"Looks good. `@tacho queue`", "@tacho queue profiles=opt", "@tacho queue profiles=fast"} {
		c, err := g.Read(comment)
		fmt.Printf("%v, %v\n", c, err)
	}
	// Output:
	// <nil>, <nil>
	// queue profiles=opt, <nil>
	// <nil>, I do not know the profile `fast`: use `opt`.
}
