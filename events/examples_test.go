package events

func exampleFacts() []Fact {
	lane := Lane{Target: "x86_64-unknown-linux-gnu", Set: 1}
	artifact := Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}
	job := JobSpec{
		ID: "j1122334455667788", Artifact: artifact, Kind: "compile", Target: lane.Target, Set: lane.Set,
		Backend: "llvm", Profile: "check", Benchmarks: []string{"hello*"}, Optional: true, Definitions: "d1",
		RequestID: "r0011223344556677", Backfill: true,
	}
	optional := true
	c := TestCase{Benchmark: "helloworld", Profile: "check", Scenario: "full", Backend: "llvm", Target: lane.Target}
	return []Fact{
		RequestCreated{
			RequestID: "r0011223344556677", Kind: Try, Suite: "rustc", Tag: "2d4e6f80aa", Parent: "99aa", PR: 14,
			ReleasedOn: "2025-06-26", Key: "comment-7", State: StateArtifactsReady,
			Parameters: Parameters{
				Targets: []Target{lane.Target}, Backends: []Backend{"llvm"}, Profiles: []Profile{"check"}, Benchmarks: []string{"hello*"},
			},
		},
		RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			Branch: "release/1.2", Graph: "full", Options: map[string]string{"pgo": "on"},
		},
		RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			Definitions: "d1", Together: "bisect-7",
		},
		RequestArtifactsReady{RequestID: "r0011223344556677", Tag: "2d4e6f80aa", Parent: "99aa"},
		RequestStarted{RequestID: "r0011223344556677", Definitions: "d1", Jobs: 12, Backfill: 10, Shared: []JobID{"j8899"}},
		JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{job}},
		JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{matchedJob()}},
		JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{job}, Graph: &GraphPart{
			Graph: 1, First: 4, Shared: []SharedJob{{Number: 3, ID: "j8899", Outcome: Success}, {Number: 2, ID: "j99aa", Optional: true}},
			Needs: []JobNeeds{{Job: 4, On: []int{2, 3}}, {Job: 4, On: []int{1}, Until: UntilEnded}},
		}},
		GraphCreated{RequestID: "r0011223344556677", Graph: 1, Kind: GraphRepair, Key: "k1", Jobs: 5, Needs: 3},
		GraphCreated{RequestID: "r0011223344556677", Graph: 0, Kind: GraphInitial, Jobs: 5, Needs: 3, OnFailure: FailFast, Deadline: "2026-12-07T09:00:00Z"},
		GraphCancelled{RequestID: "r0011223344556677", Graph: 0, Reason: "it was not done by its deadline", Expired: true},
		GraphEnded{RequestID: "r0011223344556677", Graph: 1, Outcome: Failure, Jobs: 5, Failed: 1, Skipped: 2, Causes: []int{3}},
		RequestExpansionFailed{RequestID: "r0011223344556677", Reason: "unknown target", Failures: 2},
		RequestCompleted{RequestID: "r0011223344556677", Jobs: 12},
		RequestFailed{RequestID: "r0011223344556677", Reason: "2 of 12 required jobs failed", Jobs: 12, FailedJobs: 2},
		RequestCancelled{RequestID: "r0011223344556677", Reason: "not needed any more"},
		RequestCancelledWithJobs{RequestID: "r0011223344556677", Reason: "not needed any more"},
		JobsWithdrawn{RequestID: "r0011223344556677", Jobs: []JobID{"j1122334455667788"}},
		GraphWanted{
			RequestID: "r0011223344556677", Key: "k1", Kind: GraphRepair, Select: []JobID{"j1122334455667788"}, Reason: "the mirror is back",
		},
		GraphWanted{
			RequestID: "r0011223344556677", Key: "k2", Kind: GraphRetrigger, Where: []string{"kind=compile"}, Copies: 3, Downstream: DownstreamAll,
			Benchmarks: []string{"hello*"}, Priority: PriorityLow, Expect: "0011223344556677",
		},
		GraphWanted{RequestID: "r0011223344556677", Key: "k3", Kind: GraphForce, Select: []JobID{"j1122334455667788"}, Reason: "the smoke test is broken"},
		GraphProposed{
			RequestID: "r0011223344556677", Key: "k4", First: 1, Needs: []JobNeeds{{Job: 1, On: []int{0}}},
			Jobs: []ProposedJob{{Number: 4, Tag: "99aa", Kind: "compile", Target: lane.Target, Set: 1, Backend: "llvm", Profile: "check", Benchmarks: []string{"hello*"}, Iterations: 30, Optional: &optional}},
		},
		GraphWanted{RequestID: "r0011223344556677", Key: "k4", Kind: GraphExternal, Parts: 1, Content: "d2", Reason: "more iterations"},
		GraphCreated{RequestID: "r0011223344556677", Graph: 3, Kind: GraphExternal, Key: "k4", Jobs: 2, Needs: 1, Priority: PriorityLow, Customised: true},
		JobForced{RequestID: "r0011223344556677", JobID: "j1122334455667788", Key: "k3", Reason: "the smoke test is broken"},
		GraphAdmitted{RequestID: "r0011223344556677", Key: "k1", Kind: GraphRepair, Jobs: 1},
		GraphCancelled{RequestID: "r0011223344556677", Graph: 2, Reason: "enough"},
		GraphRefused{RequestID: "r0011223344556677", Key: "k1", Reason: "job j1122334455667788 succeeded"},
		JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "build", Target: "x86_64",
			RequestID: "r0011223344556677", Matched: true, Requires: []string{"cpus=2"}, Recipe: "d2", Tokens: &Tokens{Min: 2, Max: 8},
			Checkouts: []Checkout{{Repository: "https://example.org/llvm.git", Revision: "0123456789abcdef0123456789abcdef01234567", Path: "llvm"}},
		}}, Graph: &GraphPart{Needs: []JobNeeds{{Job: 1, On: []int{0}, Output: "toolchain"}}}},
		JobsWithdrawn{RequestID: "r0011223344556677", Jobs: []JobID{"j1122334455667788"}, Empty: true},
		JobReused{RequestID: "r0011223344556677", JobID: "j1122334455667788", From: "j8899aabbccddeeff", Key: "d4"},
		OutputStored{
			Lane: lane, JobID: "j1122334455667788", Collector: "eider", Token: 40, Attempt: 2,
			Output: Output{Name: "toolchain", Digest: "d3", Bytes: 1 << 20}, Upload: true,
		},
		DiagnosticsSeen{
			Lane: lane, JobID: "j1122334455667788", Collector: "eider", Token: 40, Attempt: 2, More: 3, Lines: map[string]int{"warning": 9},
			Items: []Diagnostic{{Level: "warning", Code: "W12", Text: "warning[W12]: unused x", Hash: "00ff00ff00ff00ff", Count: 6}},
		},
		ResultsClosed{Lane: lane, JobID: "j1122334455667788", Attempt: 2, Token: 40},
		RequestExpired{RequestID: "r0011223344556677", Reason: "waited 7 days for its artifacts"},
		RequestSuperseded{RequestID: "r0011223344556677", By: "r8899aabbccddeeff"},
		RequestAdmitted{RequestID: "r0011223344556677", Tag: "2d4e6f80aa", Reason: "ready: its parent `99aa` is done"},
		BackfillAdmitted{RequestID: "r0011223344556677", Parent: "99aa", Jobs: 10},
		JobDispatched{Place: 3, Job: job},
		JobDequeued{
			Lane: lane, Place: 3, Job: job, Collector: "eider-1", Instance: "i1", Attempt: 2, Lost: 1, Version: "1.0.0", Environment: "e1",
			Since: "2026-11-21T09:00:00Z",
		},
		JobFinished{
			Lane: lane, Place: 3, JobID: job.ID, RequestID: job.RequestID, Collector: "eider-1", Token: 40, Attempt: 2, Lost: 1,
			Outcome: Failure, Reason: "1 benchmark failed", Measured: 8, Skipped: 2, Failed: 1, DurationMS: 61500,
		},
		AttemptLost{Lane: lane, Place: 3, JobID: job.ID, Collector: "eider-1", Token: 40, Attempt: 2, Lost: 2, Reason: "no heartbeat for 1m0s"},
		AttemptReleased{
			Lane: lane, Place: 3, JobID: job.ID, Collector: "eider-1", Token: 40, Attempt: 2, Lost: 1,
			Reason: "download broke", Transient: true, Since: "2026-11-21T09:00:00Z",
		},
		AttemptBegan{Lane: lane, JobID: job.ID, Collector: "eider-1", Attempt: 2},
		TestCasesMeasured{
			Lane: lane, JobID: job.ID, Artifact: artifact, Collector: "eider-1", Token: 40, Attempt: 2, Definitions: "d1", Environment: "e1",
			Cases: []MeasuredCase{{TestCase: c, Iterations: []Iteration{
				{Metrics: map[Metric]float64{"page-faults": 3680, "wall-time": 0.025}},
				{Metrics: map[Metric]float64{"page-faults": 3681, "wall-time": 0.5}, Interference: "stalled for 31 % of the time"},
			}}},
		},
		TestCasesMeasured{
			Lane: lane, JobID: job.ID, Artifact: artifact, Collector: "eider-1", Token: 40, Attempt: 2, Definitions: "d1", Environment: "e1",
			Cases: []MeasuredCase{{TestCase: c, Iterations: []Iteration{
				{Metrics: map[Metric]float64{"wall-time": 0.025}}, {Metrics: map[Metric]float64{"wall-time": 0.5}, Interference: "stalled for 31 % of the time"},
			}}},
			Beside: &Beside{
				Artifact: Artifact{Suite: artifact.Suite, Tag: "99aa", Kind: Master},
				Cases: []MeasuredCase{{TestCase: c, Iterations: []Iteration{
					{Metrics: map[Metric]float64{"wall-time": 0.02}}, {Metrics: map[Metric]float64{"wall-time": 0.0625}},
				}}},
			},
		},
		ErrorRecorded{
			Lane: lane, JobID: job.ID, Artifact: artifact, Collector: "eider-1", Token: 40, Attempt: 2, Kind: ErrorBenchmark,
			Context: "helloworld", Case: &c, Message: "exit status 101",
		},
		CollectorRegistered{Name: "eider-1", Target: lane.Target, Set: lane.Set, Standby: true, OS: "linux", Arch: "amd64", NKey: "UABC"},
		CollectorActivated{Name: "eider-1"},
		CollectorDeactivated{Name: "eider-1", Reason: "new disk"},
		CollectorOnline{Name: "eider-1", Instance: "i1", Version: "1.0.0", PID: 4711, Environment: Environment{
			Fingerprint: "e1", Host: "eider", OS: "linux", Kernel: "6.1.0", CPU: "AMD EPYC", CPUs: 2, MemoryBytes: 1 << 34,
			Settings: map[string]string{"aslr": "off"}, Missing: map[Metric]string{"instructions:u": "no hardware counters"},
		}},
		CollectorOffline{Name: "eider-1", Instance: "i1", Reason: "no heartbeat for 1m0s"},
		CollectorDraining{Name: "eider-1", Reason: "reboot"},
		LaneAssigned{Lane: lane, Name: "eider-1", Standby: true},
		LaneUnassigned{Lane: lane, Name: "eider-1"},
		TryQueued{Suite: "rustc", PR: 14, RequestID: "r0011223344556677"},
		CollectorQuarantined{Name: "eider-1", Reason: "3 jobs in a row failed for reasons of its own", Jobs: []JobID{"j1", "j2", "j3"}},
		CollectorUpdating{Name: "eider-1", Instance: "i1", Version: "1.0.0", Wanted: "1.1.0"},
		LaneTakenOver{Lane: lane, Name: "eider-2", From: "eider-1", Reason: "eider-1 was not heard for 30s"},
		VersionWanted{Version: "1.1.0", Reason: "new kernel counters"},
		JobsRetired{EndedBefore: "2026-10-22T09:00:00Z"},
		EventsParked{First: 41, Last: 43, ID: "0199aaaa-0000-7000-8000-000000000001", Type: "job.weighed.v1", Reason: "written by a newer version"},
		EventsUnparked{First: 41, Last: 43, Reason: "every part was updated"},
		AlertRaised{
			Key: NewAlertKey(AlertOffline, "eider-1"), Kind: AlertOffline, About: "eider-1", Message: "no heartbeat for 1m0s",
			Action: "start it again with `tacho collector run eider-1`",
		},
		AlertCleared{Key: "offline-eider-1", Reason: "it is back"},
		DeliveryReceived{
			Hook: "7", Delivery: "5b2b0a3e", Event: "issue_comment", Payload: RawJSON(`{"action":"created"}`), Raw: []byte("x"), Parts: 2,
			Size: 20, Digest: "d2",
		},
		DeliveryPart{Hook: "7", Delivery: "5b2b0a3e", Part: 1, Raw: []byte("{")},
		DeliveryHandled{
			Hook: "7", Delivery: "5b2b0a3e", Outcome: DeliveryAccepted, Reason: "a member may do that", Repo: "rust-lang/rust", PR: 14,
			Comment: 99, Sender: "alice", SenderID: 5, Command: "queue profiles=check", Requests: []RequestID{"r0011223344556677"},
		},
		RequestBuildFailed{RequestID: "r0011223344556677", Reason: "the build failed", URL: "https://ci.example/1"},
		CommentWanted{
			Key: "report-r0011223344556677", Revision: 2, Purpose: CommentReport, Repo: "rust-lang/rust", PR: 14, Body: "no change",
			RequestID: "r0011223344556677", Temporary: true, AddLabels: []string{"perf-regression"}, RemoveLabels: []string{"S-waiting-on-perf"},
		},
		CommentAttempted{Key: "report-r0011223344556677", Revision: 2, Attempt: 1, Instance: "i1"},
		CommentPosted{
			Key: "report-r0011223344556677", Revision: 2, CommentID: 1234, NodeID: "IC_1", URL: "https://github.com/rust-lang/rust/pull/14#issuecomment-1234",
			Found: true,
		},
		CommentPostponed{Key: "report-r0011223344556677", Revision: 2, Attempt: 1, Reason: "GitHub answers 500", Until: "2026-11-21T09:00:00Z"},
		CommentRefused{Key: "report-r0011223344556677", Revision: 2, Reason: "the pull request is locked"},
		LabelsSet{Key: "report-r0011223344556677", Revision: 2},
		CommentMinimised{Key: "answer-1122", Reason: "it was deleted"},
		DefinitionsPublished{Suite: "rustc", Digest: "d1", Content: RawJSON(`{"version":1}`)},
		DefinitionsPublished{
			Suite: "rustc", Digest: "d1", Content: RawJSON(`{"version":1}`), Branch: "release/1.2", Revision: "2d4e6f80aa", File: "99aabb",
		},
		DefinitionsPublished{Suite: "rustc", Digest: "d1", Content: RawJSON(`{"version":1}`), Revision: "2d4e6f80aa", File: "99aabb", Aside: true},
		DefinitionsPromoted{Suite: "rustc", Branch: "release/1.2", Digest: "d0", From: "d1", Reason: "d1 measures too little"},
		DefinitionsRejected{
			Suite: "rustc", Branch: "release/1.2", Revision: "2d4e6f80aa", File: "99aabb", Problems: []string{"suite.toml:3:1: unknown key \"kinds\""},
		},
		PriorityChanged{RequestID: "r0011223344556677", To: PriorityHigh, Reason: "the release waits for it"},
		PriorityChanged{RequestID: "r0011223344556677", Graph: new(3), To: PriorityNormal},
		AccountConfigured{
			Account: "alice", Weight: 30, MaxPriority: PriorityVIP, Limits: Limits{MaxRunning: 4, MaxQueued: 5000, MaxPending: 100}, MaxVIP: 3,
		},
		AccountConfigured{
			Account: "alice", Weight: 30, MaxPriority: PriorityHigh, MaxVIP: 3, May: []Right{RightRequest, RightCancel}, Branches: []string{"try/*"},
		},
		AccountTokenIssued{Account: "alice", Digest: "d3"},
		AccountTokenRevoked{Account: "alice"},
		AccountClosed{Account: "alice", Reason: "left"},
		QueueConfigured{
			Queue: "bisect", Parent: "builds", Weight: 50, Order: OrderFIFO, InProgress: 2, Limits: Limits{MaxRunning: 1},
			Members: []AccountName{"alice"}, Paused: true,
		},
		QueueClosed{Queue: "bisect", Reason: "not needed any more"},
		SharePolicySet{FloorDefault: 100, FloorIdle: 5, LagMS: 3600000},
		MachineDescribed{
			Machine: "eider-3", Pool: "builders", OS: "linux", Arch: "amd64", MemoryMiB: 65536, CPUs: 16, Devices: map[string]int{"gpu": 2},
			Traits: []string{"nvme", "vm"}, Only: []string{"vm"}, Accepts: []RequestKind{Master, Release}, Slots: 3,
		},
		MachineRemoved{Machine: "eider-3", Reason: "sold"},
		JobsMatched{Bindings: []Binding{{JobID: job.ID, Lane: PoolLane("builders", 2), Place: 3}}},
		JobMoved{
			Lane: PoolLane("builders", 2), Place: 3, JobID: job.ID, Collector: "eider-3-1", Token: 40, Attempt: 2, Lost: 1,
			Reason: "collector eider-3-1 was not heard for 30s", Since: "2026-11-21T09:00:00Z",
		},
		CollectorKeyRotated{Name: "eider-1", NKey: "UDEF", Reason: "the disk was replaced"},
		CollectorRemoved{Name: "eider-1", Reason: "sold"},
		CollectorSilent{Name: "eider-1", Instance: "i1", Reason: "no heartbeat for 1m0s"},
		RegistryOpened{Collectors: 2},
		RegistryCopied{
			CollectorRegistered: CollectorRegistered{Name: "eider-1", Target: lane.Target, Set: lane.Set, Standby: true, OS: "linux", Arch: "amd64", NKey: "UABC"},
			Active:              true, AtOnce: true, Draining: true, Quarantined: true, Reason: "new disk",
			KeySince: "2026-11-20T09:00:00Z", RegisteredAt: "2026-11-19T09:00:00Z",
		},
	}
}

// grownFacts are facts with fields that were added to their type later, by the name of their golden file.
func grownFacts() map[string]Fact {
	return map[string]Fact{
		"request.created.v1-shared": RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			Account: "alice", Queue: "bisect", Priority: PriorityHigh,
		},
		"job.dispatched.v1-shared": JobDispatched{
			Place: 3,
			Job: JobSpec{
				ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile",
				Target: "x86_64-unknown-linux-gnu", Set: 1, Backend: "llvm", Profile: "check", Definitions: "d1", RequestID: "r0011223344556677",
			},
			Share: &Share{
				Tier: TierDefault, Queue: "bisect", Account: "alice", ExpectMS: 61500, Waiting: []Tier{TierIdle}, Why: "first of 3 in queue bisect",
			},
		},
		"request.created.v1-together": RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady, Together: "bisect-7",
		},
		"request.created.v3-customised": RequestCreated{
			RequestID: "r0011223344556677", Kind: Try, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			Definitions: "d1", Customised: true,
		},
		"request.created.v1-problem": RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			DefinitionsProblem: "bench/suite.toml:3:1: unknown key \"kinds\"",
		},
		"definitions.published.v1-sealed": DefinitionsPublished{
			Suite: "rustc", Digest: "d1", Content: RawJSON(`{"version":1}`), Seal: &Seal{Key: "k0011223344556677", Signature: "c2lnbmF0dXJl"},
		},
		"job.dispatched.v1-sealed": JobDispatched{Place: 3, Job: matchedJob(), Seal: &Seal{Key: "k0011223344556677", Signature: "c2lnbmF0dXJl"}},
		"graph.wanted.v4-added": GraphWanted{
			RequestID: "r0011223344556677", Key: "k5", Kind: GraphAdded, Labels: []string{"compile/x86_64-unknown-linux-gnu/1/llvm/check"},
		},
		"graph.wanted.v4-forced":     GraphWanted{RequestID: "r0011223344556677", Key: "k6", Kind: GraphRerun, Select: []JobID{"j1122334455667788"}, Force: true, Reason: "the disk was full"},
		"graph.wanted.v4-iterations": GraphWanted{RequestID: "r0011223344556677", Key: "k7", Kind: GraphRetrigger, Copies: 1, Iterations: 30},
		"request.created.v1-requires": RequestCreated{
			RequestID: "r0011223344556677", Kind: Master, Suite: "rustc", Tag: "2d4e6f80aa", Key: "2d4e6f80aa", State: StateArtifactsReady,
			Requires: []string{"trait=nvme"},
		},
		"request.started.v1-template": RequestStarted{
			RequestID: "r0011223344556677", Definitions: "d1", Jobs: 1, Template: &Template{Graph: "full", Branch: "release/*", Options: map[string]string{"pgo": "on"}},
		},
		"request.started.v1-requires": RequestStarted{RequestID: "r0011223344556677", Definitions: "d1", Jobs: 1, Requires: []string{"trait=nvme"}},
		"job.dispatched.v1-matched": JobDispatched{
			Place: 3, Job: matchedJob().Bound(PoolLane("builders", 2)), Closes: true, Attempt: 2, Lost: 1,
			Share: &Share{Tier: TierDefault, ExpectMS: 61500, Part: 256, Why: "the only one that waits"},
		},
		"collector.registered.v2-machine": CollectorRegistered{
			Name: "eider-3-1", Target: "pool_builders", Set: 2, OS: "linux", Arch: "amd64", NKey: "UABC", Machine: "eider-3",
		},
		"collector.online.v1-machine": CollectorOnline{
			Name: "eider-3-1", Instance: "i1", Version: "1.0.0", PID: 4711, Knows: []string{KnowsMatched},
			Environment: Environment{Fingerprint: "e1", Host: "eider", OS: "linux", Kernel: "6.1.0", CPU: "AMD EPYC", CPUs: 2, MemoryBytes: 1 << 34},
		},
		"collector.online.v1-evicted": CollectorOnline{
			Name: "eider-3-1", Instance: "i1", Version: "1.0.0", PID: 4711, Knows: []string{KnowsMatched}, Evicted: []string{"git/linux"},
		},
		"job.finished.v1-evicted": JobFinished{
			Lane: PoolLane("builders", 2), Place: 3, JobID: "j1122334455667788", RequestID: "r0011223344556677", Collector: "eider-3-1", Token: 40,
			Attempt: 1, Outcome: Success, Measured: 8, DurationMS: 61500, Evicted: []string{"git/linux"},
		},
		"job.finished.v1-used": JobFinished{
			Lane: PoolLane("builders", 2), Place: 3, JobID: "j1122334455667788", RequestID: "r0011223344556677", Collector: "eider-3-1", Token: 40,
			Attempt: 1, Outcome: Success, Measured: 8, DurationMS: 61500, Used: &Used{PeakMemoryBytes: 1 << 30, CPUMS: 103250},
		},
		"jobs.created.v2-caches": JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "build", Target: "x86_64", RequestID: "r1",
			Matched: true, Caches: []string{"ccache/gcc", "git/linux"},
		}}},
		"jobs.created.v3-again": JobsCreated{
			RequestID: "r0011223344556677", Jobs: []JobSpec{matchedJob()}, Key: "k1", Graph: &GraphPart{Graph: 1, Again: []int{3}},
		},
		"jobs.created.v3-sample": JobsCreated{RequestID: "r0011223344556677", Key: "k1", Graph: &GraphPart{Graph: 2}, Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677", Sample: NewSample("r0011223344556677", 2, 1),
		}}},
		"jobs.created.v3-added": JobsCreated{RequestID: "r0011223344556677", Key: "k5", Jobs: []JobSpec{}, Graph: &GraphPart{
			Graph: 2, Needs: []JobNeeds{{Job: 0, On: []int{1}}},
			Shared: []SharedJob{{Number: 0, ID: "j1122334455667788", Added: true}, {Number: 1, ID: "j8899aabbccddeeff", Outcome: Success}},
		}},
		"jobs.created.v3-iterations": JobsCreated{RequestID: "r0011223344556677", Key: "k7", Graph: &GraphPart{Graph: 2}, Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677", Sample: NewSample("r0011223344556677", 2, 1), Iterations: 30,
		}}},
		"jobs.created.v3-ranked": JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677",
		}}, Graph: &GraphPart{CostMS: []int64{61500}, Rank: []int{3}}},
		"job.dispatched.v1-inputs": JobDispatched{Place: 3, Job: JobSpec{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677", Tokens: &Tokens{Min: 2, Max: 8, Got: 6}, Inputs: []Input{{
				Output: Output{Name: "toolchain", Digest: "d3", Bytes: 1 << 20}, JobID: "j8899aabbccddeeff", Kind: "build", Lane: PoolLane("builders", 2),
			}},
		}},
		"job.finished.v1-key": JobFinished{
			Lane: PoolLane("builders", 2), Place: 3, JobID: "j1122334455667788", RequestID: "r0011223344556677", Collector: "eider-3-1", Token: 40,
			Attempt: 1, Outcome: Success, DurationMS: 61500, Key: "d4", ReusedFrom: "j8899aabbccddeeff", Printed: &Printed{Bytes: 1 << 30, Dropped: 1 << 29, Last: 312},
			Phases: &Phases{Wait: 100, Fetch: 200, Prepare: 300, Run: 400, Store: 500}, Jobserver: &JobserverCount{Missing: 1, Surplus: 2},
		},
		"collector.online.v1-drivers": CollectorOnline{
			Name: "eider-3-1", Instance: "i1", Version: "1.0.0", PID: 4711, Knows: []string{KnowsSuite2, KnowsBuild}, Drivers: map[string]string{"go-build": "1"},
		},
		"graph.created.v1-sampled": GraphCreated{
			RequestID: "r0011223344556677", Graph: 2, Kind: GraphNoise, Key: "k1", Jobs: 5, Priority: PriorityIdle,
		},
		"request.started.v1-graphs":   RequestStarted{RequestID: "r0011223344556677", Definitions: "d1", Jobs: 2, Backfill: 1, Graphs: 2},
		"backfill.admitted.v1-graphs": BackfillAdmitted{RequestID: "r0011223344556677", Parent: "99aa", Jobs: 10, Graphs: 1},
		"graph.admitted.v1-graphs":    GraphAdmitted{RequestID: "r0011223344556677", Key: "k1", Kind: GraphRepair, Jobs: 1, Graphs: 1},
		"attempt.released.v1-printed": AttemptReleased{
			Lane: Lane{Target: "x86_64", Set: 1}, Place: 3, JobID: "j1122334455667788", Collector: "eider", Token: 40, Attempt: 1, Reason: "drain",
			Printed: &Printed{Bytes: 4096, Last: 2},
		},
		"attempt.released.v1-unready": AttemptReleased{
			Lane: Lane{Target: "x86_64", Set: 1}, Place: 3, JobID: "j1122334455667788", Collector: "eider", Token: 40, Attempt: 1,
			Reason: "collector.before failed on this machine: drop-caches: exit status 1", Unready: true,
		},
		"attempt.released.v1-full": AttemptReleased{
			Lane: PoolLane("builders", 2), Place: 3, JobID: "j1122334455667788", Collector: "eider-3-1", Token: 40, Attempt: 2, Lost: 1,
			Reason: "the host has 512 MiB of memory free, and the job reserves 32768 MiB", HostFull: &HostFull{ReservedMiB: 32768, FreeMiB: 512},
		},
		"jobs.withdrawn.v1-expired": JobsWithdrawn{RequestID: "r0011223344556677", Jobs: []JobID{"j1122334455667788"}, Expired: true},
		"jobs.created.v4-chunk": JobsCreated{RequestID: "r0011223344556677", Jobs: []JobSpec{{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677", Matched: true, Requires: []string{"exclusive"}, Chunk: &Chunk{Number: 2, Of: 4},
		}}},
		"job.dispatched.v1-chunk": JobDispatched{Place: 3, Job: JobSpec{
			ID: "j1122334455667788", Artifact: Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}, Kind: "compile", Target: "x86_64",
			RequestID: "r0011223344556677", Matched: true, Chunk: &Chunk{Number: 2, Of: 4, Units: []Benchmark{"regex", "serde"}, Part: 300},
		}},
		"jobs.withdrawn.v1-skipped":    JobsWithdrawn{RequestID: "r0011223344556677", Jobs: []JobID{"j1122334455667788"}, Skipped: true},
		"queue.configured.v1-requires": QueueConfigured{Queue: "bisect", Weight: 30, Order: OrderFIFO, Requires: []string{"pool=builders"}},
	}
}

func matchedJob() JobSpec {
	a := Artifact{Suite: "rustc", Tag: "2d4e6f80aa", Kind: Master}
	return JobSpec{
		ID: "j1122334455667788", Artifact: a, Kind: "compile", Target: "x86_64-unknown-linux-gnu", Set: 1, Backend: "llvm", Profile: "check",
		Definitions: "d1", RequestID: "r0011223344556677", Matched: true, Requires: []string{"exclusive", "trait=nvme"},
		Against: &Artifact{Suite: "rustc", Tag: "99aa", Kind: Master},
	}
}

// movedFacts are the facts of versions that were on another subject, by the name of the stored type.
func movedFacts() map[string]Fact {
	out := map[string]Fact{}
	for _, f := range exampleFacts() {
		// The others never moved.
		//exhaustive:ignore
		switch f.(type) {
		case CollectorRegistered:
			out["collector.registered.v1"] = f
		case CollectorActivated:
			out["collector.activated.v1"] = f
		case CollectorDeactivated:
			out["collector.deactivated.v1"] = f
		case CollectorDraining:
			out["collector.draining.v1"] = f
		case CollectorQuarantined:
			out["collector.quarantined.v1"] = f
		}
	}
	return out
}
