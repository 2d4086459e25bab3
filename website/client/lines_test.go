package client

import (
	"strings"
	"testing"

	"github.com/tachobench/tacho/events"
)

func TestReadLines(t *testing.T) {
	list, err := ReadLines(strings.NewReader(`{"kind":"master","tag":"c1","parent_tag":"c0","priority":"low"}` + "\n" + `{"kind":"try","key":"k"}` + "\n"))
	if err != nil || len(list) != 2 || list[0].Parent != "c0" || list[0].Priority != events.PriorityLow || list[1].Key != "k" {
		t.Fatalf("%+v %v", list, err)
	}
	good := `{"kind":"master","tag":"c"}` + "\n"
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":          {"", "there is no request"},
		"an empty line":    {good + "\n" + good, "line 2: it is empty"},
		"no JSON":          {good + "c1\n", "line 2: invalid character"},
		"broken off":       {good + `{"kind":`, "line 2: the JSON breaks off"},
		"two on a line":    {good + "{\"kind\":\"master\"} {}\n", "line 2: something follows"},
		"a list":           {"[]\n", "line 1: it must be a JSON object"},
		"unknown field":    {`{"kind":"master","tga":"c1"}`, `line 1: unknown field "tga"`},
		"mistyped field":   {`{"kind":"master","pr":"x"}`, `line 1: field "pr" cannot be a string`},
		"unknown kind":     {`{"kind":"nightly"}`, "line 1: unknown kind of request"},
		"unknown priority": {`{"kind":"master","priority":"asap"}`, `line 1: unknown priority "asap"`},
		"a long line":      {good + strings.Repeat(" ", MaxLine+1), "line 2: it has more than 65536 bytes"},
		"many lines":       {strings.Repeat(good, MaxLines+1), "more than 10000 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := ReadLines(strings.NewReader(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || list != nil {
				t.Errorf("%d requests, %v", len(list), err)
			}
		})
	}
}

// Whatever a file holds, it is read or refused, line by line; what is read is what was written.
func FuzzReadLines(f *testing.F) {
	f.Add(`{"kind":"master","tag":"c1"}` + "\n" + `{"kind":"try","key":"k","queue":"idle"}`)
	f.Add("\n\n")
	f.Add(`{"kind":"release","parameters":{"targets":["a"]}}` + "\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadLines(strings.NewReader(text))
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d requests, %v", len(list), err)
		}
		if err == nil && len(list) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d requests in %q", len(list), text)
		}
		for _, n := range list {
			if _, err := events.ParsePriority(string(n.Priority)); err != nil || n.Kind == "" {
				t.Fatalf("%+v", n)
			}
		}
	})
}
