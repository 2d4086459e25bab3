package website

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/readmodel/comparison"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

const apiPrefix = "/api/v1/"

// parameter is one parameter of the query of a route.
type parameter struct {
	name, about string
	// number says that the parameter is a whole number.
	number bool
	// prefix is what the names of all parameters of this sort begin with; empty for a single one.
	prefix string
}

// route is one operation of the API. The server serves the table of routes, and /openapi.json describes it.
type route struct {
	method, path, summary string
	parameters            []parameter
	// body and answer are values of the types that are sent as JSON; nil means none.
	body, answer any
	// other are content types that the answer may have instead of JSON.
	other []string
	// json answers a value as JSON; stream writes the answer itself. One of them is set.
	json   func(w http.ResponseWriter, r *http.Request, p *params) (any, error)
	stream func(w http.ResponseWriter, r *http.Request, p *params) error
	// effort says which bounds the route has.
	effort effort
	// accounts says that an account may use the route with its own token. Other writes are for the operator alone.
	accounts bool
}

// writes reports whether the route changes anything, and so needs the token.
func (rt route) writes() bool { return rt.method != http.MethodGet }

// known returns all parameters of the route: its own, and those that all reads share.
func (rt route) known() []parameter {
	if rt.writes() {
		return rt.parameters
	}
	return append(rt.parameters[:len(rt.parameters):len(rt.parameters)], parameter{
		name: "wait_for", number: true,
		about: "wait until the tables hold this event, which is the seq that a write answered; 504 if they do not get there in time",
	})
}

func text(name, about string) parameter   { return parameter{name: name, about: about} }
func number(name, about string) parameter { return parameter{name: name, about: about, number: true} }

// api is the table of routes of the API, in the order of the documentation.
func (s *Server) api() []route {
	limit := number("limit", "how many at most; 100 by default, no more than 1000. The header Link names the next page (rel=next)")
	many := number("limit", "how many at most; 1000 by default, and no more. The header Link names the next page (rel=next)")
	kind := text("kind", "the kind of the request: master, try or release; master by default")
	option := parameter{name: optionPrefix + "NAME", prefix: optionPrefix, about: "the value of the option NAME of the suite"}
	eventFilter := []parameter{
		text("type", "the stored name, such as request.created.v1"),
		text("subject", "one aggregate, such as request.r1; with a dot at the end, all that begin with it"),
	}
	compared := []parameter{
		text("a", "the tag to compare with; by default the parent of b"), text("b", "the tag that is judged"),
		text("suite", "may be left out if only one suite has results of both"), text("metric", "compare only this metric"),
		text("format", "json (the default), text, markdown, csv, or samples: the pairs that were measured in turns, as CSV"),
		text("all", "1: as text, show the test cases of every metric and not only of the headline metric; as markdown, show the unchanged ones too, at any length"),
	}
	reads := []route{
		{path: "status", summary: "Everything that the status page shows", answer: client.Status{}, json: s.status, effort: common},
		{path: "queue", summary: "The pending requests in the order in which they will be benchmarked", answer: []client.QueuePlace{}, json: s.queue, parameters: []parameter{
			number("after", "only places behind this position"), many,
		}},
		{path: "requests", summary: "Requests, newest first", answer: []readmodel.Request{}, json: s.requests, parameters: []parameter{
			text("state", "a state of requests"), text("kind", "master, try or release"), text("suite", "a suite"), text("tag", "a tag, or its beginning"),
			number("pr", "a pull request"), text("account", "who asked"), text("queue", "a queue; main is the main queue"), text("priority", "vip, high, normal, low or idle"),
			text("set", "a set of requests that were asked for together"), number("before", "created before the event of this sequence"), limit,
		}},
		{path: "requests/{request}", summary: "The request with an id, or the newest with a tag or key, with its jobs; the beginning of an id or tag is enough if it is unique", answer: readmodel.RequestJobs{}, json: s.request},
		{path: "requests/{request}/graphs", summary: "The graphs of a request: its jobs that need others, with their states; an empty list if they need none", answer: client.Graphs{}, json: s.graphs, effort: long},
		{path: "requests/{request}/diagnostics", summary: "What the commands of a request's jobs had to say, by graph: lines by level, different texts, and how many of them a job before had said; an empty list for nothing", answer: []readmodel.GraphDiagnostics{}, json: s.diagnostics, effort: long},
		{path: "requests/{request}/graphs/{graph}/timings", summary: "What the jobs of a graph did over time: running, waiting, blocked; the critical path as it was, what each end unblocked, and machine time that was lost", answer: readmodel.Timings{}, json: s.timings, effort: long},
		{path: "requests/{request}/graphs/{graph}/differences", summary: "How the jobs of a graph differ from those that the definitions make for the request; an empty list if they do not", answer: readmodel.GraphDifferences{}, json: s.differences, effort: long},
		{path: "jobs", summary: "Jobs in the order of their creation", answer: []readmodel.Job{}, json: s.jobs, parameters: []parameter{
			text("request", "a request, by id, tag or key"), text("state", "a state of jobs"), text("open", "1: only jobs that have not ended"),
			text("lane", "a lane, target/set"), text("after", "behind a job, as the header Link of the page before says"), limit,
		}},
		{path: "jobs/{job}", summary: "One job with its attempts, errors and diagnostics, and what the last ten matched jobs like it used", answer: readmodel.JobHistory{}, json: s.job},
		{path: "jobs/{job}/why", summary: "Why a job waits, or that it does not", answer: readmodel.Why{}, json: s.whyJob},
		{path: "jobs/{job}/log", summary: "The output of a job", other: []string{"text/plain"}, stream: s.jobLog, effort: lasting, parameters: []parameter{
			text("follow", "1: continue until the job ends"), text("tell", "1: say in a last line whether the output is complete, if that is known"),
		}},
		{path: "jobs/{job}/outputs/{name}", summary: "What a job stored under a name, as a tar file", other: []string{"application/x-tar"}, stream: s.jobOutput, effort: lasting},
		{path: "accounts", summary: "The configured accounts, by name", answer: []readmodel.Account{}, json: s.accounts, parameters: []parameter{
			text("after", "only names after this one"), limit,
		}},
		{path: "accounts/{name}", summary: "One account, with its requests that have not ended counted", answer: client.AccountShown{}, json: s.account},
		{path: "queues", summary: "The configured queues, by name", answer: []readmodel.NamedQueue{}, json: s.queues, parameters: []parameter{
			text("after", "only names after this one"), limit,
		}},
		{path: "queues/{name}", summary: "One queue with its requests that have not ended, in their order; main is the main queue", answer: client.Queue{}, json: s.oneQueue, parameters: []parameter{limit}},
		{path: "shares", summary: "How the machine time is shared now: tiers, queues and accounts with what is due to them and what they had", answer: readmodel.Shares{}, json: s.shares, effort: long},
		{path: "waits", summary: "How long jobs waited for machines, by lane, and how long requests took, by kind", answer: readmodel.Waits{}, json: s.waited, effort: long, parameters: []parameter{
			text("window", "how far back, such as 24h or 7d; 7d by default, no more than 90d"), text("lane", "only one lane, such as linux-amd64/0, or the matched jobs of a target"),
		}},
		{path: "machines", summary: "The machines that take matched jobs: what they offer, what is free and what runs; the jobs that none of them can run, and kinds of jobs that reserve too little or too much memory", answer: readmodel.Machines{}, json: s.park},
		{path: "machines/{name}", summary: "One machine", answer: readmodel.Machine{}, json: s.oneMachine},
		{path: "usage", summary: "What accounts had in each queue, by day in UTC, the newest day first", answer: []readmodel.Usage{}, json: s.usage, parameters: []parameter{
			text("account", "only this account"), text("queue", "only this queue; main is the main queue"), text("from", "the first day, such as 2026-11-22"), text("to", "the last day"),
			number("offset", "how many to leave out"), limit,
		}},
		{path: "alerts", summary: "What needs a person: the alerts that stand", answer: []readmodel.Alert{}, json: s.alerts, parameters: []parameter{
			number("past", "how many cleared alerts to add, newest first; 0 by default"),
		}},
		{path: "collectors", summary: "The collectors", answer: []client.Collector{}, json: s.collectors, parameters: []parameter{
			text("all", "1: with those that were removed"),
		}},
		{
			path: "compare", summary: "The judgement on two artifacts", answer: comparison.Comparison{}, stream: s.compare, effort: long, parameters: compared,
			other: []string{"text/plain", "text/markdown", "text/csv"},
		},
		{path: "uses", summary: "What the last ten matched jobs of each sort used: peak memory in bytes, CPU time in milliseconds", answer: []readmodel.UseRow{}, json: s.uses, parameters: []parameter{
			text("suite", "may be left out if there is only one suite"),
		}},
		{path: "wanted-version", summary: "The version that supervised collectors should run", answer: client.WantedVersion{}, json: s.wantedVersion},
		{path: "parked-events", summary: "Which events no part takes into account, and why", answer: []client.Park{}, json: s.parkedEvents},
		{path: "results", summary: "Everything that was measured of one artifact", answer: []readmodel.Result{}, json: s.results, effort: long, parameters: []parameter{
			text("suite", "may be left out if only one suite has results of it"), text("tag", "the tag"),
		}},
		{path: "durations", summary: "How long each test case of a suite takes on a target", answer: []readmodel.CaseDuration{}, json: s.durations, effort: long, parameters: []parameter{
			text("suite", "may be left out if there is only one suite"), text("target", "the target"),
		}},
		{path: "events", summary: "The log: newest first, or oldest first with after", answer: []readmodel.Event{}, json: s.events, effort: long, parameters: append([]parameter{
			number("after", "only events after this sequence, oldest first; 0 is the beginning"), number("before", "only events before this sequence, newest first"),
			text("root", "only events with this root, where it all began"), number("cause", "only events that this one led to"), limit,
		}, eventFilter...)},
		{
			path: "events/stream", summary: "New events as server-sent events, with their sequences as ids", other: []string{"text/event-stream"},
			stream: s.eventStream, effort: lasting, parameters: append([]parameter{number("after", "begin after this sequence; by default with new events")}, eventFilter...),
		},
		{path: "events/{seq}", summary: "The event of one sequence", answer: readmodel.Event{}, json: s.event, effort: long},
		{path: "deliveries", summary: "What GitHub delivered and what came of it, newest first", answer: []readmodel.Delivery{}, json: s.deliveries, parameters: []parameter{
			text("id", "an id of a delivery"), text("outcome", "accepted, refused, forbidden, ignored or malformed"), text("waiting", "1: only those that are not handled yet"),
			number("pr", "a pull request"), number("before", "received before the event of this sequence"), limit,
		}},
		{path: "deliveries/{hook}/{id}", summary: "One delivery with its body", answer: client.DeliveryWithBody{}, json: s.delivery, effort: long},
		{path: "outbox", summary: "The comments that Tacho wants on GitHub, the last wanted first", answer: []readmodel.Comment{}, json: s.outbox, parameters: []parameter{
			text("state", "wanted, postponed, posted, refused or minimised"), number("pr", "a pull request"), text("request", "a request, by id, tag or key"),
			number("before", "first wanted before the event of this sequence"), limit,
		}},
		{path: "outbox/{key}", summary: "One comment", answer: readmodel.Comment{}, json: s.comment},
		{path: "definitions", summary: "All published definitions, newest first, without their content", answer: []readmodel.Definition{}, json: s.definitions, parameters: []parameter{
			text("suite", "a suite"), number("before", "published before the event of this sequence"), many,
		}},
		{path: "definitions/{digest}", summary: "The definitions of a digest", answer: readmodel.Definition{}, json: s.definition},
		{path: "definitions/diff", summary: "How the jobs differ that requests would make with two choices; an empty list if they do not", answer: []suite.Difference{}, json: s.graphDiff, effort: long, parameters: []parameter{
			text("a", "SUITE[@BRANCH][:GRAPH][,NAME=VALUE]…; in place of the suite the digest of definitions"), text("b", "the same"), kind,
			option, number("offset", "how many to leave out"), number("limit", "how many at most; 200 by default, and no more"),
		}},
		{path: "templates", summary: "What suites leave requests to choose, branch by branch: graphs and options, and how many jobs each graph makes", answer: client.Templates{}, json: s.templates, effort: long, parameters: []parameter{
			text("after", "only those after this one: SUITE, or SUITE@BRANCH"), limit,
		}},
		{path: "graphs/plan", summary: "Which jobs a request would make, what they would need of each other, and which jobs are switched off and why", answer: client.Plan{}, json: s.graphPlan, effort: long, parameters: []parameter{
			text("suite", "may be left out if there is only one suite"), kind, text("branch", "a branch, or the pattern of a [[branch]]"),
			text("graph", "a graph of the suite; by default the usual one of the branch"), option,
			number("offset", "how many jobs to leave out; those that are switched off stand behind the others"), number("limit", "how many jobs at most; 500 by default, no more than 1000"),
		}},
		{path: "suites/{suite}/branches", summary: "Which definitions the branches of a suite use", answer: []readmodel.DefinitionLine{}, json: s.branches},
	}
	because := []parameter{text("reason", "why; it is kept in the log")}
	writes := []route{
		{path: "requests", summary: "Ask for an artifact to be benchmarked; the suite may be left out if there is only one", body: control.NewRequest{}, answer: client.RequestAnswer{}, json: s.createRequest, accounts: true},
		{path: "requests/batch", summary: "Ask for up to 300 artifacts to be benchmarked: all requests are recorded, or none; with check, none. With each, ask for up to 1,000, each for itself: the answer has each request, or its error and status, in their order; a refused one keeps no other out. A body has at most 4 MiB", body: control.Batch{}, answer: client.BatchAnswer{}, json: s.createRequests, accounts: true},
		{path: "requests/{request}/cancel", summary: "Withdraw a request", body: client.Reason{}, answer: client.RequestAnswer{}, json: s.cancelRequest, accounts: true},
		{method: http.MethodPut, path: "requests/{request}/priority", summary: "Give a request another priority", body: client.NewPriority{}, answer: client.RequestAnswer{}, json: s.prioritiseRequest, accounts: true},
		{path: "requests/{request}/repair", summary: "Run jobs of a request again that did not succeed, with rerun and force also others; the request stays as it is", body: control.Repair{}, answer: client.RepairAnswer{}, json: s.repairRequest, accounts: true},
		{path: "requests/{request}/graphs", summary: "Measure jobs of a request again: rerun or repair what did not succeed, take further samples (retrigger, noise), or add jobs that were switched off (added); with dry_run, say which", body: client.NewGraph{}, answer: client.GraphAnswer{}, json: s.wantGraph, accounts: true},
		{method: http.MethodPut, path: "requests/{request}/graphs/{graph}/priority", summary: "Give a graph of samples another priority, also of a request that has ended", body: client.NewPriority{}, answer: client.RequestAnswer{}, json: s.prioritiseGraph, accounts: true},
		{path: "requests/{request}/graphs/external", summary: "Submit a graph of your own jobs, up to 16 MiB: they are measured as one sample beside the request; with dry_run, say which", body: client.SubmittedGraph{}, answer: client.GraphAnswer{}, json: s.submitGraph, accounts: true},
		{path: "requests/{request}/graphs/{graph}/cancel", summary: "Withdraw a graph that was asked for; the request stays as it is", body: client.Reason{}, answer: client.RequestAnswer{}, json: s.cancelGraph, accounts: true},
		{path: "jobs/{job}/force", summary: "Let a job run although jobs that it needs have not succeeded", body: client.Force{}, answer: client.ForceAnswer{}, json: s.forceJob, accounts: true},
		{path: "requests/{request}/artifacts-ready", summary: "Say that the artifact of a try request exists", body: client.Artifacts{}, answer: client.RequestAnswer{}, json: s.artifactsReady, accounts: true},
		{method: http.MethodPut, path: "accounts/{name}", summary: "Make an account, or change its settings; what is left out stays as it is", body: control.AccountChange{}, answer: control.Answer{}, json: s.configureAccount},
		{method: http.MethodDelete, path: "accounts/{name}", summary: "Close an account: its token ends, and its requests go on", parameters: because, answer: control.Answer{}, json: s.closeAccount},
		{path: "accounts/{name}/token", summary: "Give an account a new token, which is shown this once; the one before ends", answer: client.TokenAnswer{}, json: s.issueToken},
		{method: http.MethodDelete, path: "accounts/{name}/token", summary: "End the token of an account", answer: control.Answer{}, json: s.revokeToken},
		{method: http.MethodPut, path: "queues/{name}", summary: "Make a queue, or change its settings; what is left out stays as it is", body: control.QueueChange{}, answer: control.Answer{}, json: s.configureQueue},
		{method: http.MethodDelete, path: "queues/{name}", summary: "Close a queue that has no requests and no parts", parameters: because, answer: control.Answer{}, json: s.closeQueue},
		{path: "queues/{name}/pause", summary: "Let no job of a queue start", answer: control.Answer{}, json: s.pauseQueue},
		{path: "queues/{name}/resume", summary: "Let the jobs of a queue start again", answer: control.Answer{}, json: s.resumeQueue},
		{method: http.MethodPut, path: "shares/policy", summary: "Change the rules by which the farm is shared; what is left out stays as it is", body: control.PolicyChange{}, answer: control.Answer{}, json: s.setPolicy},
		{path: "machines", summary: "Register a machine of a pool, with a collector for each of its slots on a free lane of the pool", body: control.NewMachine{}, answer: control.MachineAnswer{}, json: s.addMachine},
		{method: http.MethodPut, path: "machines/{name}", summary: "Change what a machine offers; what is left out stays as it is", body: control.MachineChange{}, answer: control.Answer{}, json: s.setMachine},
		{method: http.MethodDelete, path: "machines/{name}", summary: "Remove a machine that has no active collectors, for good", parameters: because, answer: control.Answer{}, json: s.removeMachine},
		{path: "collectors", summary: "Register a collector for its lane", body: control.NewCollector{}, answer: control.Answer{}, json: s.addCollector},
		{path: "collectors/{name}/activate", summary: "Let a collector take jobs again", body: client.Reason{}, answer: control.Answer{}, json: s.activateCollector},
		{path: "collectors/{name}/deactivate", summary: "Stop the dispatch to a collector", body: control.Deactivation{}, answer: control.Answer{}, json: s.deactivateCollector},
		{path: "collectors/{name}/drain", summary: "Ask a collector to finish its job and leave", body: client.Reason{}, answer: control.Answer{}, json: s.drainCollector},
		{path: "collectors/{name}/rotate", summary: "Give a collector another key; the one before is refused from then on", body: client.NewKey{}, answer: control.Answer{}, json: s.rotateKey},
		{path: "collectors/{name}/remove", summary: "Take a collector out for good; its name is never used again", body: client.Reason{}, answer: control.Answer{}, json: s.removeCollector},
		{path: "collectors/{name}/take-over", summary: "Have a collector serve its lane instead of the one that does", body: client.Reason{}, answer: control.Answer{}, json: s.takeLaneOver},
		{path: "wanted-version", summary: "Say which version supervised collectors should run", body: events.VersionWanted{}, answer: control.Answer{}, json: s.wantVersion},
		{path: "events/{seq}/park", summary: "Leave an event that this program does not understand out of everything, with all events of its append", body: client.Reason{}, answer: control.ParkAnswer{}, json: s.parkEvent},
		{path: "events/{seq}/unpark", summary: "Take a parked event, and all that were parked with it, into everything again", body: client.Reason{}, answer: control.ParkAnswer{}, json: s.unparkEvent},
		{path: "definitions", summary: "Publish definitions as the current ones of their suite, or of one of its branches", body: suite.Definitions{}, answer: client.DefinitionsAnswer{}, json: s.publish, accounts: true, parameters: []parameter{
			text("branch", "the branch that they are for; left out: all that have none of their own"),
			text("seal", "the signature of who publishes them, KEY:SIGNATURE; left out: none"),
			text("aside", "1: no branch uses them, and requests name them by their digest"),
		}},
		{path: "suites/{suite}/promote", summary: "Move a branch to definitions that were published before, forwards or back", body: client.Promotion{}, answer: client.PromotionAnswer{}, json: s.promote, accounts: true},
		{path: "replay/verify", summary: "Rebuild all tables from the log beside the live ones and compare them", answer: events.RawJSON{}, json: s.verify},
		{path: "log/check", summary: "Read the whole log and compare it with the archive in the database", answer: events.RawJSON{}, json: s.checkLog},
		{path: "log/backup", summary: "All events of the log with the links of their chain, as a backup that can be restored", other: []string{client.BackupType}, stream: s.backup},
	}
	for i := range reads {
		reads[i].method = http.MethodGet
	}
	for i := range writes {
		writes[i].effort = unbounded
		if writes[i].method == "" {
			writes[i].method = http.MethodPost
		}
	}
	return append(reads, writes...)
}

// routes makes the handler of everything.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	table := s.api()
	for _, rt := range table {
		mux.Handle(rt.method+" "+apiPrefix+rt.path, s.measured(rt.path, s.bounded(rt.effort, s.refuse, s.serve(rt))))
	}
	mux.Handle(apiPrefix, s.measured("unknown", s.unknown(table)))
	mux.Handle("GET /openapi.json", s.measured("openapi", s.bounded(quick, s.refuse, s.inTurn(s.openAPI(table)))))
	mux.Handle("GET /events", s.measured("pings", s.bounded(lasting, s.refuse, http.HandlerFunc(s.pings))))
	mux.Handle("GET /healthz", s.measured("healthz", http.HandlerFunc(s.healthz)))
	mux.Handle("GET /readyz", s.measured("readyz", http.HandlerFunc(s.readyz)))
	mux.Handle("GET /metrics", s.bounded(quick, s.refuse, s.inTurn(promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{}))))
	mux.Handle("GET /static/{file}", s.measured("static", http.HandlerFunc(s.static)))
	for path, page := range map[string]struct {
		effort effort
		read   func(*http.Request) (view, error)
	}{
		"/{$}": {common, s.statusPage}, "/queue": {quick, s.queuePage}, "/requests": {quick, s.requestsPage}, "/requests/{request}": {quick, s.requestPage}, "/jobs/{job}": {quick, s.jobPage},
		"/requests/{request}/graphs/{graph}/timings": {long, s.timingsPage},
		"/collectors": {quick, s.collectorsPage}, "/machines": {quick, s.machinesPage}, "/shares": {long, s.sharesPage}, "/waits": {long, s.waitsPage}, "/templates": {long, s.templatesPage},
		"/templates/{suite}": {long, s.templatePage}, "/templates/{suite}/{graph}": {long, s.templatePage}, "/compare": {long, s.comparePage}, "/github": {quick, s.githubPage},
		"/github/comments/{key}": {quick, s.commentPage}, "/github/deliveries/{hook}/{id}": {long, s.deliveryPage}, "/login": {unbounded, s.loginPage}, "/": {unbounded, s.noPage},
	} {
		mux.Handle(path, s.measured("page "+path, s.bounded(page.effort, s.refusePage, s.page(page.effort, page.read))))
	}
	for path, form := range s.forms() {
		mux.Handle(path, s.measured("form "+path, s.bounded(quick, s.refusePage, form)))
	}
	mux.Handle("POST /templates/{suite}", s.measured("form /templates/{suite}", s.bounded(long, s.refusePage, http.HandlerFunc(s.submitTemplate))))
	return secured(s.addressed(unhurried(mux)))
}

// serve makes the handler of one route.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rt.writes() {
			// Otherwise a caller that sends its body slowly would hold the connection for ever. An error means that the
			// connection has no deadlines.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.BodyWithin))
		}
		p := query(r, rt.known())
		err := p.err
		if err == nil && rt.writes() {
			r, err = s.permitted(r, rt)
		}
		if err == nil && !rt.writes() {
			err = s.awaited(r, p)
		}
		if err == nil {
			err = s.begin(r)
		}
		var answer any
		switch {
		case err != nil:
		case rt.stream != nil:
			err = rt.stream(w, r, p)
		default:
			answer, err = rt.json(w, r, p)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if page, ok := answer.(pageful); ok {
			page.announce(w.Header(), r)
			answer = page.list
		}
		if rt.json != nil {
			s.write(w, r, statusOf(rt, answer), answer)
		}
	})
}

// inTurn runs a handler when the request has its turn.
func (s *Server) inTurn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.begin(r); err != nil {
			s.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// statusOf returns the status of an answer: 201 if a write recorded something new, else 200. What is deleted is not
// created.
func statusOf(rt route, answer any) int {
	if !rt.writes() || rt.method == http.MethodDelete {
		return http.StatusOK
	}
	switch a := answer.(type) {
	case control.Answer:
		return created(a)
	case control.MachineAnswer:
		return created(a.Answer)
	case client.RequestAnswer:
		return created(a.Answer)
	case client.GraphAnswer:
		return created(a.Answer)
	case client.DefinitionsAnswer:
		return created(a.Answer)
	case client.TokenAnswer:
		return created(a.Answer)
	case client.BatchAnswer:
		return created(a.Answer)
	}
	return http.StatusOK
}

func created(a control.Answer) int {
	if a.Existed {
		return http.StatusOK
	}
	return http.StatusCreated
}

// unknown answers calls that no route of the API takes: the method is wrong, or there is no such path.
func (s *Server) unknown(table []route) http.Handler {
	probe := http.NewServeMux()
	for _, rt := range table {
		probe.HandleFunc(rt.method+" "+apiPrefix+rt.path, func(http.ResponseWriter, *http.Request) {})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := probe.Handler(other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			s.refuse(w, r, wrong(http.StatusMethodNotAllowed, "use "+strings.Join(allowed, " or "), "%s is not a method of %s", r.Method, r.URL.Path))
			return
		}
		s.refuse(w, r, wrong(http.StatusNotFound, "see /openapi.json for what there is", "there is no %s in the API", r.URL.Path))
	})
}
