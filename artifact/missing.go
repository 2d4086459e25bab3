package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/suite"
)

// Ready tells whether artifacts exist. A Store implements it.
type Ready interface {
	Ready(ctx context.Context, ref Ref) (bool, error)
}

// FirstMissing returns the first target whose artifact is missing, among those that a request with the parameters
// measures; empty if all exist. It skips optional targets that the request does not name: no request ever waits for
// those. It returns the errors of Ready.
func FirstMissing(ctx context.Context, store Ready, d suite.Definitions, tag events.Tag, p events.Parameters) (events.Target, error) {
	var components []string
	for _, backend := range d.Backends {
		for _, profile := range d.Profiles {
			if chosen(p.Backends, backend.Name, backend.OnRequest) && chosen(p.Profiles, profile.Name, profile.OnRequest) {
				components = append(components, d.Components(backend.Name, profile.Name)...)
			}
		}
	}
	for _, target := range d.Targets {
		if !chosen(p.Targets, target.Name, target.OnRequest || target.Optional) {
			continue
		}
		there, err := store.Ready(ctx, Ref{Suite: d.Name, Source: d.Artifact, Tag: tag, Target: target.Name, Components: components})
		var refused *RefusedError
		if errors.As(err, &refused) {
			there, err = false, nil
		}
		if err != nil {
			return "", fmt.Errorf("look for the artifact of %s: %w", tag, err)
		}
		if !there {
			return target.Name, nil
		}
	}
	return "", nil
}

func chosen[T comparable](asked []T, name T, onRequest bool) bool {
	if len(asked) == 0 {
		return !onRequest
	}
	return slices.Contains(asked, name)
}
