package natsserver

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// slogger passes the server's messages on, as they are: their text is the server's own.
type slogger struct {
	log *slog.Logger
	// gated is set when a gate refuses clients. It tells of each, with the reason.
	gated bool
}

func (l *slogger) Noticef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Warnf(format string, v ...any)   { l.log.Warn("nats", message(format, v)) }

// Errorf passes an error on, unless it is about a client that the gate refused.
func (l *slogger) Errorf(format string, v ...any) {
	m := message(format, v)
	if l.gated && refusal(m.Value.String()) {
		l.log.Debug("nats", m)
		return
	}
	l.log.Error("nats", m)
}

// refusal reports whether a message of the server is what it says of a client whom Check refused.
func refusal(text string) bool {
	return strings.Contains(text, server.ErrAuthentication.Error()) || strings.Contains(text, `Problem registering with account ""`)
}

// Fatalf is only logged: whether the process ends is not the server's to say.
func (l *slogger) Fatalf(format string, v ...any) { l.log.Error("nats fatal", message(format, v)) }
func (l *slogger) Debugf(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Tracef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }

func message(format string, v []any) slog.Attr {
	return slog.String("message", fmt.Sprintf(format, v...))
}
