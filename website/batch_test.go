package website

import (
	"encoding/json"
	"testing"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/website/client"
)

// Whatever the body of a batch holds, it is refused or has requests within the bounds, and each of them is read or refused.
func FuzzParseBatch(f *testing.F) {
	f.Add(`{"requests":[{"kind":"master","tag":"c1"},{"kind":"try","key":"k"}],"first":3,"check":true}`)
	f.Add(`{"each":true,"requests":[{"kind":"master"},7,null,{"tga":1},[{}]]}`)
	f.Add(`{"requests":[]}`)
	f.Add(`{"each":true,"check":true,"requests":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		sent, err := parseBatch([]byte(text))
		if err != nil {
			if e, known := explain(err); !known || e.Status != 400 || e.Next == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		most := control.MaxRequests
		if sent.Each {
			most = control.MaxEach
		}
		if n := len(sent.Requests); n == 0 || n > most || sent.Each && sent.Check {
			t.Fatalf("%d requests: %+v", n, sent)
		}
		for i, line := range sent.Requests {
			n, err := client.ParseLine(line)
			if err != nil {
				continue
			}
			again, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := client.ParseLine(again); err != nil || back.Kind != n.Kind || back.Tag != n.Tag || back.Key != n.Key {
				t.Fatalf("%d: %+v is read as %+v: %v", i, n, back, err)
			}
		}
	})
}
