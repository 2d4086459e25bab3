package natsserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// slogger passes the server's messages on unchanged.
type slogger struct {
	log *slog.Logger
	// gated is set if a gate refuses clients. The gate itself logs each refusal with its reason.
	gated bool
	// broken is called with what the server says when it stops storing.
	broken func(said string)
}

func (l *slogger) Noticef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Warnf(format string, v ...any)   { l.log.Warn("nats", message(format, v)) }

// Errorf passes an error on, unless it is about a client that the gate refused.
func (l *slogger) Errorf(format string, v ...any) {
	if said := fmt.Sprintf(format, v...); stopsStoring(said) {
		l.broken(said)
	}
	level := slog.LevelError
	if l.gated && slices.ContainsFunc(v, refusal) {
		level = slog.LevelDebug
	}
	l.log.LogAttrs(context.Background(), level, "nats", message(format, v))
}

// stopsStoring reports whether the server says that a store takes nothing more. The server says it nowhere else: it leaves
// the writers without an answer.
func stopsStoring(said string) bool {
	said = strings.ToLower(said)
	for _, words := range []string{"critical write error", "will be disabled", "disabling jetstream"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// refusal reports whether a part of a message is the server's error about a client that Check refused.
func refusal(part any) bool {
	err, ok := part.(error)
	return ok && (errors.Is(err, server.ErrAuthentication) || errors.Is(err, server.ErrBadAccount))
}

// Fatalf only logs: the server does not decide whether the process ends.
func (l *slogger) Fatalf(format string, v ...any) { l.log.Error("nats fatal", message(format, v)) }
func (l *slogger) Debugf(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Tracef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }

func message(format string, v []any) slog.Attr {
	return slog.String("message", fmt.Sprintf(format, v...))
}
