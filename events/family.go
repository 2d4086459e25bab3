package events

// The families of facts. A fold names the families that it uses, and handles every fact in them. It ignores other
// families. A family is a closed set, like Fact.

// RequestFact is the family of facts about the life of one request and the jobs made for it, on request.<id>.
//
//sumtype:decl
type RequestFact interface {
	Fact
	// Whose returns the request.
	Whose() RequestID
	requestFact()
}

// AdmissionFact is the family of facts that let a request have jobs, on admission.
//
//sumtype:decl
type AdmissionFact interface {
	Fact
	// Whose returns the request.
	Whose() RequestID
	admissionFact()
}

// CollectorFact is the family of facts about the standing of one collector, on registry.<name> and collector.<name>.
//
//sumtype:decl
type CollectorFact interface {
	Fact
	// Whose returns the collector.
	Whose() CollectorName
	collectorFact()
}

// AssignmentFact is the family of facts about who serves a lane, on assign.<target>.<set>.
//
//sumtype:decl
type AssignmentFact interface {
	Fact
	// Where returns the lane.
	Where() Lane
	assignmentFact()
}

// WorkFact is the family of facts about the attempts of a lane, on work.<target>.<set>.
//
//sumtype:decl
type WorkFact interface {
	Fact
	// Where returns the lane, Which the job.
	Where() Lane
	Which() JobID
	workFact()
}

// ResultFact is the family of facts about what a job measured, on result.<target>.<set>.<job>.
//
//sumtype:decl
type ResultFact interface {
	Fact
	// Where returns the lane, Which the job.
	Where() Lane
	Which() JobID
	resultFact()
}

// OutboxFact is the family of facts about one comment, on outbox.<key>.
//
//sumtype:decl
type OutboxFact interface {
	Fact
	outboxFact()
}

// DeliveryFact is the family of facts about one delivery of a webhook, on delivery.<hook>.<id>.
//
//sumtype:decl
type DeliveryFact interface {
	Fact
	deliveryFact()
}

// AlertFact is the family of facts about one alert, on alert.<key>.
//
//sumtype:decl
type AlertFact interface {
	Fact
	alertFact()
}

// ShareFact is the family of facts about how the farm is shared, on account.<name>, queue.<name> and share.
//
//sumtype:decl
type ShareFact interface {
	Fact
	shareFact()
}

// MachineFact is the family of facts about what machines have, on machine.<name>.
//
//sumtype:decl
type MachineFact interface {
	Fact
	// Whose returns the machine.
	Whose() MachineName
	machineFact()
}

// Whose implements RequestFact.
func (f RequestCreated) Whose() RequestID           { return f.RequestID }
func (f RequestArtifactsReady) Whose() RequestID    { return f.RequestID }
func (f RequestStarted) Whose() RequestID           { return f.RequestID }
func (f JobsCreated) Whose() RequestID              { return f.RequestID }
func (f RequestExpansionFailed) Whose() RequestID   { return f.RequestID }
func (f RequestCompleted) Whose() RequestID         { return f.RequestID }
func (f RequestFailed) Whose() RequestID            { return f.RequestID }
func (f RequestCancelled) Whose() RequestID         { return f.RequestID }
func (f RequestCancelledWithJobs) Whose() RequestID { return f.RequestID }
func (f RequestExpired) Whose() RequestID           { return f.RequestID }
func (f RequestSuperseded) Whose() RequestID        { return f.RequestID }
func (f RequestBuildFailed) Whose() RequestID       { return f.RequestID }
func (f JobsWithdrawn) Whose() RequestID            { return f.RequestID }
func (f GraphWanted) Whose() RequestID              { return f.RequestID }
func (f GraphProposed) Whose() RequestID            { return f.RequestID }
func (f GraphRefused) Whose() RequestID             { return f.RequestID }
func (f PriorityChanged) Whose() RequestID          { return f.RequestID }
func (f GraphCreated) Whose() RequestID             { return f.RequestID }
func (f GraphCancelled) Whose() RequestID           { return f.RequestID }
func (f GraphEnded) Whose() RequestID               { return f.RequestID }
func (f JobForced) Whose() RequestID                { return f.RequestID }
func (f JobReused) Whose() RequestID                { return f.RequestID }

func (RequestCreated) requestFact()           {}
func (RequestArtifactsReady) requestFact()    {}
func (RequestStarted) requestFact()           {}
func (JobsCreated) requestFact()              {}
func (RequestExpansionFailed) requestFact()   {}
func (RequestCompleted) requestFact()         {}
func (RequestFailed) requestFact()            {}
func (RequestCancelled) requestFact()         {}
func (RequestCancelledWithJobs) requestFact() {}
func (RequestExpired) requestFact()           {}
func (RequestSuperseded) requestFact()        {}
func (RequestBuildFailed) requestFact()       {}
func (JobsWithdrawn) requestFact()            {}
func (GraphWanted) requestFact()              {}
func (GraphProposed) requestFact()            {}
func (GraphRefused) requestFact()             {}
func (PriorityChanged) requestFact()          {}
func (GraphCreated) requestFact()             {}
func (GraphCancelled) requestFact()           {}
func (GraphEnded) requestFact()               {}
func (JobForced) requestFact()                {}
func (JobReused) requestFact()                {}

// Whose implements AdmissionFact.
func (f RequestAdmitted) Whose() RequestID  { return f.RequestID }
func (f BackfillAdmitted) Whose() RequestID { return f.RequestID }
func (f GraphAdmitted) Whose() RequestID    { return f.RequestID }

func (RequestAdmitted) admissionFact()  {}
func (BackfillAdmitted) admissionFact() {}
func (GraphAdmitted) admissionFact()    {}

// Whose implements CollectorFact.
func (f CollectorRegistered) Whose() CollectorName  { return f.Name }
func (f RegistryCopied) Whose() CollectorName       { return f.Name }
func (f CollectorKeyRotated) Whose() CollectorName  { return f.Name }
func (f CollectorRemoved) Whose() CollectorName     { return f.Name }
func (f CollectorActivated) Whose() CollectorName   { return f.Name }
func (f CollectorDeactivated) Whose() CollectorName { return f.Name }
func (f CollectorDraining) Whose() CollectorName    { return f.Name }
func (f CollectorQuarantined) Whose() CollectorName { return f.Name }
func (f CollectorSilent) Whose() CollectorName      { return f.Name }
func (f CollectorOnline) Whose() CollectorName      { return f.Name }
func (f CollectorOffline) Whose() CollectorName     { return f.Name }
func (f CollectorUpdating) Whose() CollectorName    { return f.Name }

func (CollectorRegistered) collectorFact()  {}
func (RegistryCopied) collectorFact()       {}
func (CollectorKeyRotated) collectorFact()  {}
func (CollectorRemoved) collectorFact()     {}
func (CollectorActivated) collectorFact()   {}
func (CollectorDeactivated) collectorFact() {}
func (CollectorDraining) collectorFact()    {}
func (CollectorQuarantined) collectorFact() {}
func (CollectorSilent) collectorFact()      {}
func (CollectorOnline) collectorFact()      {}
func (CollectorOffline) collectorFact()     {}
func (CollectorUpdating) collectorFact()    {}

// Where implements AssignmentFact.
func (f LaneAssigned) Where() Lane   { return f.Lane }
func (f LaneUnassigned) Where() Lane { return f.Lane }
func (f LaneTakenOver) Where() Lane  { return f.Lane }

func (LaneAssigned) assignmentFact()   {}
func (LaneUnassigned) assignmentFact() {}
func (LaneTakenOver) assignmentFact()  {}

// Where implements WorkFact.
func (f JobDequeued) Where() Lane     { return f.Lane }
func (f JobFinished) Where() Lane     { return f.Lane }
func (f AttemptLost) Where() Lane     { return f.Lane }
func (f AttemptReleased) Where() Lane { return f.Lane }
func (f JobMoved) Where() Lane        { return f.Lane }

// Which implements WorkFact.
func (f JobDequeued) Which() JobID     { return f.Job.ID }
func (f JobFinished) Which() JobID     { return f.JobID }
func (f AttemptLost) Which() JobID     { return f.JobID }
func (f AttemptReleased) Which() JobID { return f.JobID }
func (f JobMoved) Which() JobID        { return f.JobID }

func (JobDequeued) workFact()     {}
func (JobFinished) workFact()     {}
func (AttemptLost) workFact()     {}
func (AttemptReleased) workFact() {}
func (JobMoved) workFact()        {}

// Where implements ResultFact.
func (f AttemptBegan) Where() Lane      { return f.Lane }
func (f TestCasesMeasured) Where() Lane { return f.Lane }
func (f ErrorRecorded) Where() Lane     { return f.Lane }
func (f ResultsClosed) Where() Lane     { return f.Lane }
func (f OutputStored) Where() Lane      { return f.Lane }
func (f DiagnosticsSeen) Where() Lane   { return f.Lane }

// Which implements ResultFact.
func (f AttemptBegan) Which() JobID      { return f.JobID }
func (f TestCasesMeasured) Which() JobID { return f.JobID }
func (f ErrorRecorded) Which() JobID     { return f.JobID }
func (f ResultsClosed) Which() JobID     { return f.JobID }
func (f OutputStored) Which() JobID      { return f.JobID }
func (f DiagnosticsSeen) Which() JobID   { return f.JobID }

func (AttemptBegan) resultFact()      {}
func (TestCasesMeasured) resultFact() {}
func (ErrorRecorded) resultFact()     {}
func (ResultsClosed) resultFact()     {}
func (OutputStored) resultFact()      {}
func (DiagnosticsSeen) resultFact()   {}

func (CommentWanted) outboxFact()    {}
func (CommentAttempted) outboxFact() {}
func (CommentPosted) outboxFact()    {}
func (CommentPostponed) outboxFact() {}
func (CommentRefused) outboxFact()   {}
func (LabelsSet) outboxFact()        {}
func (CommentMinimised) outboxFact() {}

func (DeliveryReceived) deliveryFact() {}
func (DeliveryPart) deliveryFact()     {}
func (DeliveryHandled) deliveryFact()  {}

func (AlertRaised) alertFact()  {}
func (AlertCleared) alertFact() {}

func (AccountConfigured) shareFact()   {}
func (AccountTokenIssued) shareFact()  {}
func (AccountTokenRevoked) shareFact() {}
func (AccountClosed) shareFact()       {}
func (QueueConfigured) shareFact()     {}
func (QueueClosed) shareFact()         {}
func (SharePolicySet) shareFact()      {}

// Whose implements MachineFact.
func (f MachineDescribed) Whose() MachineName { return f.Machine }
func (f MachineRemoved) Whose() MachineName   { return f.Machine }

func (MachineDescribed) machineFact() {}
func (MachineRemoved) machineFact()   {}
