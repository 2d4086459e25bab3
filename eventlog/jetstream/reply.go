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

// place is the place of a delivered message in the log, and the consumer that delivered it.
type place struct {
	seq              events.Seq
	at               time.Time
	stream, consumer string
}

// parseReply returns the place of a message that a consumer delivered. It is in the tokens of the reply subject. The
// old form has 9 tokens,
//
//	$JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<consumer sequence>.<time>.<pending>
//
// the new one two more, domain and account, after ACK, and possibly others at the end.
func parseReply(reply string) (place, error) {
	const stream, consumer, sequence, nanoseconds, short, long = 2, 3, 5, 7, 9, 11
	var tokens [16]string
	n, rest := 0, reply
	for more := true; more && n < len(tokens); n++ {
		tokens[n], rest, more = strings.Cut(rest, ".")
	}
	shift := 0
	switch {
	case tokens[0] != "$JS" || tokens[1] != "ACK":
		return place{}, fmt.Errorf("%w: %q", errReply, reply)
	case n >= long:
		shift = long - short
	case n != short:
		return place{}, fmt.Errorf("%w: %q", errReply, reply)
	}
	seq, seqErr := strconv.ParseUint(tokens[sequence+shift], 10, 64)
	ns, timeErr := strconv.ParseInt(tokens[nanoseconds+shift], 10, 64)
	if seqErr != nil || timeErr != nil {
		return place{}, fmt.Errorf("%w: %q", errReply, reply)
	}
	return place{seq: events.Seq(seq), at: time.Unix(0, ns).UTC(), stream: tokens[stream+shift], consumer: tokens[consumer+shift]}, nil
}
