package jetstream

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/events"
)

// Permissions lists the subjects that a user may publish and subscribe to; everything else is denied.
type Permissions struct {
	Publish   []string
	Subscribe []string
}

// CollectorPermissions returns the least that a collector needs for its lane, on the log named "EVENTS".
//
// What is missing on purpose: looking at, making or changing streams; making consumers (whoever makes one
// can have the server publish to any subject); reading the stream by request, which a server cannot
// confine to subjects; and everybody else's inbox.
func CollectorPermissions(name events.CollectorName, lane events.Lane) Permissions {
	consumer := defaultName + "." + LaneConsumer(lane)
	beat := beatsPrefix + string(name)
	p := Permissions{
		Publish: []string{
			logSubject(lane, "*"),
			beat,
			"$JS.API.DIRECT.GET." + beatsStream + "." + beat,
			"$JS.API.CONSUMER.INFO." + consumer,
			"$JS.API.CONSUMER.MSG.NEXT." + consumer,
			"$JS.ACK." + consumer + ".>",
			"$JS.ACK.*.*." + consumer + ".>", // the newer form, with domain and account
			readSubject(events.SuiteSubject("*")),
			readSubject(events.AssignmentSubject(lane)),
		},
		Subscribe: []string{collectorInbox(name) + ".>"},
	}
	for _, own := range ownSubjects(name, lane) {
		p.Publish = append(p.Publish, string(own), "$JS.API.DIRECT.GET."+defaultName+"."+string(own), readSubject(own))
	}
	for _, shown := range shownSubjects(lane) {
		p.Publish = append(p.Publish, "$JS.API.DIRECT.GET."+defaultName+"."+string(shown))
	}
	return p
}

// shownSubjects are the aggregates that others write and of which a collector may see the last event: the newest
// dispatch on its lane, who serves the lane, and which version is wanted.
func shownSubjects(lane events.Lane) []events.Subject {
	return []events.Subject{events.LaneSubject(lane), events.AssignmentSubject(lane), events.VersionSubject()}
}

// ownSubjects are the aggregates that a collector writes.
func ownSubjects(name events.CollectorName, lane events.Lane) []events.Subject {
	return []events.Subject{events.WorkSubject(lane), events.ResultSubject(lane, "*"), events.CollectorSubject(name)}
}

// Conf returns the permissions as the entry of one user for the configuration file of an external server,
// to be put into its "authorization { users = [ … ] }".
func (p Permissions) Conf(publicKey string) string {
	list := func(subjects []string) string { return `["` + strings.Join(subjects, "\",\n      \"") + `"]` }
	return fmt.Sprintf("{\n  nkey: %s\n  permissions: {\n    publish: { allow: %s }\n    subscribe: { allow: %s }\n  }\n}\n",
		publicKey, list(p.Publish), list(p.Subscribe))
}

// CollectorOptions returns the options that a collector's connection needs besides its key: replies come
// to an inbox of its own, which nobody else may read.
func CollectorOptions(name events.CollectorName) []nats.Option {
	return []nats.Option{nats.Name("tacho collector " + string(name)), nats.CustomInboxPrefix(collectorInbox(name)), nats.MaxReconnects(-1)}
}

func collectorInbox(name events.CollectorName) string { return "_INBOX_" + string(name) }

// matches reports whether a subject matches a pattern of literal tokens and "*".
func matches(pattern, subject events.Subject) bool {
	p, s := strings.Split(string(pattern), "."), strings.Split(string(subject), ".")
	if len(p) != len(s) {
		return false
	}
	for i := range p {
		if p[i] != "*" && p[i] != s[i] || s[i] == "" {
			return false
		}
	}
	return true
}
