package control

import (
	"context"

	"github.com/tachobench/tacho/events"
)

// WantVersion sets the version that collectors with a supervisor should run. They change to it between two requests.
func (c *Control) WantVersion(ctx context.Context, by By, wanted events.VersionWanted) (Answer, error) {
	if err := events.CheckVersion(wanted.Version); err != nil {
		return Answer{}, refuse(Invalid, "%s", err)
	}
	return decide(ctx, c, by, events.VersionSubject(),
		func(_ string, e events.Recorded) string { return e.Fact.(events.VersionWanted).Version },
		func(current string) ([]events.Fact, error) {
			if current == wanted.Version {
				return nil, nil
			}
			return []events.Fact{wanted}, nil
		})
}
