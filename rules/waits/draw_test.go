package waits

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the rounds, the drawing is one well-formed element without style and script, and escapes its texts.
func TestTheDrawingIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Follow(randomRounds(t), noon.Add(-time.Minute), noon.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "to"))*time.Minute))
		for i := range l.Rounds {
			l.Rounds[i].Name = rapid.SampledFrom([]string{"smoke", `<script>"'&`, strings.Repeat("lång ", 40)}).Draw(t, "name")
		}
		drawn := l.SVG(`a "label" <b>`, func(t Timing) string { return "/jobs/" + string(t.Job) }, func(ms int64) string { return fmt.Sprint(ms, " ms <") })
		elements := map[string]int{}
		d := xml.NewDecoder(strings.NewReader(drawn))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v:\n%s", err, drawn)
			}
			if e, ok := token.(xml.StartElement); ok {
				elements[e.Name.Local]++
				for _, a := range e.Attr {
					if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Fatalf("attribute %v", a)
					}
				}
			}
		}
		bars := 0
		for _, r := range l.Rounds {
			bars += len(r.Parts)
		}
		if elements["svg"] != 1 || elements["a"] != len(l.Rounds) || elements["rect"] != bars || elements["path"] != 4 || elements["script"]+elements["style"] > 0 {
			t.Fatalf("elements %v for %d jobs with %d parts", elements, len(l.Rounds), bars)
		}
	})
}
