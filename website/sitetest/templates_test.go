package sitetest

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tachobench/tacho/control"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/rules/graph"
	"github.com/tachobench/tacho/rules/suite"
	"github.com/tachobench/tacho/website/client"
)

// choices publishes a suite that leaves much to choose.
func (s *site) choices() suite.Definitions {
	s.t.Helper()
	d := choicesOf(s.t)
	s.publishes(d, "")
	return d
}

func (s *site) publishes(d suite.Definitions, branch string) {
	s.t.Helper()
	_, err := s.control.PublishFrom(s.ctx, teller(), d, control.Origin{Branch: branch})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.now().Status(s.ctx) // waits for the tables
	if err != nil {
		s.t.Fatal(err)
	}
}

func choicesOf(t testing.TB) suite.Definitions {
	t.Helper()
	data, err := os.ReadFile("../../rules/suite/testdata/choices.toml")
	if err != nil {
		t.Fatal(err)
	}
	return loaded(t, string(data))
}

func loaded(t testing.TB, text string) suite.Definitions {
	t.Helper()
	d, err := suite.Load("suite.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// starts starts a request as a scheduler would, with the definitions that it was made with, and returns its expansion.
func (s *site) starts(id events.RequestID, d suite.Definitions) suite.Expansion {
	s.t.Helper()
	q, err := s.now().Request(s.ctx, string(id))
	if err != nil {
		s.t.Fatal(err)
	}
	takes := q.Takes()
	x, err := d.Expansion(suite.Request{
		ID: id, Artifact: events.Artifact{Suite: q.Suite, Tag: q.Tag, Kind: q.Kind}, Parameters: q.Parameters, Definitions: d.Digest(),
		Choice: suite.Choice{Branch: takes.Branch, Graph: takes.Graph, Options: takes.Options},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.tell(
		events.RequestAdmitted{RequestID: id, Tag: q.Tag, Reason: "first in the queue"},
		events.RequestStarted{RequestID: id, Definitions: d.Digest(), Jobs: len(x.Own), Template: &events.Template{Graph: x.Template.Graph, Branch: x.Template.Branch, Options: x.Template.Options}},
		events.JobsCreated{RequestID: id, Jobs: x.Own},
	)
	return x
}

// A suite of version 1 has nothing to choose, and no page speaks of it.
func TestASuiteWithoutChoicesShowsNothing(t *testing.T) {
	s := open(t, nil)
	st := s.story()
	words := []string{"emplates", "switched off", "/templates"}
	for _, path := range []string{"/", "/requests", "/requests/" + string(st.running), "/jobs/" + string(st.work.ID), "/collectors", "/waits", "/compare", "/github"} {
		st.shows(path, nil, words)
	}
	for path, says := range map[string]string{
		"/templates": "no suite leaves anything to choose", "/templates/go": "suite go leaves nothing to choose", "/templates/go/full": "suite go leaves nothing to choose",
		"/templates/rust": "there is no suite &#34;rust&#34;: use go",
	} {
		resp, body := s.get(path)
		if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, says) {
			t.Errorf("%s: %s, want %q:\n%s", path, resp.Status, says, body)
		}
	}
	list, err := s.client.Templates(s.ctx, "", 0)
	if err != nil || list.Templates == nil || len(list.Templates) != 0 {
		t.Errorf("%+v %v, want an empty list", list, err)
	}
	made, err := s.client.GraphPlan(s.ctx, client.PlanQuery{})
	if err != nil || made.Template != nil || made.Jobs == 0 || len(made.JobList) != made.Jobs || made.SwitchedOff != 0 {
		t.Errorf("%+v %v, want the jobs without a template", made, err)
	}
}

// What does not exist is refused with what does, and the form keeps what can be kept.
func TestWrongChoicesAreToldWhatThereIs(t *testing.T) {
	s := open(t, nil)
	s.choices()
	long := strings.Repeat("x", 300)
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "&option.o%d=on", i)
	}
	for _, c := range []struct {
		path   string
		status int
		says   string
	}{
		{"/templates/choice", 404, "there is no suite &#34;choice&#34;: use choices"},
		{"/templates/CHOICES%2F..", 404, "there is no suite"},
		{"/templates/choices/fast", 404, "unknown graph &#34;fast&#34;: use full or quick"},
		{"/templates/choices/%3Ci%3E%2F", 404, `unknown graph &#34;&lt;i&gt;/&#34;`},
		{"/templates/choices?option.lto=on", 400, "unknown option &#34;lto&#34;: use pgo or docs"},
		{"/templates/choices?option.pgo=perhaps", 400, "use off or on"},
		{"/templates/choices?option.docs=off", 400, "option docs is set by branches alone"},
		{"/templates/choices?kind=master&option.pgo=on", 400, "a master request sets no options"},
		{"/templates/choices?name=release/7&option.pgo=off", 400, "branch release/* lets requests set no options"},
		{"/templates/choices?kind=nightly", 400, "unknown kind of request &#34;nightly&#34;: use master, try, release"},
		{"/templates/choices?branch=a..b", 400, "there are rules for try, release/*, release/*-pre"},
		{"/templates/choices?option.%22%3E%3Cscript%3E=1", 400, "&lt;script&gt;"},
		{"/templates/choices?colour=red", 400, "unknown parameter"},
		{"/templates/choices?option.pgo=on&option.pgo=off", 400, "is given 2 times"},
		{"/templates/choices?option.pgo=%ff", 400, "is not a valid text"},
		{"/templates/choices?option.%ff=on", 400, "is not a valid text"},
		{"/templates/choices?branch=%00", 400, "is not a valid text"},
		{"/templates/%ff", 400, "is not a valid text"},
		{"/templates/choices?branch=" + long, 400, "has more than 256 bytes"},
		{"/templates/choices?option." + long + "=on", 400, "has more than 256 bytes"},
		{"/templates/choices?option.pgo=" + long, 400, "has more than 256 bytes"},
		{"/templates/choices/" + long, 400, "has more than 256 bytes"},
		{"/templates/" + strings.Repeat("x", 500_000), 404, "there is no suite"},
		{"/templates/choices/" + strings.Repeat("x", 500_000), 400, "has more than 256 bytes"},
		{"/templates/choices?" + strings.Repeat("y", 500_000), 400, "unknown parameter"},
		{"/templates/choices?x" + many.String(), 400, ""},
		{"/templates/choices?" + many.String()[1:], 400, ""},
	} {
		for _, path := range []string{c.path, asCall(c.path)} {
			resp, body := s.get(path)
			text, says := body, c.says
			if strings.HasPrefix(path, "/api/") {
				e := refusal(t, body)
				text, says = e.Error(), html.UnescapeString(says)
			}
			if resp.StatusCode != c.status || !strings.Contains(text, says) || len(body) > 40_000 {
				t.Errorf("%s: %s with %d bytes, want %d with %q:\n%s", path[:min(len(path), 100)], resp.Status, len(body), c.status, says, body[:min(len(body), 1500)])
			}
			if strings.Contains(body, "<script>") || strings.Contains(body, "<i>") {
				t.Errorf("%s is not escaped", path)
			}
		}
	}
	resp, body := s.get("/templates/choices/full?kind=try&option.pgo=perhaps&name=release/1-pre")
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `value="release/1-pre"`) || !strings.Contains(body, `<option value="try" selected>`) {
		t.Errorf("%s: the form does not keep what was typed:\n%s", resp.Status, body)
	}
}

// asCall returns the call of the API for the same choice as a page. What is wrong about the parameters of the page is so there, too.
func asCall(path string) string {
	u, query, _ := strings.Cut(strings.TrimPrefix(path, "/templates/"), "?")
	name, g, _ := strings.Cut(u, "/")
	call := "/api/v1/graphs/plan?kind=try&suite=" + name
	if g != "" {
		call += "&graph=" + g
	}
	query = strings.Replace(strings.TrimPrefix(query, "kind="), "name=", "branch=", 1)
	if strings.HasPrefix(path, "/templates/choices?kind=") {
		return strings.Replace(call, "kind=try", "kind="+query, 1)
	}
	return call + "&" + query
}

// A name that needs escaping in a URL leads to its page all the same. Definitions that come over the API are not checked.
func TestOddNamesAreEscaped(t *testing.T) {
	s := open(t, nil)
	d := choicesOf(t)
	d.Graphs[1].Name = `a/b?c=<i>&"d"`
	d.Options[0].Values[1] = `<b>'"&`
	d.Branches = nil
	s.publishes(d, "")
	_, body := s.get("/templates/choices")
	link := regexp.MustCompile(`href="(/templates/choices/a[^"?]*)`).FindStringSubmatch(body)
	if link == nil || strings.Contains(body, "<i>") || strings.Contains(body, "<b>") {
		t.Fatalf("no link, or not escaped:\n%s", body)
	}
	resp, body := s.get(strings.ReplaceAll(link[1], "&amp;", "&") + "?option.pgo=" + url.QueryEscape(`<b>'"&`))
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `with graph a/b?c=&lt;i&gt;`) || strings.Contains(body, "<i>") || strings.Contains(body, "<b>") {
		t.Errorf("%s: %s\n%s", link[1], resp.Status, body)
	}
}

var shownJobs = regexp.MustCompile(`id="plan-heading">[^<]*<span class="count">(\d+) jobs?<`)

// What the page says is what the expansion gives, what the API answers, and what a request that its form makes then has.
func TestTheFormMakesWhatThePageShows(t *testing.T) {
	s := open(t, nil)
	d := s.choices()
	old := choicesOf(t)
	old.Kinds = old.Kinds[:3]
	old.Graphs[1].Kinds = old.Graphs[1].Kinds[:2]
	s.publishes(old, "old/1")
	p := s.person()
	p.login(token)
	n := 0
	for _, kind := range []events.RequestKind{events.Master, events.Try, events.Release} {
		for _, branch := range []string{"", "main", "try", "release/7", "release/7-pre", "old/1"} {
			for _, g := range []string{"", "full", "quick"} {
				for _, pgo := range []string{"", "off", "on"} {
					used := d
					if branch == "old/1" {
						used = old
					}
					choice := suite.Choice{Branch: branch, Graph: g, Options: map[string]string{}}
					if pgo != "" {
						choice.Options["pgo"] = pgo
					}
					path := "/templates/choices"
					if g != "" {
						path += "/" + g
					}
					q := url.Values{"kind": {string(kind)}, "name": {branch}, "option.pgo": {pgo}}
					resp, body := p.ask(http.MethodGet, path+"?"+q.Encode(), nil)
					want, err := used.Expansion(suite.Request{Artifact: events.Artifact{Suite: d.Name, Tag: "x", Kind: kind}, Choice: choice})
					if err != nil {
						if resp.StatusCode != http.StatusBadRequest {
							t.Fatalf("%s: %s, want what is wrong: %v", q, resp.Status, err)
						}
						continue
					}
					if found := shownJobs.FindStringSubmatch(body); resp.StatusCode != http.StatusOK || found == nil || found[1] != fmt.Sprint(len(want.Own)) {
						t.Fatalf("%s %s: %s, %v, want %d jobs", path, q, resp.Status, found, len(want.Own))
					}
					made, err := s.client.GraphPlan(s.ctx, client.PlanQuery{Suite: "choices", Kind: kind, Branch: branch, Graph: g, Options: choice.Options})
					if err != nil || !slices.Equal(labelsOf(made), specLabels(want)) {
						t.Fatalf("%s: %v\n%s", q, err, cmp.Diff(specLabels(want), labelsOf(made)))
					}
					n++
					form := fieldsIn(t, body)
					form.Set("tag", fmt.Sprintf("go1.%d", n))
					resp, body = p.ask(http.MethodPost, "/templates/choices", form)
					if resp.StatusCode != http.StatusSeeOther {
						t.Fatalf("%s: %s: %s", q, resp.Status, body)
					}
					id := events.RequestID(strings.TrimPrefix(resp.Header.Get("Location"), "/requests/"))
					x := s.starts(id, used)
					if diff := cmp.Diff(specLabels(want), specLabels(x)); diff != "" {
						t.Fatalf("%s: the request has other jobs (-want +got):\n%s", q, diff)
					}
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d choices were made", n)
	}
}

// fieldsIn returns the hidden fields of the form that asks for a request.
func fieldsIn(t *testing.T, page string) url.Values {
	t.Helper()
	_, form, ok := strings.Cut(page, `id="submit"`)
	if !ok {
		t.Fatalf("there is no form:\n%s", page)
	}
	form, _, _ = strings.Cut(form, "</form>")
	fields := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
		fields.Set(m[1], m[2])
	}
	return fields
}

// labelsOf returns the jobs of a plan, and behind them those that are switched off, with the reasons.
func labelsOf(p client.Plan) []string {
	var out []string
	for _, j := range p.JobList {
		out = append(out, j.Label.String())
	}
	slices.Sort(out)
	for _, o := range p.OffList {
		out = append(out, o.Label.String()+": "+o.Reason)
	}
	return out
}

func specLabels(x suite.Expansion) []string {
	var out []string
	for _, j := range x.Own {
		out = append(out, graph.LabelOf(j).String())
	}
	slices.Sort(out)
	for _, o := range x.Off {
		out = append(out, graph.LabelOf(o.Job).String()+": "+o.Reason)
	}
	return out
}

// A form is carried out for its own session, as it was seen, and says what is wrong with it.
func TestTheFormIsRefusedOnItsPage(t *testing.T) {
	s := open(t, nil)
	d := s.choices()
	_, aliceToken := s.account("alice", control.AccountChange{})
	p := s.person()
	page := "/templates/choices"
	p.wants(http.StatusUnauthorized, "not logged in", http.MethodPost, page, url.Values{"kind": {"try"}, "tag": {"go1.1"}})
	p.login(aliceToken)
	_, body := p.ask(http.MethodGet, page+"?kind=try&option.pgo=on", nil)
	form := fieldsIn(t, body)
	with := func(pairs ...string) url.Values {
		f := maps.Clone(form)
		for i := 0; i < len(pairs); i += 2 {
			f[pairs[i]] = []string{pairs[i+1]}
		}
		return f
	}
	p.wants(http.StatusForbidden, "does not belong to your session", http.MethodPost, page, with("form", "x", "tag", "go1.1"))
	p.wants(http.StatusForbidden, "another site", http.MethodPost, page, with("tag", "go1.1"), "Sec-Fetch-Site", "cross-site")
	p.wants(http.StatusBadRequest, "No request was made: a try request needs a tag or a key", http.MethodPost, page, with("pr", "7"))
	p.wants(http.StatusBadRequest, `<input name="tag" value="&lt;i&gt;"`, http.MethodPost, page, with("tag", "<i>"))
	p.wants(http.StatusBadRequest, "is not the number of a pull request", http.MethodPost, page, with("tag", "go1.1", "pr", "-1"))
	p.wants(http.StatusBadRequest, "unknown option", http.MethodPost, page, with("tag", "go1.1", "option.lto", "on"))
	p.wants(http.StatusBadRequest, "release/* is a pattern: name the branch", http.MethodPost, page, with("tag", "go1.1", "branch", "release/*", "option.pgo", ""))
	p.wants(http.StatusConflict, "differs from what the page showed", http.MethodPost, page, with("tag", "go1.1", "graph", "quick"))
	p.wants(http.StatusNotFound, "unknown graph", http.MethodPost, page, with("tag", "go1.1", "graph", "fast"))
	p.wants(http.StatusRequestEntityTooLarge, "larger than", http.MethodPost, page, with("tag", strings.Repeat("x", 100_000)))
	p.wants(http.StatusNotFound, "there is no suite", http.MethodPost, "/templates/other", with("tag", "go1.1"))
	d.Kinds = d.Kinds[:4]
	d.Graphs = d.Graphs[:1]
	d.Branches = nil
	s.publishes(d, "")
	p.wants(http.StatusConflict, "differs from what the page showed", http.MethodPost, page, with("tag", "go1.1"))
	found, err := s.now().Requests(s.ctx, client.RequestQuery{})
	if err != nil || len(found) != 0 {
		t.Fatalf("%v: a refused form made %+v", err, found)
	}
	_, body = p.ask(http.MethodPost, page, with("tag", "go1.1"))
	form = fieldsIn(t, body)
	resp, body := p.ask(http.MethodPost, page, with("tag", "go1.1", "pr", "7", "parent", "go1.0"))
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %s", resp.Status, body)
	}
	made, err := s.now().Request(s.ctx, "go1.1")
	if err != nil || made.Account != "alice" || made.Choice.Options["pgo"] != "on" || made.PR == nil || *made.PR != 7 || made.ParentTag != "go1.0" || made.Kind != events.Try {
		t.Errorf("%v: %+v", err, made.Request)
	}
}

// The page of a request lists what is switched off for it, with the command that adds it.
func TestARequestShowsWhatIsSwitchedOff(t *testing.T) {
	s := open(t, nil)
	d := s.choices()
	made, err := s.client.CreateRequest(s.ctx, control.NewRequest{Suite: "choices", Kind: events.Try, Tag: "go1.1", Graph: "quick", Parameters: events.Parameters{Targets: []events.Target{"linux-amd64"}}})
	if err != nil {
		t.Fatal(err)
	}
	st := &story{site: s}
	st.shows("/requests/"+string(made.RequestID), nil, []string{"switched off"})
	s.starts(made.RequestID, d)
	st.shows("/requests/"+string(made.RequestID), []string{
		"<summary>2 jobs switched off for this request</summary>", "graph quick has no kind training",
		"tacho graph add " + string(made.RequestID) + " --job training/linux-amd64/0/gc/opt",
	}, nil)
}

// The largest suite is answered in bounds: page by page, folded, and at once.
func TestTheLargestSuiteIsAnsweredInBounds(t *testing.T) {
	s := open(t, nil)
	d := largest(t)
	s.publishes(d, "")
	began := time.Now()
	resp, body := s.get("/templates/large?kind=try")
	cold := time.Since(began)
	began = time.Now()
	s.get("/templates/large?kind=try")
	t.Logf("the page has %d bytes and took %s, and %s the second time", len(body), cold, time.Since(began))
	if found := shownJobs.FindStringSubmatch(body); resp.StatusCode != http.StatusOK || found == nil || found[1] != "9902" || len(body) > 200_000 || strings.Count(body, "<tr") > 500 {
		t.Errorf("%s: %v in %d bytes", resp.Status, found, len(body))
	}
	if cold > patience/2 {
		t.Errorf("the page took %s", cold)
	}
	resp, body = s.get("/templates/large?kind=try&option.big=off")
	if resp.StatusCode != http.StatusOK || strings.Count(body, `<th scope="row" data-label="Job" class="code">`) != 200 || !strings.Contains(body, "and 9200 jobs more") || len(body) > 200_000 {
		t.Errorf("%s: %d bytes: %s", resp.Status, len(body), body[max(len(body)-2000, 0):])
	}
	for _, options := range []map[string]string{nil, {"big": "off"}} {
		seen, off := map[graph.Label]bool{}, 0
		for offset, pages := 0, 0; ; pages++ {
			began := time.Now()
			p, err := s.client.GraphPlan(s.ctx, client.PlanQuery{Suite: "large", Kind: events.Try, Options: options, Offset: offset, Limit: 1000})
			if err != nil || pages > 100 {
				t.Fatalf("page %d: %v", pages, err)
			}
			if pages == 0 {
				t.Logf("a page of the plan took %s", time.Since(began))
			}
			for _, j := range p.JobList {
				seen[j.Label] = true
			}
			off += len(p.OffList)
			for _, o := range p.OffList {
				seen[o.Label] = true
			}
			if offset = p.Next; offset == 0 {
				if len(seen) != p.Jobs+p.SwitchedOff || len(seen) != 9902 || off != p.SwitchedOff {
					t.Errorf("the pages have %d jobs, %d of them switched off: %d, %d", len(seen), off, p.Jobs, p.SwitchedOff)
				}
				break
			}
		}
	}
	for _, path := range []string{"graphs/plan?suite=large&limit=1000", "templates", "definitions/diff?a=large,big=off&b=large&kind=try"} {
		began := time.Now()
		resp, body := s.get("/api/v1/" + path)
		t.Logf("%s: %d bytes in %s", path, len(body), time.Since(began))
		if resp.StatusCode != http.StatusOK || len(body) > 1<<20 {
			t.Errorf("%s: %s with %d bytes", path, resp.Status, len(body))
		}
	}
}

// largest are definitions near the limits: 9,902 jobs with 85,000 needs.
func largest(t testing.TB) suite.Definitions {
	data, err := os.ReadFile("../../rules/suite/testdata/small.toml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(strings.NewReplacer("version = 1", "version = 2", `name = "small"`, `name = "large"`).Replace(string(data)))
	for i := range 98 {
		fmt.Fprintf(&b, "\n[[profile]]\nname = \"p%d\"\n", i)
	}
	for i := range 48 {
		fmt.Fprintf(&b, "\n[[kind]]\nname = \"k%d\"\nper_profile = true\n", i)
		if i == 0 {
			continue
		}
		var needs []string
		for j := max(i-10, 0); j < i; j++ {
			needs = append(needs, fmt.Sprintf("{ kind = \"k%d\" }", j))
		}
		fmt.Fprintf(&b, "when = \"big = 'on'\"\nneeds = [%s]\n", strings.Join(needs, ", "))
	}
	b.WriteString("\n[[option]]\nname = \"big\"\nvalues = [\"on\", \"off\"]\n")
	return loaded(t, b.String())
}
