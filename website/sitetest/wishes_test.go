package sitetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tachobench/tacho/config"
	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/ledger"
	"github.com/tachobench/tacho/scheduler"
	"github.com/tachobench/tacho/shell"
	"github.com/tachobench/tacho/website"
	"github.com/tachobench/tacho/website/client"
)

// scheduled is a story whose wishes a real scheduler answers.
func scheduled(t *testing.T) *story {
	t.Helper()
	var sh *shell.Shell
	s := open(t, func(c *website.Config) {
		sh = shell.New(shell.Config{Log: c.Control.Log, Clock: c.Clock, Tick: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
		c.Preview = func(ctx context.Context, id events.RequestID, wish events.GraphWanted, parts ...events.GraphProposed) (found graph.Preview, err error) {
			head, err := c.Log.Head(ctx)
			if err == nil {
				err = sh.Wait(ctx, head.Last)
			}
			if err == nil {
				sh.View(func(l *ledger.Ledger) {
					found = scheduler.Preview(l, id, wish, scheduler.Policy{MaxInProgress: 1}, parts...)
				})
			}
			return found, err
		}
	})
	st := s.story()
	sh.Seat(scheduler.New(scheduler.Config{Log: s.log, Policy: scheduler.Policy{MaxInProgress: 1}, Logger: slog.New(slog.DiscardHandler)}))
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- sh.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	st.until(func() bool { // what the parent of the request in progress lacks
		facts, err := s.log.Read(ctx, events.AdmissionSubject())
		return err == nil && slices.ContainsFunc(facts, func(e events.Recorded) bool { _, ok := e.Fact.(events.BackfillAdmitted); return ok })
	})
	return st
}

func number(n int) *int { return &n }

// wish asks for more jobs, and insists on them.
func (st *story) wish(id events.RequestID, n client.NewGraph) client.GraphAnswer {
	st.t.Helper()
	made, err := st.client.WantGraph(st.ctx, id, n)
	if err != nil || made.RequestID != id || made.GraphKind != n.Kind || made.DryRun != n.DryRun || made.Answered == n.DryRun {
		st.t.Fatalf("%+v, %v", made, err)
	}
	return made
}

// What a dry run shows is what is made: its token is accepted, and after something has changed it is refused.
func TestADryRunShowsWhatIsMade(t *testing.T) {
	st := scheduled(t)
	wish := client.NewGraph{Kind: events.GraphRetrigger, Select: []string{"set=0,1", "name=compile/*/opt"}, Copies: number(2), DryRun: true, Key: "k1", Downstream: "none"}
	wishes := func() (n int) { // the scheduler has other things to record
		history, err := st.log.Read(st.ctx, events.RequestSubject(st.child))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history {
			if _, ok := e.Fact.(events.GraphWanted); ok {
				n++
			}
		}
		return n
	}
	shown := st.wish(st.child, wish)
	if len(shown.Jobs) != 2 || shown.Copies != 2 || shown.Token == "" || shown.Graph != nil || shown.Jobs[0].State != "success" || shown.Jobs[0].Tag != sha("b") ||
		shown.Jobs[0].Label != "compile/linux-amd64/0/gc/opt" || shown.Jobs[0].Sample != "" {
		t.Fatalf("%+v", shown)
	}
	if again := st.wish(st.child, wish); again.Token != shown.Token || wishes() != 0 {
		t.Errorf("a dry run recorded something: %+v", again)
	}
	wish.DryRun, wish.Expect = false, shown.Token
	made := st.wish(st.child, wish)
	if len(made.Jobs) != 4 || made.Graph == nil || made.Token != shown.Token || made.State != events.StateCompleted || made.Jobs[3].Sample != events.NewSample(st.child, *made.Graph, 2) || made.Existed || wishes() != 1 {
		t.Errorf("%+v", made)
	}
	if again := st.wish(st.child, wish); !again.Existed || len(again.Jobs) != 4 || *again.Graph != *made.Graph {
		t.Errorf("with the same key: %+v", again)
	}
	other := wish
	other.Copies = number(3)
	_, err := st.client.WantGraph(st.ctx, st.child, other)
	wantStatus(t, err, http.StatusConflict, "was used before for another wish")
	other.Key, other.Select = "k2", []string{"set=0"}
	_, err = st.client.WantGraph(st.ctx, st.child, other)
	wantStatus(t, err, http.StatusConflict, "look again with --dry-run")
	other.Key, other.DryRun = "", true
	_, err = st.client.WantGraph(st.ctx, st.child, other)
	wantStatus(t, err, http.StatusConflict, "look again with --dry-run")
	one := client.NewGraph{Kind: events.GraphRetrigger, Jobs: []events.JobID{shown.Jobs[1].JobID[:9]}, DryRun: true}
	if found := st.wish(st.child, one); len(found.Jobs) != 1 || found.Jobs[0] != shown.Jobs[1] {
		t.Errorf("by the beginning of its id: %+v", found)
	}
}

func TestNoiseIsOfTheParentAndCanBeCancelled(t *testing.T) {
	st := scheduled(t)
	shown := st.wish(st.child, client.NewGraph{Kind: events.GraphNoise, DryRun: true})
	if len(shown.Jobs) != 2 || shown.Copies != 5 || shown.Jobs[1].Tag != sha("a") {
		t.Errorf("%+v", shown)
	}
	made := st.wish(st.child, client.NewGraph{Kind: events.GraphNoise, Copies: number(3), Select: []string{"set=1"}, Benchmarks: []string{"*"}, Reason: "it jumps"})
	if len(made.Jobs) != 3 || made.Jobs[0].Tag != sha("a") || made.Jobs[0].Label != "compile/linux-amd64/1/gc/opt" || made.Jobs[0].Sample == made.Jobs[1].Sample {
		t.Fatalf("%+v", made)
	}
	cancelled, err := st.client.CancelGraph(st.ctx, st.child, *made.Graph, "enough")
	if err != nil || cancelled.RequestID != st.child || cancelled.State != events.StateCompleted || cancelled.Existed {
		t.Errorf("%+v, %v", cancelled, err)
	}
	st.until(func() bool { // its jobs end by the scheduler, and the graph after them
		_, err := st.client.CancelGraph(st.ctx, st.child, *made.Graph, "")
		return err != nil && strings.Contains(err.Error(), "has no open graph")
	})
	_, err = st.client.CancelGraph(st.ctx, st.child, 77, "")
	wantStatus(t, err, http.StatusConflict, "tacho graph list")
	resp, body := st.do(http.MethodPost, "/api/v1/requests/"+string(st.child)+"/graphs/first/cancel", "{}", map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"})
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "number of a graph") {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

func TestWhatCannotBeWished(t *testing.T) {
	st := scheduled(t)
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		id     events.RequestID
		wish   client.NewGraph
		status int
		says   string
	}{
		"no kind":                {st.child, client.NewGraph{}, 400, "use rerun, repair, retrigger, noise or added"},
		"force of a repair":      {st.child, client.NewGraph{Kind: events.GraphRepair, Force: true, Reason: "odd"}, 400, "force is for a rerun"},
		"force without a reason": {st.child, client.NewGraph{Kind: events.GraphRerun, Force: true, Select: []string{"set=0"}, Reason: " "}, 400, "say why"},
		"force of everything":    {st.child, client.NewGraph{Kind: events.GraphRerun, Force: true, Reason: "odd"}, 400, "name the jobs"},
		"force after the end":    {st.child, client.NewGraph{Kind: events.GraphRerun, Force: true, Select: []string{"set=0"}, Reason: "odd"}, 409, "tacho graph retrigger"},
		"no iterations":          {st.child, client.NewGraph{Kind: events.GraphRetrigger, Iterations: number(0)}, 400, "0 iterations"},
		"too many iterations":    {st.child, client.NewGraph{Kind: events.GraphRetrigger, Iterations: number(1001)}, 400, "use 1 to 1000"},
		"iterations of noise":    {st.child, client.NewGraph{Kind: events.GraphNoise, Iterations: number(3)}, 400, "only the clones of a retrigger"},
		"iterations by nobody":   {st.child, client.NewGraph{Kind: events.GraphRetrigger, Iterations: number(3)}, 409, `customise = "any"`},
		"labels of a retrigger":  {st.child, client.NewGraph{Kind: events.GraphRetrigger, Labels: []string{"a/b/0/c/d"}}, 400, "labels name jobs that were switched off"},
		"nothing to add":         {st.child, client.NewGraph{Kind: events.GraphAdded}, 400, "name the jobs that are to be added"},
		"no label":               {st.child, client.NewGraph{Kind: events.GraphAdded, Labels: []string{"doc"}}, 400, "a label is kind, target, set"},
		"added jobs by ids":      {st.child, client.NewGraph{Kind: events.GraphAdded, Jobs: []events.JobID{st.work.ID}}, 400, "have no ids yet"},
		"added jobs by state":    {st.child, client.NewGraph{Kind: events.GraphAdded, Select: []string{"state=queued"}}, 400, "have no state"},
		"copies of added jobs":   {st.child, client.NewGraph{Kind: events.GraphAdded, Select: []string{"name=*"}, Copies: number(2)}, 400, "leave out copies"},
		"nothing switched off":   {st.child, client.NewGraph{Kind: events.GraphAdded, Select: []string{"name=*"}}, 409, "is switched off"},
		"an initial graph":       {st.child, client.NewGraph{Kind: events.GraphInitial}, 400, "nobody can ask for"},
		"no copy":                {st.child, client.NewGraph{Kind: events.GraphRetrigger, Copies: number(0)}, 400, "0 copies"},
		"too many copies":        {st.child, client.NewGraph{Kind: events.GraphRetrigger, Copies: number(21)}, 400, "use 1 to 20"},
		"negative copies":        {st.child, client.NewGraph{Kind: events.GraphRetrigger, Copies: number(-1)}, 400, "use 1 to 20"},
		"noise of one":           {st.child, client.NewGraph{Kind: events.GraphNoise, Copies: number(1)}, 400, "use 2 to 20"},
		"copies of a repair":     {st.child, client.NewGraph{Kind: events.GraphRepair, Copies: number(2)}, 400, "ask for a retrigger"},
		"downstream of noise":    {st.child, client.NewGraph{Kind: events.GraphNoise, Downstream: "all"}, 400, "leave downstream out"},
		"unknown downstream":     {st.child, client.NewGraph{Kind: events.GraphRetrigger, Downstream: "some"}, 400, "use none, needed or all"},
		"unknown priority":       {st.child, client.NewGraph{Kind: events.GraphRetrigger, Priority: "urgent"}, 400, "vip, high"},
		"unknown property":       {st.child, client.NewGraph{Kind: events.GraphRetrigger, Select: []string{"lane=x"}}, 400, "kind, target, set"},
		"unknown state":          {st.child, client.NewGraph{Kind: events.GraphRepair, Select: []string{"state=broken"}}, 400, "unknown state"},
		"a bad glob":             {st.child, client.NewGraph{Kind: events.GraphRetrigger, Select: []string{"name=["}}, 400, "no glob"},
		"a bad benchmark":        {st.child, client.NewGraph{Kind: events.GraphRetrigger, Benchmarks: []string{"["}}, 400, "not a pattern"},
		"two benchmarks in one":  {st.child, client.NewGraph{Kind: events.GraphNoise, Benchmarks: []string{"a,b"}}, 400, "not a pattern"},
		"a long key":             {st.child, client.NewGraph{Kind: events.GraphRetrigger, Key: long}, 400, "256 bytes"},
		"a long reason":          {st.child, client.NewGraph{Kind: events.GraphRetrigger, Reason: long}, 400, "1024"},
		"an unknown request":     {"r00", client.NewGraph{Kind: events.GraphRetrigger}, 404, "r00"},
		"an unknown job":         {st.child, client.NewGraph{Kind: events.GraphRetrigger, Jobs: []events.JobID{"j00"}}, 404, "j00"},
		"a job of another":       {st.child, client.NewGraph{Kind: events.GraphRetrigger, Jobs: []events.JobID{st.work.ID}}, 409, "none that can be cloned"},
		"before its start":       {st.release, client.NewGraph{Kind: events.GraphRetrigger}, 409, "has no jobs yet"},
		"a selector of nothing":  {st.child, client.NewGraph{Kind: events.GraphRetrigger, Select: []string{"kind=smoke"}}, 409, "no job has kind=smoke"},
		"benchmarks of nothing":  {st.child, client.NewGraph{Kind: events.GraphRetrigger, Benchmarks: []string{"nobody*"}}, 409, "matches nothing"},
		"a repair of no failure": {st.child, client.NewGraph{Kind: events.GraphRepair}, 409, "no job of the request has failed"},
		"a rerun after the end":  {st.child, client.NewGraph{Kind: events.GraphRerun}, 409, "tacho request repair"},
		"noise without parent":   {st.parent, client.NewGraph{Kind: events.GraphNoise}, 409, "has no parent"},
		"a stale list":           {st.child, client.NewGraph{Kind: events.GraphRetrigger, Expect: "0123456789abcdef"}, 409, "look again with --dry-run"},
	} {
		for _, dry := range []bool{true, false} {
			c.wish.DryRun = dry
			t.Run(name, func(t *testing.T) {
				_, err := st.client.WantGraph(st.ctx, c.id, c.wish)
				wantStatus(t, err, c.status, c.says)
			})
		}
	}
	if made := st.told("graph.created"); len(made) > 0 {
		t.Errorf("something was made: %+v", made)
	}
}

func TestRightsOfWishes(t *testing.T) {
	st := scheduled(t)
	high := events.PriorityHigh
	alice, _ := st.account("alice", control.AccountChange{MaxPriority: &high})
	bob, _ := st.account("bob", control.AccountChange{})
	retrigger := client.NewGraph{Kind: events.GraphRetrigger}
	for _, dry := range []bool{true, false} {
		retrigger.DryRun = dry
		_, err := bob.WantGraph(st.ctx, st.child, retrigger)
		wantStatus(t, err, http.StatusForbidden, "is not of account bob")
	}
	_, err := bob.CancelGraph(st.ctx, st.child, 1, "")
	wantStatus(t, err, http.StatusForbidden, "is not of account bob")
	own, err := alice.CreateRequest(st.ctx, control.NewRequest{Suite: "go", Kind: events.Master, Tag: sha("9")})
	if err != nil {
		t.Fatal(err)
	}
	vip := client.NewGraph{Kind: events.GraphRetrigger, Priority: events.PriorityVIP}
	_, err = alice.WantGraph(st.ctx, own.RequestID, vip)
	wantStatus(t, err, http.StatusForbidden, "above what account alice may give, which is high")
	vip.Priority = high
	var made client.GraphAnswer
	st.until(func() bool { // once the request has started
		made, err = alice.WantGraph(st.ctx, own.RequestID, vip)
		return err == nil && len(made.Jobs) > 0
	})
	for _, c := range []struct {
		who    *client.Client
		graph  int
		to     events.Priority
		status int
		says   string
	}{
		{bob, *made.Graph, "low", http.StatusForbidden, "and not of bob"},
		{alice, *made.Graph, "vip", http.StatusForbidden, "above what account alice may give, which is high"},
		{alice, *made.Graph, "high", http.StatusConflict, "its samples are never more urgent"},
		{alice, *made.Graph, "soon", http.StatusBadRequest, "unknown priority"},
		{alice, *made.Graph, "", http.StatusBadRequest, "which priority?"},
		{alice, 77, "low", http.StatusConflict, "has no open graph 77"},
	} {
		_, err := c.who.PrioritiseGraph(st.ctx, own.RequestID, c.graph, client.NewPriority{Priority: c.to})
		wantStatus(t, err, c.status, c.says)
	}
	for _, existed := range []bool{false, true} {
		answer, err := alice.PrioritiseGraph(st.ctx, own.RequestID, *made.Graph, client.NewPriority{Priority: "idle"})
		if err != nil || answer.RequestID != own.RequestID || answer.Existed != existed {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	st.until(func() bool {
		graphs, err := st.client.Graphs(st.ctx, string(own.RequestID))
		return err == nil && len(graphs.Graphs) > 0 && graphs.Graphs[len(graphs.Graphs)-1].Priority == "idle"
	})
}

func TestWithoutALedgerThereIsNoDryRun(t *testing.T) {
	st := open(t, nil).story()
	_, err := st.client.WantGraph(st.ctx, st.child, client.NewGraph{Kind: events.GraphRetrigger, DryRun: true})
	wantStatus(t, err, http.StatusNotImplemented, "cannot say what would be made")
}

var atField = regexp.MustCompile(`name="at" value="([^"]+)"`)

// The buttons are there for those who may press them, and twice pressed on one page is once asked.
func TestButtonsThatMeasureAgain(t *testing.T) {
	st := scheduled(t)
	p := st.person()
	page := "/requests/" + string(st.child)
	if _, text := p.ask(http.MethodGet, page, nil); strings.Contains(text, "Measure again") {
		t.Error("a stranger is shown buttons")
	}
	p.login(token)
	_, text := p.ask(http.MethodGet, page, nil)
	for part, want := range map[string]bool{`id="retrigger"`: true, `id="noise"`: true, `id="repair"`: false} {
		if strings.Contains(text, part) != want {
			t.Errorf("%s on the page: %v", part, !want)
		}
	}
	if _, first := p.ask(http.MethodGet, "/requests/"+string(st.parent), nil); !strings.Contains(first, `id="retrigger"`) || strings.Contains(first, `id="noise"`) {
		t.Error("a request without a parent has no noise")
	}
	if _, waits := p.ask(http.MethodGet, "/requests/"+string(st.release), nil); strings.Contains(waits, "Measure again") {
		t.Error("a request that has not started has nothing to measure again")
	}
	sent := url.Values{"form": {p.formToken()}, "at": {atField.FindStringSubmatch(text)[1]}, "kind": {"retrigger"}, "copies": {"2"}, "reason": {"it jumps"}}
	for range 2 {
		p.wants(http.StatusSeeOther, "", http.MethodPost, page+"/again", sent)
	}
	if made := st.told("graph.created"); len(made) != 1 || !strings.Contains(string(made[0].Data), `"kind":"retrigger"`) {
		t.Errorf("%+v", made)
	}
	for field, c := range map[string]struct{ value, says string }{
		"copies": {"many", "not a number of samples"}, "kind": {"initial", "nobody can ask for"}, "at": {strings.Repeat("9", 300), "256 bytes"},
	} {
		wrong := url.Values{"form": sent["form"], "at": {"1"}, "kind": {"noise"}, "copies": {"2"}}
		wrong.Set(field, c.value)
		p.wants(http.StatusBadRequest, c.says, http.MethodPost, page+"/again", wrong)
	}
	sent.Set("form", "forged")
	p.wants(http.StatusForbidden, "does not belong to your session", http.MethodPost, page+"/again", sent)
	if wished := st.told("graph.wanted"); len(wished) != 1 || wished[0].Actor != "web:operator" {
		t.Errorf("%+v", wished)
	}
}

// told returns the events of a type about the child.
func (st *story) told(kind string) (found []readmodel.Event) {
	st.t.Helper()
	list, err := st.now().Events(st.ctx, client.EventQuery{Subject: "request." + string(st.child), Limit: 100})
	if err != nil {
		st.t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Type, kind) {
			found = append(found, e)
		}
	}
	return found
}

func TestWishesAndDryRunsAreBounded(t *testing.T) {
	var running atomic.Int64
	free := make(chan struct{})
	st := open(t, func(c *website.Config) {
		c.Readers.Wait = config.Duration(50 * time.Millisecond)
		c.Preview = func(context.Context, events.RequestID, events.GraphWanted, ...events.GraphProposed) (graph.Preview, error) {
			running.Add(1)
			<-free
			return graph.Preview{Token: "0a1b"}, nil
		}
	}).story()
	dry := client.NewGraph{Kind: events.GraphRetrigger, DryRun: true}
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := st.client.WantGraph(st.ctx, st.child, dry)
			done <- err
		}()
	}
	st.until(func() bool { return running.Load() == 2 })
	_, err := st.client.WantGraph(st.ctx, st.child, dry)
	wantStatus(t, err, http.StatusServiceUnavailable, "too many ask for dry runs at this moment")
	resp, body := st.do(http.MethodPost, "/api/v1/requests/"+string(st.child)+"/graphs", `{"kind":"retrigger","dry_run":true}`, permitted())
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" || !strings.Contains(body, "try again in 5 s") {
		t.Errorf("%s, Retry-After %q: %s", resp.Status, resp.Header.Get("Retry-After"), body)
	}
	close(free)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if made, err := st.client.WantGraph(st.ctx, st.child, dry); err != nil || made.Token != "0a1b" || running.Load() != 3 {
		t.Errorf("%+v %v: %d ran", made, err, running.Load())
	}

	for n := range 20 {
		_, answer, err := st.control.Want(st.ctx, teller(), st.child, events.GraphWanted{Key: fmt.Sprint("k", n), Kind: events.GraphNoise})
		st.ask(answer, err)
	}
	_, err = st.client.WantGraph(st.ctx, st.child, client.NewGraph{Kind: events.GraphNoise})
	wantStatus(t, err, http.StatusTooManyRequests, "has 20 wishes")
}
