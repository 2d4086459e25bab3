package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/events"
)

func rust() Grammar {
	return Grammar{
		Bot:      "tacho",
		Targets:  Set[events.Target]{Usual: []events.Target{"x86_64-unknown-linux-gnu"}, OnRequest: []events.Target{"aarch64-unknown-linux-gnu"}},
		Backends: Set[events.Backend]{Usual: []events.Backend{"llvm"}, OnRequest: []events.Backend{"cranelift"}},
		Profiles: Set[events.Profile]{
			Usual: []events.Profile{"check", "debug", "opt", "doc", "doc-json"}, OnRequest: []events.Profile{"clippy"},
		},
	}
}

// offering is a grammar of a suite that offers a choice.
func offering() Grammar {
	g := rust()
	g.Graphs = []string{"quick", "full"}
	g.Options = []Option{{"pgo", []string{"off", "on"}}, {"lto", []string{"none", "thin", "fat"}}}
	return g
}

// A comment chooses a graph and values of options, if the suite has such; refusals name what there is.
func TestAChoiceIsRead(t *testing.T) {
	for comment, want := range map[string]Command{
		"@tacho queue graph=full pgo=on":            Queue{Choice: Choice{"full", map[string]string{"pgo": "on"}}},
		"@tacho queue GRAPH=Full lto=FAT":           Queue{Choice: Choice{"full", map[string]string{"lto": "fat"}}},
		"@tacho build " + sha + " lto=thin pgo=off": Build{SHA: sha, Choice: Choice{Options: map[string]string{"lto": "thin", "pgo": "off"}}},
		"@tacho queue graph= backends=llvm":         Queue{Parameters: events.Parameters{Backends: []events.Backend{"llvm"}}},
	} {
		got, err := offering().Read(comment)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", comment, err, diff)
		}
	}
	for comment, want := range map[string]string{
		"@tacho queue graph=ful":     "`full`",
		"@tacho queue pgo=maybe":     "`on`",
		"@tacho queue pgo=on,off":    "one value",
		"@tacho queue pgo=on pgo=on": "twice",
		"@tacho queue pgi=on":        "`pgo`",
	} {
		_, err := offering().Read(comment)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", comment, err, want)
		}
	}
	_, err := rust().Read("@tacho queue graph=full")
	if err == nil || !strings.Contains(err.Error(), "do not know the parameter `graph`") {
		t.Errorf("a suite without graphs: %v", err)
	}
}

const sha = "323f521bc6d8f2b966ba7838a3f3ee364e760b7e"

func TestAccepted(t *testing.T) {
	llvm := events.Parameters{Backends: []events.Backend{"llvm"}}
	both := events.Parameters{Backends: []events.Backend{"cranelift", "llvm"}}
	for name, c := range map[string]struct {
		comment string
		want    Command
	}{
		"queue":                              {"@tacho queue", Queue{}},
		"many spaces":                        {"@tacho     queue backends=llvm   ", Queue{Parameters: llvm}},
		"tabs and a no-break space":          {"@tacho\u00a0queue\tbackends=llvm", Queue{Parameters: llvm}},
		"after the merge bot":                {"@bors try @tacho queue", Queue{}},
		"after the merge bot, with key":      {"@bors try @tacho queue backends=llvm", Queue{Parameters: llvm}},
		"before another bot":                 {"@tacho queue backends=llvm @bors try", Queue{Parameters: llvm}},
		"prose on other lines":               {"Let's see.\n\n@tacho queue backends=llvm\n\nThanks!", Queue{Parameters: llvm}},
		"prose directly around":              {"Let's see.\n@tacho queue\nThanks!", Queue{}},
		"lines of Windows":                   {"Let's see.\r\n@tacho queue\r\nThanks!\r\n", Queue{}},
		"a sentence about the bot besides":   {"thanks @tacho for the numbers!\n@tacho queue", Queue{}},
		"text before":                        {"Once more, @tacho queue", Queue{}},
		"in a list":                          {"1. @bors try\n2. @tacho queue", Queue{}},
		"deep in a list, after a blank line": {"- first\n\n    @tacho queue", Queue{}},
		"as a heading":                       {"## @tacho queue", Queue{}},
		"indented, below equals signs":       {"===\n    @tacho queue", Queue{}},
		"indented a little":                  {"   @tacho queue", Queue{}},
		"indented, within a paragraph":       {"I wish:\n     @tacho queue", Queue{}},
		"below a quote":                      {"> should we measure?\n@tacho queue", Queue{}},
		"below a closed fence":               {"```\ncode\n```\n@tacho queue", Queue{}},
		"below a fence in a list":            {"- ```\n  code\n@tacho queue", Queue{}},
		"below a fence in a quote":           {"> ```\n@tacho queue", Queue{}},
		"beside code":                        {"`code` @tacho queue", Queue{}},
		"between unequal backticks":          {"`` a @tacho queue\n\n`", Queue{}},
		"beside an HTML comment":             {"<!-- hidden --> @tacho queue <!-- too -->", Queue{}},
		"behind one that is not closed":      {"a <!-- b @tacho queue", Queue{}},
		"behind an escaped backtick":         {"\\` @tacho queue\n`", Queue{}},
		"in capitals":                        {"@Tacho QUEUE Backends=LLVM", Queue{Parameters: llvm}},
		"with a colon":                       {"@tacho: queue", Queue{}},
		"empty values":                       {"@tacho queue profiles= backends=, targets=,,", Queue{}},
		"every value once":                   {"@tacho queue backends=llvm,LLVM,,llvm", Queue{Parameters: llvm}},
		"profiles, one on request":           {"@tacho queue profiles=Doc,Clippy,Opt", Queue{Parameters: events.Parameters{Profiles: []events.Profile{"doc", "clippy", "opt"}}}},
		"everything": {
			"@tacho queue benchmarks=serde-*,regex-1.[0-9] targets=AARCH64-unknown-linux-gnu profiles=doc-json backends=cranelift",
			Queue{Parameters: events.Parameters{
				Targets: []events.Target{"aarch64-unknown-linux-gnu"}, Backends: []events.Backend{"cranelift"},
				Profiles: []events.Profile{"doc-json"}, Benchmarks: []string{"serde-*", "regex-1.[0-9]"},
			}},
		},
		"build SHA":              {"@tacho build " + sha, Build{SHA: sha}},
		"build short SHA":        {"@tacho build 323F521", Build{SHA: "323f521"}},
		"build URL":              {"@tacho build https://github.com/rust-lang/rust/commit/" + sha, Build{SHA: sha}},
		"build URL with a query": {"@tacho build https://github.com/rust-lang/rust/commit/" + sha + "/?w=1#diff-0", Build{SHA: sha}},
		"build URL of an enterprise": {
			"@tacho build https://github.example.com:8443/o/r/commit/" + sha + " backends=llvm", Build{SHA: sha, Parameters: llvm},
		},
		"build URL in a pull request": {"@tacho build https://github.com/o/r/pull/7/commits/" + sha, Build{SHA: sha}},
		"build with backends":         {"@tacho build " + sha + " backends=Cranelift,Llvm", Build{SHA: sha, Parameters: both}},
		"triage":                      {"@tacho triage abcd  efgh", Triage{SHAs: []events.Tag{"abcd", "efgh"}}},
		"triage, one twice, a URL": {
			"@tacho triage abcd1234 ABCD1234 https://github.com/o/r/commit/" + sha, Triage{SHAs: []events.Tag{"abcd1234", sha}},
		},
		"retry":         {"@tacho retry", Retry{}},
		"retry some":    {"@bors r+ @tacho Retry Target=X86_64-unknown-linux-gnu state=Failure,skipped kind=compile profile=", Retry{Select: []string{"target=x86_64-unknown-linux-gnu", "state=failure,skipped", "kind=compile"}}},
		"noise":         {"@tacho noise", Noise{}},
		"noise 007":     {"@tacho noise 007", Noise{Samples: 7}},
		"noise of some": {"@tacho noise 3 benchmarks=regex*,serde", Noise{Samples: 3, Benchmarks: []string{"regex*", "serde"}}},
		"priority":      {"@tacho priority VIP", Priority{To: events.PriorityVIP}},
		"priority back": {"@tacho priority normal", Priority{To: events.PriorityNormal}},
		"cancel":        {"@tacho cancel", Cancel{}},
		"status":        {"@tacho status", Status{}},
		"help":          {"@tacho help", Help{}},
		"help, please":  {"@tacho help me, please", Help{}},
		"name and help": {"@tacho\n\n@tacho help", Help{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rust().Read(c.comment)
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		comment string
		// want are parts of the sentence: the wrong word, and what is right.
		want []string
	}{
		"unknown key":                    {"@tacho queue foo=bar", []string{"`foo`", "`targets`, `backends`, `profiles` or `benchmarks`"}},
		"nearly a key":                   {"@tacho queue profile=doc", []string{"`profile`", "did you mean `profiles`?"}},
		"duplicate key":                  {"@tacho queue backends=llvm backends=llvm", []string{"`backends` is given twice"}},
		"duplicate key, once empty":      {"@tacho queue profiles= Profiles=opt", []string{"`profiles` is given twice"}},
		"spaces around =":                {"@tacho queue backends = llvm", []string{"no spaces around the `=`", "`@tacho queue profiles=check`"}},
		"space before =":                 {"@tacho queue backends =llvm", []string{"no spaces around the `=`"}},
		"space after =":                  {"@tacho queue backends= llvm", []string{"no spaces around the `=`"}},
		"space after a comma":            {"@tacho queue profiles=doc, opt", []string{"no spaces around the commas", "`opt`"}},
		"a word that is no parameter":    {"@tacho queue please", []string{"`please`", "on another line"}},
		"unknown profile":                {"@tacho queue profiles=Foo", []string{"`Foo`", "`check`, `debug`, `opt`, `doc`, `doc-json` or `clippy`"}},
		"nearly a profile":               {"@tacho queue profiles=clipy", []string{"did you mean `clippy`?"}},
		"unknown backend":                {"@tacho queue backends=llvm,gcc", []string{"`gcc`", "`llvm` or `cranelift`"}},
		"unknown target":                 {"@tacho queue targets=riscv", []string{"`riscv`", "`x86_64-unknown-linux-gnu` or `aarch64-unknown-linux-gnu`"}},
		"benchmarks that are no pattern": {"@tacho queue benchmarks=a[", []string{"`a[`", "`*`"}},
		"benchmarks with a slash":        {"@tacho queue benchmarks=a/b", []string{"`a/b`"}},
		"build without a SHA":            {"@tacho build", []string{"`build` needs the SHA", "`@tacho build 1a2b3c4d`"}},
		"build with a key, no SHA":       {"@tacho build backends=llvm", []string{"`build` needs the SHA"}},
		"build of a branch":              {"@tacho build foo/bar", []string{"`foo/bar` is not the URL of a commit", "https://github.com/owner/name/commit/SHA"}},
		"build of a URL of a branch":     {"@tacho build https://github.com/o/r/tree/main", []string{"is not the URL of a commit"}},
		"build of half a URL":            {"@tacho build github.com/o/r/commit/" + sha, []string{"is not the URL of a commit"}},
		"build of a short word":          {"@tacho build abc", []string{"`abc` is not a SHA", "7 to 40 hex digits"}},
		"build of a long word":           {"@tacho build " + sha + "0", []string{"is not a SHA"}},
		"build of a name":                {"@tacho build version2", []string{"`version2` is not a SHA"}},
		"build of two":                   {"@tacho build abcdef1 abcdef2", []string{"`abcdef2` is a second"}},
		"build of code":                  {"@tacho build `abcdef1`", []string{"I do not read code", "without backticks"}},
		"triage without SHAs":            {"@tacho triage", []string{"`triage` needs the SHAs", "`@tacho triage 1a2b3c4d 5e6f7a8b`"}},
		"triage with parameters":         {"@tacho triage abcd1234 backends=llvm", []string{"no parameters such as `backends=llvm`"}},
		"triage of a branch":             {"@tacho triage foo/bar", []string{"`foo/bar` is neither a SHA"}},
		"triage of too many":             {"@tacho triage" + many(MaxTriage+1), []string{"at most 50"}},
		"retry of an unknown property":   {"@tacho retry benchmarks=a", []string{"`benchmarks`", "`kind`, `target`, `set`, `backend`, `profile` or `state`"}},
		"retry of nearly a property":     {"@tacho retry targets=a", []string{"did you mean `target`?"}},
		"retry of an unknown state":      {"@tacho retry state=broken", []string{"`broken`", "`failure`", "`skipped`"}},
		"retry of a property twice":      {"@tacho retry kind=a kind=b", []string{"`kind` is given twice"}},
		"retry with spaces":              {"@tacho retry kind = a", []string{"no spaces", "`@tacho retry state=failure`"}},
		"retry of a word":                {"@tacho retry please", []string{"`please`", "`@tacho retry state=failure`"}},
		"retry of half a name":           {"@tacho retry kind=a/b", []string{"`a/b` cannot name a kind"}},
		"noise of one sample":            {"@tacho noise 1", []string{"`1` is not a number of samples", "2 to 20"}},
		"noise of many":                  {"@tacho noise 99999999999999999999", []string{"2 to 20"}},
		"noise of a profile":             {"@tacho noise 3 profiles=opt", []string{"`profiles`", "use `benchmarks`"}},
		"noise of half":                  {"@tacho noise 2.5", []string{"`2.5`", "`@tacho noise benchmarks=a*`"}},
		"noise twice":                    {"@tacho noise 5 5", []string{"after `noise 5`", "`@tacho noise 5 benchmarks=a*`"}},
		"priority without one":           {"@tacho priority", []string{"`vip`, `high`, `normal`, `low` or `idle`"}},
		"priority of another word":       {"@tacho priority urgent", []string{"`urgent`", "`vip`, `high`"}},
		"priority of two":                {"@tacho priority high low", []string{"`low`", "`@tacho priority high`"}},
		"cancel with more":               {"@tacho cancel it", []string{"`cancel` takes nothing after it", "`it`", "`@tacho cancel`"}},
		"unknown command":                {"@tacho frobnicate", []string{"`frobnicate`", "`queue`, `build`, `triage`, `retry`, `noise`, `priority`, `cancel`, `status` or `help`"}},
		"nearly a command":               {"@tacho quue backends=llvm", []string{"did you mean `queue`?"}},
		"nearly a command, after text":   {"Again: @tacho biuld " + sha, []string{"did you mean `build`?"}},
		"unknown after the merge bot":    {"@bors try @tacho bench", []string{"`bench`"}},
		"two commands":                   {"@tacho queue @tacho build " + sha, []string{"`queue`", "`build " + sha + "`", "a new comment for each"}},
		"two commands on two lines":      {"@tacho queue\ntext\n@tacho queue", []string{"a new comment for each"}},
		"a command and a wrong one":      {"@tacho queue\n@tacho frobnicate", []string{"a new comment for each"}},
		"the name alone":                 {"Hello!\n\n@tacho", []string{"`queue`, `build`", "`@tacho queue`"}},
		"a mention of others":            {"@tacho queue foo`@all=1", []string{"`foo'@all`"}},
		"a very long word":               {"@tacho " + strings.Repeat("x", 5000), []string{strings.Repeat("x", quoted) + "…`"}},
		"an invisible character":         {"@tacho queue\u200b", []string{"`queue\\u200b`"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rust().Read(c.comment)
			var refusal *Refusal
			if !errors.As(err, &refusal) || got != nil {
				t.Fatalf("not refused: %v, %v", got, err)
			}
			for _, piece := range c.want {
				if !strings.Contains(refusal.Sentence, piece) {
					t.Errorf("%q does not say %q", refusal.Sentence, piece)
				}
			}
			t.Log(refusal.Sentence)
		})
	}
}

func TestIgnored(t *testing.T) {
	for name, comment := range map[string]string{
		"nothing":                             "",
		"no mention":                          "queue it",
		"quoted":                              "> @tacho queue",
		"quoted and indented":                 "   >@tacho queue",
		"quoted in a list":                    "- > @tacho queue",
		"quoted twice":                        ">> a\n>> @tacho queue",
		"fenced":                              "```\n@tacho queue\n```",
		"fenced with tildes":                  "~~~ text\n@tacho queue\n~~~",
		"fenced, never closed":                "```\n@tacho queue",
		"fenced with more":                    "`````\n```\n@tacho queue\n`````",
		"fenced with the other":               "~~~\n```\n@tacho queue\n~~~",
		"fenced, the end has more on it":      "```\n``` x\n@tacho queue\n```",
		"fenced in a list":                    "1. a\n   ```\n   @tacho queue\n   ```",
		"fenced in a paragraph":               "text\n```\n@tacho queue\n```",
		"in backticks":                        "write `@tacho queue` there",
		"in many backticks":                   "write ```` @tacho ``queue` ```` there",
		"in backticks, on two lines":          "write `this\n@tacho queue\nthere` please",
		"the command in backticks":            "@tacho `queue`",
		"indented code":                       "    @tacho queue",
		"indented with a tab":                 "text\n\n\t@tacho queue",
		"indented code in a list":             "- a\n\n      @tacho queue",
		"indented code below an empty item":   "-\n\n    @tacho queue",
		"behind a second comment, not closed": "<!-- a --> <!-- @tacho queue",
		"indented code below a heading":       "# a\n    @tacho queue",
		"in an HTML comment":                  "<!-- @tacho queue -->",
		"in an HTML comment of two lines":     "text <!-- a\n@tacho queue -->",
		"below a comment never closed":        "<!-- a\n\n@tacho queue",
		"in HTML code":                        "text <code>@tacho queue</code>",
		"in preformatted HTML":                "<pre>\n\n@tacho queue\n</pre>",
		"a longer name":                       "@tachometer queue",
		"a name with a dash":                  "@tacho-dev queue",
		"a name with an underscore":           "@tacho_ queue",
		"an e-mail address":                   "foo@tacho queue",
		"a dotted e-mail address":             "foo.@tacho queue",
		"a domain":                            "@tacho.dev queue",
		"a team":                              "@tacho/people queue",
		"a possessive":                        "@tacho's queue is long",
		"no at":                               "tacho queue",
		"thanks":                              "thanks @tacho for the numbers",
		"a copy":                              "cc @tacho",
		"a copy to many":                      "cc @alice @tacho @bob",
		"an aside":                            "this was found by @tacho, again",
		"an address with a comma":             "@tacho, you are right",
		"a question":                          "what does @tacho status-quo mean here?",
		"too long for GitHub":                 "@tacho queue" + strings.Repeat("\n", MaxComment),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := rust().Read(comment); got != nil || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestOtherNames(t *testing.T) {
	g := rust()
	g.Bot = "rust-timer"
	if got, err := g.Read("@bors try @rust-timer queue"); got != Command(nil) && err == nil {
		if diff := cmp.Diff(Queue{}, got); diff != "" {
			t.Error(diff)
		}
	} else {
		t.Errorf("got %v, %v", got, err)
	}
	for _, comment := range []string{"@tacho queue", "@rust queue", "@rust-timer2 queue"} {
		if got, err := g.Read(comment); got != nil || err != nil {
			t.Errorf("%q: got %v, %v", comment, got, err)
		}
	}
	if got, err := (Grammar{}).Read("@ queue"); got != nil || err != nil {
		t.Errorf("without a name: got %v, %v", got, err)
	}
}

func TestOpenSets(t *testing.T) {
	g := Grammar{Bot: "tacho", Profiles: Set[events.Profile]{Usual: []events.Profile{"opt"}, Open: true}}
	got, err := g.Read("@tacho queue profiles=OPT,Mine-2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Queue{Parameters: events.Parameters{Profiles: []events.Profile{"opt", "Mine-2"}}}, got); diff != "" {
		t.Error(diff)
	}
	for _, comment := range []string{"@tacho queue profiles=a:b", "@tacho queue profiles=-a", "@tacho queue backends=llvm"} {
		if _, err := g.Read(comment); err == nil {
			t.Errorf("%q is accepted", comment)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" abcd")
		b.WriteByte(byte('a' + i/26))
		b.WriteByte(byte('a' + i%26))
	}
	return b.String()
}
