package website

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

func deliveryOutcomes() []events.DeliveryOutcome {
	return []events.DeliveryOutcome{
		events.DeliveryAccepted, events.DeliveryRefused, events.DeliveryForbidden, events.DeliveryIgnored, events.DeliveryMalformed,
	}
}

func (s *Server) deliveries(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	f := readmodel.DeliveryFilter{
		ID: events.DeliveryID(p.text("id")), Outcome: choice(p, "outcome", deliveryOutcomes()), Waiting: p.flag("waiting"), PR: p.small("pr"), Before: p.seq("before"), Limit: p.limit(),
	}
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Deliveries(r.Context(), f)
	return paged(list, f.Limit, "before", func(d readmodel.Delivery) string { return sequence(d.ReceivedSeq) }), err
}

func (s *Server) delivery(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.delivered(r)
}

// delivered reads the delivery that a path names, with its body.
func (s *Server) delivered(r *http.Request) (client.DeliveryWithBody, error) {
	hook, id := events.HookID(r.PathValue("hook")), events.DeliveryID(r.PathValue("id"))
	row, err := s.long.Delivery(r.Context(), hook, id)
	if err != nil {
		return client.DeliveryWithBody{}, err
	}
	body, err := s.long.DeliveryBody(r.Context(), hook, id)
	if err != nil {
		return client.DeliveryWithBody{}, err
	}
	d := client.DeliveryWithBody{Delivery: row}
	if json.Valid(body) {
		d.Body = body
	} else {
		d.Text = string(body)
	}
	return d, nil
}

func (s *Server) outbox(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	named, err := s.requestNamed(r, p, "request")
	if err != nil {
		return nil, err
	}
	f := readmodel.CommentFilter{
		State: choice(p, "state", readmodel.CommentStates()), PR: p.small("pr"), Request: named, Before: p.seq("before"), Limit: p.limit(),
	}
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Comments(r.Context(), f)
	return paged(list, f.Limit, "before", func(c readmodel.Comment) string { return sequence(c.WantedSeq) }), err
}

func (s *Server) comment(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.Reader.Comment(r.Context(), events.OutboxKey(r.PathValue("key")))
}

// How many of each the page shows. Older ones are on further pages.
const (
	commentsShown   = 20
	deliveriesShown = 50
)

// githubView is the page of comments and deliveries.
type githubView struct {
	Comments   []readmodel.Comment
	Deliveries []readmodel.Delivery
	// OlderComments and OlderDeliveries are where the next page begins; 0 if there is none.
	OlderComments, OlderDeliveries events.Seq
	// Untried is set if the newest comments wait and none was ever attempted, as without credentials.
	Untried bool
}

func (s *Server) githubPage(r *http.Request) (view, error) {
	p := query(r, []parameter{{name: "comments_before"}, {name: "deliveries_before"}})
	comments, deliveries := p.seq("comments_before"), p.seq("deliveries_before")
	if p.err != nil {
		return view{}, p.err
	}
	var v githubView
	var err error
	if v.Comments, err = s.Reader.Comments(r.Context(), readmodel.CommentFilter{Before: comments, Limit: commentsShown + 1}); err != nil {
		return view{}, err
	}
	if v.Deliveries, err = s.Reader.Deliveries(r.Context(), readmodel.DeliveryFilter{Before: deliveries, Limit: deliveriesShown + 1}); err != nil {
		return view{}, err
	}
	if len(v.Comments) > commentsShown {
		v.Comments = v.Comments[:commentsShown]
		v.OlderComments = v.Comments[commentsShown-1].WantedSeq
	}
	if len(v.Deliveries) > deliveriesShown {
		v.Deliveries = v.Deliveries[:deliveriesShown]
		v.OlderDeliveries = v.Deliveries[deliveriesShown-1].ReceivedSeq
	}
	v.Untried = s.untried(v.Comments)
	return view{template: "github", title: "GitHub", data: v}, nil
}

// patience is how long a comment may wait for its first attempt before the page points it out.
const patience = 20 * time.Second

// untried reports whether comments wait, and none of them was ever attempted.
func (s *Server) untried(list []readmodel.Comment) bool {
	waits := false
	for _, c := range list {
		if c.State != readmodel.CommentWanted || c.Attempts > 0 {
			return false
		}
		waits = waits || s.Clock().Sub(c.RevisedAt) > patience
	}
	return waits
}

func (s *Server) commentPage(r *http.Request) (view, error) {
	c, err := s.Reader.Comment(r.Context(), events.OutboxKey(r.PathValue("key")))
	return view{template: "comment", title: "Comment " + string(c.Key), data: c}, err
}

// bodyShown bounds how much of a body a page shows; the API has all of it.
const bodyShown = 128 << 10

// deliveryView is a delivery as its page shows it.
type deliveryView struct {
	readmodel.Delivery
	// Text is the body, or its beginning when Cut is set.
	Text string
	Cut  bool
}

func (s *Server) deliveryPage(r *http.Request) (view, error) {
	d, err := s.delivered(r)
	if err != nil {
		return view{}, err
	}
	v := deliveryView{Delivery: d.Delivery, Text: d.Text}
	if d.Body != nil {
		v.Text = indented(d.Body)
	}
	if len(v.Text) > bodyShown {
		cut := bodyShown
		for !utf8.RuneStart(v.Text[cut]) {
			cut--
		}
		v.Text, v.Cut = v.Text[:cut], true
	}
	v.Text = strings.ToValidUTF8(v.Text, "\uFFFD")
	return view{template: "delivery", title: "Delivery " + string(d.ID), data: v}, nil
}

// indented lays valid JSON out over lines.
func indented(body []byte) string {
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return string(body)
	}
	return out.String()
}

// secure returns the link to a comment on GitHub; nothing if it is not a web address. The text came from GitHub, so it
// is not trusted.
func secure(url string) string {
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return url
	}
	return ""
}

// marked finds the address of a link and the marks of code in Markdown.
var marked = regexp.MustCompile("\\]\\([^)]*\\)|[`\\[]")

// opening returns the first line of a Markdown text that is not empty, without its marks.
func opening(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(line, "# >*_"))
		if line == "" || strings.HasPrefix(line, "<!--") {
			continue
		}
		return excerpt(marked.ReplaceAllString(line, ""))
	}
	return ""
}

// excerpt returns a line, cut if it is too long for a table.
func excerpt(line string) string {
	const most = 120
	if letters := []rune(line); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return line
}
