package jetstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tachobench/tacho/events"
)

// errReply says that a message did not come from a consumer.
var errReply = errors.New("message without its place in the log")

// parseReply returns the sequence and the time of a message that a consumer delivered; they are tokens of
// its reply subject. The old form has 9 tokens,
//
//	$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<consumer sequence>.<time>.<pending>
//
// the new one two more, domain and account, after ACK, and possibly others at the end.
func parseReply(reply string) (seq events.Seq, at time.Time, err error) {
	const sequence, nanoseconds, short, long = 5, 7, 9, 11
	var tokens [16]string
	n, rest := 0, reply
	for more := true; more && n < len(tokens); n++ {
		tokens[n], rest, more = strings.Cut(rest, ".")
	}
	shift := 0
	switch {
	case tokens[0] != "$JS" || tokens[1] != "ACK":
		return 0, at, fmt.Errorf("%w: %q", errReply, reply)
	case n >= long:
		shift = long - short
	case n != short:
		return 0, at, fmt.Errorf("%w: %q", errReply, reply)
	}
	s, err := strconv.ParseUint(tokens[sequence+shift], 10, 64)
	if err != nil {
		return 0, at, fmt.Errorf("%w: %q", errReply, reply)
	}
	ns, err := strconv.ParseInt(tokens[nanoseconds+shift], 10, 64)
	if err != nil {
		return 0, at, fmt.Errorf("%w: %q", errReply, reply)
	}
	return events.Seq(s), time.Unix(0, ns).UTC(), nil
}
