package website

import (
	"slices"
	"time"

	"github.com/tachobench/tacho/eventlog/presence"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

// beats joins what the log says of collectors with what is heard of them.
type beats struct {
	hearing presence.Hearing
	// offlineAfter is how long a collector may be silent before it is shown as offline.
	offlineAfter time.Duration
}

// join adds to the rows of collectors what their heartbeats tell.
func (b beats) join(rows []readmodel.Collector) []client.Collector {
	known := b.hearing.Hears() > 0
	out := make([]client.Collector, len(rows))
	for i, row := range rows {
		c, voice := client.Collector{Collector: row}, b.hearing.Of(row.Name)
		// The scheduler may have found the process silent earlier. When it is back, it says that it is online.
		over := !row.Online && row.Instance != "" && row.Instance == voice.Beat.Instance
		gone := voice.Left || voice.Silence >= b.offlineAfter || over
		if known && voice.Heard && !gone {
			c.Heartbeat = &client.Heartbeat{Beat: voice.Beat, AgeMS: voice.Age.Milliseconds()}
		}
		// If nothing was heard of a collector yet, neither a beat nor silence, the log's word stands.
		c.State = shownState(row, c.Heartbeat, known && (voice.Heard || gone))
		if c.State == client.CollectorOffline && (c.Reason == "" || row.Online) {
			c.Reason = silence(row, voice.Heard)
		}
		out[i] = c
	}
	return out
}

// shownState joins what the log says of a collector with its heartbeat. If it is not known whether there is a
// heartbeat, the log's word stands.
func shownState(row readmodel.Collector, h *client.Heartbeat, known bool) client.CollectorState {
	online, busy := row.Online, row.CurrentJob != nil
	if known {
		online, busy = h != nil, h != nil && (h.JobID != "" || busy)
	}
	switch {
	case row.RemovedAt != nil:
		return client.CollectorRemoved
	case !row.Active:
		return client.CollectorInactive
	case row.Quarantined:
		return client.CollectorQuarantined
	case !online && row.State == readmodel.CollectorUpdating:
		return client.CollectorUpdating
	case !online:
		return client.CollectorOffline
	case row.Draining:
		return client.CollectorDraining
	case busy:
		return client.CollectorBenchmarking
	}
	return client.CollectorIdle
}

// present leaves out the collectors that were removed, and counts them.
func present(rows []readmodel.Collector) (there []readmodel.Collector, removed int) {
	there = slices.DeleteFunc(slices.Clone(rows), func(c readmodel.Collector) bool { return c.RemovedAt != nil })
	return there, len(rows) - len(there)
}

// silence returns in words why a collector is offline, if the log does not say why. seen is set if its heartbeat was
// ever heard.
func silence(row readmodel.Collector, seen bool) string {
	switch {
	case row.Online || seen:
		return "no heartbeat"
	case row.OnlineAt == nil:
		return "never seen; start it with: tacho collector run " + string(row.Name)
	}
	return ""
}
