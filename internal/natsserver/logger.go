package natsserver

import (
	"fmt"
	"log/slog"
)

// slogger passes the server's messages on, as they are: their text is the server's own.
type slogger struct {
	log *slog.Logger
}

func (l *slogger) Noticef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Warnf(format string, v ...any)   { l.log.Warn("nats", message(format, v)) }
func (l *slogger) Errorf(format string, v ...any)  { l.log.Error("nats", message(format, v)) }

// Fatalf is only logged: whether the process ends is not the server's to say.
func (l *slogger) Fatalf(format string, v ...any) { l.log.Error("nats fatal", message(format, v)) }
func (l *slogger) Debugf(format string, v ...any) { l.log.Debug("nats", message(format, v)) }
func (l *slogger) Tracef(format string, v ...any) { l.log.Debug("nats", message(format, v)) }

func message(format string, v []any) slog.Attr {
	return slog.String("message", fmt.Sprintf(format, v...))
}
