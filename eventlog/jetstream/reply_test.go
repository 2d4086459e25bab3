package jetstream

import (
	"testing"
	"time"
)

func TestParseReply(t *testing.T) {
	want := place{seq: 17, at: time.Unix(0, 1700000000123456789).UTC(), stream: "EVENTS", consumer: "lane-t-1"}
	for _, reply := range []string{
		"$JS.ACK.EVENTS.lane-t-1.1.17.3.1700000000123456789.0",
		"$JS.ACK._.ABCDEF.EVENTS.lane-t-1.1.17.3.1700000000123456789.0",
		"$JS.ACK.domain.ABCDEF.EVENTS.lane-t-1.1.17.3.1700000000123456789.0.token",
	} {
		if got, err := parseReply(reply); err != nil || got != want {
			t.Errorf("%s: %+v, %v", reply, got, err)
		}
	}
}

func FuzzParseReply(f *testing.F) {
	for _, reply := range []string{"", "$JS.ACK", "$JS.ACK.a.b.1.2.3.4.5", "$JS.ACK.a.b.1.x.3.4.5", "$JS.ACK.d.h.a.b.1.2.3.4.5.t.u.v.w.x.y.z", "_INBOX.a"} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		if p, err := parseReply(reply); err != nil && p != (place{}) {
			t.Errorf("%q: a place %+v with error %v", reply, p, err)
		}
	})
}
