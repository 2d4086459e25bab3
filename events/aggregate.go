package events

// Subject implements Fact.
func (f RequestCreated) Subject() Subject           { return RequestSubject(f.RequestID) }
func (f RequestArtifactsReady) Subject() Subject    { return RequestSubject(f.RequestID) }
func (f RequestStarted) Subject() Subject           { return RequestSubject(f.RequestID) }
func (f JobsCreated) Subject() Subject              { return RequestSubject(f.RequestID) }
func (f RequestExpansionFailed) Subject() Subject   { return RequestSubject(f.RequestID) }
func (f RequestCompleted) Subject() Subject         { return RequestSubject(f.RequestID) }
func (f RequestFailed) Subject() Subject            { return RequestSubject(f.RequestID) }
func (f RequestCancelled) Subject() Subject         { return RequestSubject(f.RequestID) }
func (f RequestExpired) Subject() Subject           { return RequestSubject(f.RequestID) }
func (f RequestSuperseded) Subject() Subject        { return RequestSubject(f.RequestID) }
func (f RequestAdmitted) Subject() Subject          { return AdmissionSubject() }
func (f BackfillAdmitted) Subject() Subject         { return AdmissionSubject() }
func (f JobDispatched) Subject() Subject            { return LaneSubject(f.Job.Lane()) }
func (f JobDequeued) Subject() Subject              { return WorkSubject(f.Lane) }
func (f JobFinished) Subject() Subject              { return WorkSubject(f.Lane) }
func (f AttemptLost) Subject() Subject              { return WorkSubject(f.Lane) }
func (f AttemptReleased) Subject() Subject          { return WorkSubject(f.Lane) }
func (f AttemptBegan) Subject() Subject             { return ResultSubject(f.Lane, f.JobID) }
func (f TestCasesMeasured) Subject() Subject        { return ResultSubject(f.Lane, f.JobID) }
func (f ErrorRecorded) Subject() Subject            { return ResultSubject(f.Lane, f.JobID) }
func (f CollectorRegistered) Subject() Subject      { return RegistrySubject(f.Name) }
func (f CollectorActivated) Subject() Subject       { return RegistrySubject(f.Name) }
func (f CollectorDeactivated) Subject() Subject     { return RegistrySubject(f.Name) }
func (f CollectorOnline) Subject() Subject          { return CollectorSubject(f.Name) }
func (f CollectorOffline) Subject() Subject         { return CollectorSubject(f.Name) }
func (f CollectorDraining) Subject() Subject        { return RegistrySubject(f.Name) }
func (f CollectorKeyRotated) Subject() Subject      { return RegistrySubject(f.Name) }
func (f CollectorRemoved) Subject() Subject         { return RegistrySubject(f.Name) }
func (f CollectorSilent) Subject() Subject          { return RegistrySubject(f.Name) }
func (f RegistryCopied) Subject() Subject           { return RegistrySubject(f.Name) }
func (f RegistryOpened) Subject() Subject           { return RegistryOpenedSubject() }
func (f LaneAssigned) Subject() Subject             { return AssignmentSubject(f.Lane) }
func (f LaneUnassigned) Subject() Subject           { return AssignmentSubject(f.Lane) }
func (f DefinitionsPublished) Subject() Subject     { return SuiteSubject(f.Suite) }
func (f DefinitionsPromoted) Subject() Subject      { return SuiteSubject(f.Suite) }
func (f DefinitionsRejected) Subject() Subject      { return SuiteSubject(f.Suite) }
func (f TryQueued) Subject() Subject                { return TrySubject(f.Suite, f.PR) }
func (f CollectorQuarantined) Subject() Subject     { return RegistrySubject(f.Name) }
func (f CollectorUpdating) Subject() Subject        { return CollectorSubject(f.Name) }
func (f LaneTakenOver) Subject() Subject            { return AssignmentSubject(f.Lane) }
func (f VersionWanted) Subject() Subject            { return VersionSubject() }
func (f JobsRetired) Subject() Subject              { return RetentionSubject() }
func (f EventsParked) Subject() Subject             { return ParkSubject() }
func (f EventsUnparked) Subject() Subject           { return ParkSubject() }
func (f AlertRaised) Subject() Subject              { return AlertSubject(f.Key) }
func (f AlertCleared) Subject() Subject             { return AlertSubject(f.Key) }
func (f DeliveryReceived) Subject() Subject         { return DeliverySubject(f.Hook, f.Delivery) }
func (f DeliveryPart) Subject() Subject             { return DeliverySubject(f.Hook, f.Delivery) }
func (f DeliveryHandled) Subject() Subject          { return DeliverySubject(f.Hook, f.Delivery) }
func (f RequestBuildFailed) Subject() Subject       { return RequestSubject(f.RequestID) }
func (f CommentWanted) Subject() Subject            { return OutboxSubject(f.Key) }
func (f CommentAttempted) Subject() Subject         { return OutboxSubject(f.Key) }
func (f CommentPosted) Subject() Subject            { return OutboxSubject(f.Key) }
func (f CommentPostponed) Subject() Subject         { return OutboxSubject(f.Key) }
func (f CommentRefused) Subject() Subject           { return OutboxSubject(f.Key) }
func (f LabelsSet) Subject() Subject                { return OutboxSubject(f.Key) }
func (f CommentMinimised) Subject() Subject         { return OutboxSubject(f.Key) }
func (f RequestCancelledWithJobs) Subject() Subject { return RequestSubject(f.RequestID) }
func (f JobsWithdrawn) Subject() Subject            { return RequestSubject(f.RequestID) }
func (f GraphWanted) Subject() Subject              { return RequestSubject(f.RequestID) }
func (f GraphProposed) Subject() Subject            { return RequestSubject(f.RequestID) }
func (f GraphRefused) Subject() Subject             { return RequestSubject(f.RequestID) }
func (f GraphAdmitted) Subject() Subject            { return AdmissionSubject() }
func (f ResultsClosed) Subject() Subject            { return ResultSubject(f.Lane, f.JobID) }
func (f PriorityChanged) Subject() Subject          { return RequestSubject(f.RequestID) }
func (f GraphCreated) Subject() Subject             { return RequestSubject(f.RequestID) }
func (f GraphEnded) Subject() Subject               { return RequestSubject(f.RequestID) }
func (f GraphCancelled) Subject() Subject           { return RequestSubject(f.RequestID) }
func (f JobForced) Subject() Subject                { return RequestSubject(f.RequestID) }
func (f JobReused) Subject() Subject                { return RequestSubject(f.RequestID) }
func (f OutputStored) Subject() Subject             { return ResultSubject(f.Lane, f.JobID) }
func (f DiagnosticsSeen) Subject() Subject          { return ResultSubject(f.Lane, f.JobID) }
func (f AccountConfigured) Subject() Subject        { return AccountSubject(f.Account) }
func (f AccountTokenIssued) Subject() Subject       { return AccountSubject(f.Account) }
func (f AccountTokenRevoked) Subject() Subject      { return AccountSubject(f.Account) }
func (f AccountClosed) Subject() Subject            { return AccountSubject(f.Account) }
func (f QueueConfigured) Subject() Subject          { return QueueSubject(f.Queue) }
func (f QueueClosed) Subject() Subject              { return QueueSubject(f.Queue) }
func (f SharePolicySet) Subject() Subject           { return ShareSubject() }
func (f MachineDescribed) Subject() Subject         { return MachineSubject(f.Machine) }
func (f MachineRemoved) Subject() Subject           { return MachineSubject(f.Machine) }
func (f JobsMatched) Subject() Subject              { return MatchSubject() }
func (f JobMoved) Subject() Subject                 { return WorkSubject(f.Lane) }

func (RequestCreated) fact()           {}
func (RequestArtifactsReady) fact()    {}
func (RequestStarted) fact()           {}
func (JobsCreated) fact()              {}
func (RequestExpansionFailed) fact()   {}
func (RequestCompleted) fact()         {}
func (RequestFailed) fact()            {}
func (RequestCancelled) fact()         {}
func (RequestExpired) fact()           {}
func (RequestSuperseded) fact()        {}
func (RequestAdmitted) fact()          {}
func (BackfillAdmitted) fact()         {}
func (JobDispatched) fact()            {}
func (JobDequeued) fact()              {}
func (JobFinished) fact()              {}
func (AttemptLost) fact()              {}
func (AttemptReleased) fact()          {}
func (AttemptBegan) fact()             {}
func (TestCasesMeasured) fact()        {}
func (ErrorRecorded) fact()            {}
func (CollectorRegistered) fact()      {}
func (CollectorActivated) fact()       {}
func (CollectorDeactivated) fact()     {}
func (CollectorOnline) fact()          {}
func (CollectorOffline) fact()         {}
func (CollectorDraining) fact()        {}
func (CollectorKeyRotated) fact()      {}
func (CollectorRemoved) fact()         {}
func (CollectorSilent) fact()          {}
func (RegistryCopied) fact()           {}
func (RegistryOpened) fact()           {}
func (LaneAssigned) fact()             {}
func (LaneUnassigned) fact()           {}
func (DefinitionsPublished) fact()     {}
func (DefinitionsPromoted) fact()      {}
func (DefinitionsRejected) fact()      {}
func (TryQueued) fact()                {}
func (CollectorQuarantined) fact()     {}
func (CollectorUpdating) fact()        {}
func (LaneTakenOver) fact()            {}
func (VersionWanted) fact()            {}
func (JobsRetired) fact()              {}
func (EventsParked) fact()             {}
func (EventsUnparked) fact()           {}
func (AlertRaised) fact()              {}
func (AlertCleared) fact()             {}
func (DeliveryReceived) fact()         {}
func (DeliveryPart) fact()             {}
func (DeliveryHandled) fact()          {}
func (RequestBuildFailed) fact()       {}
func (CommentWanted) fact()            {}
func (CommentAttempted) fact()         {}
func (CommentPosted) fact()            {}
func (CommentPostponed) fact()         {}
func (CommentRefused) fact()           {}
func (LabelsSet) fact()                {}
func (CommentMinimised) fact()         {}
func (RequestCancelledWithJobs) fact() {}
func (JobsWithdrawn) fact()            {}
func (GraphWanted) fact()              {}
func (GraphProposed) fact()            {}
func (GraphRefused) fact()             {}
func (GraphAdmitted) fact()            {}
func (ResultsClosed) fact()            {}
func (PriorityChanged) fact()          {}
func (GraphCreated) fact()             {}
func (GraphEnded) fact()               {}
func (GraphCancelled) fact()           {}
func (JobForced) fact()                {}
func (JobReused) fact()                {}
func (OutputStored) fact()             {}
func (DiagnosticsSeen) fact()          {}
func (AccountConfigured) fact()        {}
func (AccountTokenIssued) fact()       {}
func (AccountTokenRevoked) fact()      {}
func (AccountClosed) fact()            {}
func (QueueConfigured) fact()          {}
func (QueueClosed) fact()              {}
func (SharePolicySet) fact()           {}
func (MachineDescribed) fact()         {}
func (MachineRemoved) fact()           {}
func (JobsMatched) fact()              {}
func (JobMoved) fact()                 {}
