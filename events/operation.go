package events

// The facts about the operation of a farm: who serves a lane, which version is wanted, what is wrong.

// ---- pr.<suite>.<number> ----

// TryQueued: this try request is the newest of its pull request. It is appended in one batch with
// RequestCreated, so that at most one try of a pull request waits for its artifacts.
type TryQueued struct {
	Suite     SuiteName `json:"suite"`
	PR        int       `json:"pr"`
	RequestID RequestID `json:"request_id"`
}

// ---- assign.<target>.<set> ----

// LaneTakenOver: from here on Name executes the jobs of the lane instead of From.
type LaneTakenOver struct {
	Lane   Lane          `json:"lane"`
	Name   CollectorName `json:"name"`
	From   CollectorName `json:"from"`
	Reason string        `json:"reason"`
}

// ---- version ----

// VersionWanted: collectors that have a supervisor should run this version.
type VersionWanted struct {
	// Version is the version that the program reports, or a commit to build it from.
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"`
}

// ---- retention ----

// JobsRetired: jobs that ended before a time leave the tables. The log keeps them.
type JobsRetired struct {
	// EndedBefore is an RFC 3339 time in UTC.
	EndedBefore string `json:"ended_before"`
}

// ---- park ----

// EventsParked: no fold takes the events from First to Last. The core that parks them does not understand one of them. An
// append of several events is parked as a whole.
type EventsParked struct {
	First Seq `json:"first"`
	Last  Seq `json:"last"`
	// ID and Type are those of the event that is not understood. They show which log and which program is meant.
	ID     string `json:"id"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// EventsUnparked: folds take the events from First to Last again.
type EventsUnparked struct {
	First  Seq    `json:"first"`
	Last   Seq    `json:"last"`
	Reason string `json:"reason"`
}

// ---- alert.<key> ----

// AlertRaised: something needs a person. It stands until AlertCleared with the same key. Raised again with other words,
// it replaces the text.
type AlertRaised struct {
	Key  AlertKey  `json:"key"`
	Kind AlertKind `json:"kind"`
	// About is the collector, lane, request or source that the alert concerns; empty for the whole farm.
	About string `json:"about,omitempty"`
	// Message says what is wrong, Action what a person can do.
	Message string `json:"message"`
	Action  string `json:"action"`
}

// AlertCleared: the cause of the alert is gone.
type AlertCleared struct {
	Key    AlertKey `json:"key"`
	Reason string   `json:"reason"`
}

// AlertKey names one alert: its kind and what it is about, as a token.
type AlertKey string

// NewAlertKey returns the key of the alert of a kind about something; about may be any text.
func NewAlertKey(kind AlertKind, about string) AlertKey {
	key := string(kind) + "-" + about
	if about == "" {
		key = string(kind)
	}
	if CheckToken("alert", key) != nil {
		key = string(kind) + "-" + shortHash("alert", about)
	}
	return AlertKey(key)
}

// AlertKind is the closed set of kinds of alert.
type AlertKind string

// The kinds of alert.
const (
	// AlertStalled: there is work, but nothing has happened for too long.
	AlertStalled AlertKind = "stalled"
	// AlertUnserved: jobs are queued on a lane that no registered collector can serve.
	AlertUnserved AlertKind = "unserved"
	// AlertOffline: an active collector is offline.
	AlertOffline AlertKind = "offline"
	// AlertQuarantine: a collector or a request was quarantined.
	AlertQuarantine AlertKind = "quarantine"
	// AlertLag: the tables are behind the log.
	AlertLag AlertKind = "lag"
	// AlertUnreachable: the log could not be reached.
	AlertUnreachable AlertKind = "unreachable"
	// AlertSource: a source of commits or releases could not be polled, or the definitions in a repository are refused.
	AlertSource AlertKind = "source"
	// AlertUpdate: a collector could not be updated to the wanted version.
	AlertUpdate AlertKind = "update"
	// AlertOverrun: a job runs much longer than expected.
	AlertOverrun AlertKind = "overrun"
	// AlertReport: a report could not be posted.
	AlertReport AlertKind = "report"
	// AlertRefused: a collector asks for something it may not do, or for more than its bounds allow.
	AlertRefused AlertKind = "refused"
	// AlertLacking: the farm lacks something that requests need to start; they wait for it.
	AlertLacking AlertKind = "lacking"
	// AlertHook: the receiver of a hook takes no events.
	AlertHook AlertKind = "hook"
	// AlertHostFull: a machine has less free memory than its jobs reserve.
	AlertHostFull AlertKind = "host_full"
	// AlertStuck: a graph is open, and no job of it can run.
	AlertStuck AlertKind = "stuck"
	// AlertOverdue: a graph of a master or release was not done by its deadline.
	AlertOverdue AlertKind = "overdue"
	// AlertSeal: a collector refused a job because of its seals.
	AlertSeal AlertKind = "seal"
	// AlertOutputs: the store of outputs is full of outputs that are needed.
	AlertOutputs AlertKind = "outputs"
	// AlertNewer: the log holds an event that a part does not understand. That part decides nothing more.
	AlertNewer AlertKind = "newer"
	// AlertRoom: the log, a disk or the database is nearly full.
	AlertRoom AlertKind = "room"
	// AlertDamaged: the log does not hold what it held before.
	AlertDamaged AlertKind = "damaged"
	// AlertDatabase: the database does not answer.
	AlertDatabase AlertKind = "database"
	// AlertTurn: a process keeps the turn of its machine, and other collectors of the machine wait.
	AlertTurn AlertKind = "turn"
)
