package control

import (
	"context"

	"github.com/tachobench/tacho/events"
)

// RaiseAlert records that something needs a person. An alert without a key gets the key of its kind and subject. Raised
// again in the same words, nothing is recorded; in other words, the text is replaced.
func (c *Control) RaiseAlert(ctx context.Context, by By, alert events.AlertRaised) (Answer, error) {
	if alert.Key == "" {
		alert.Key = events.NewAlertKey(alert.Kind, alert.About)
	}
	if err := events.CheckToken("alert", string(alert.Key)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	if alert.Kind == "" || alert.Message == "" {
		return Answer{}, refuse(Invalid, "alert %s: say its kind, and what is wrong in its message", alert.Key)
	}
	return decide(ctx, c, by, events.AlertSubject(alert.Key), evolveAlert, func(stands *events.AlertRaised) ([]events.Fact, error) {
		if stands != nil && *stands == alert {
			return nil, nil
		}
		return []events.Fact{alert}, nil
	})
}

// ClearAlert records that the cause of an alert is gone. For an alert that does not stand it records nothing.
func (c *Control) ClearAlert(ctx context.Context, by By, key events.AlertKey, reason string) (Answer, error) {
	if err := events.CheckToken("alert", string(key)); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return decide(ctx, c, by, events.AlertSubject(key), evolveAlert, func(stands *events.AlertRaised) ([]events.Fact, error) {
		if stands == nil {
			return nil, nil
		}
		return []events.Fact{events.AlertCleared{Key: key, Reason: reason}}, nil
	})
}

// evolveAlert returns the alert that stands; nil when none does.
func evolveAlert(stands *events.AlertRaised, e events.Recorded) *events.AlertRaised {
	// An alert has only these two facts.
	//exhaustive:ignore
	switch f := e.Fact.(type) {
	case events.AlertRaised:
		return &f
	case events.AlertCleared:
		return nil
	}
	return stands
}
