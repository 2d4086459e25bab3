package website

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website/client"
)

func (s *Server) accounts(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	after, most := events.AccountName(p.text("after")), p.limit()
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Accounts(r.Context(), after, most)
	return paged(list, most, "after", func(a readmodel.Account) string { return string(a.Name) }), err
}

func (s *Server) account(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	row, err := s.Reader.Account(r.Context(), events.AccountName(r.PathValue("name")))
	if err != nil {
		return nil, err
	}
	pending, err := s.Reader.PendingOf(r.Context(), row.Name)
	return client.AccountShown{Account: row, Pending: pending}, err
}

func (s *Server) queues(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	after, most := events.QueueName(p.text("after")), p.limit()
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.NamedQueues(r.Context(), after, most)
	return paged(list, most, "after", func(q readmodel.NamedQueue) string { return string(q.Name) }), err
}

// oneQueue answers with the settings of a queue and its requests. The main queue is always there, and an account's own
// queue as soon as it has requests.
func (s *Server) oneQueue(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	name, most := events.QueueName(r.PathValue("name")), p.limit()
	if p.err != nil {
		return nil, p.err
	}
	var q client.Queue
	row, err := s.Reader.NamedQueue(r.Context(), name)
	switch {
	case err == nil:
		q.Settings = &row
	case !errors.Is(err, readmodel.ErrNotFound):
		return nil, err
	}
	waitsIn := name
	if name == events.MainQueue {
		waitsIn = ""
	}
	pending, countErr := s.Reader.PendingIn(r.Context(), waitsIn)
	if countErr != nil {
		return nil, countErr
	}
	if q.Settings == nil && name != events.MainQueue && pending == 0 {
		if known, ownErr := s.owns(r.Context(), name); ownErr != nil || !known {
			return nil, errors.Join(ownErr, err)
		}
	}
	q.Name, q.Pending = name, pending
	q.Requests, err = s.Reader.PendingRequests(r.Context(), waitsIn, most)
	return q, err
}

// owns reports whether a queue is an account's own.
func (s *Server) owns(ctx context.Context, name events.QueueName) (bool, error) {
	_, err := s.Reader.Account(ctx, events.AccountName(name))
	if errors.Is(err, readmodel.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (s *Server) shares(_ http.ResponseWriter, r *http.Request, _ *params) (any, error) {
	return s.long.Shares(r.Context(), s.Clock())
}

func (s *Server) usage(_ http.ResponseWriter, r *http.Request, p *params) (any, error) {
	f := readmodel.UsageFilter{
		Account: events.AccountName(p.text("account")), Queue: events.QueueName(p.text("queue")), From: p.day("from"), To: p.day("to"),
		Offset: p.small("offset"), Limit: p.limit(),
	}
	if p.err != nil {
		return nil, p.err
	}
	list, err := s.Reader.Usage(r.Context(), f)
	end := strconv.Itoa(f.Offset + len(list))
	return paged(list, f.Limit, "offset", func(readmodel.Usage) string { return end }), err
}

// day reads a day such as 2026-11-22; "" if it is not given.
func (p *params) day(name string) string {
	text := p.text(name)
	if text == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		p.fail("parameter %s is %q and must be a day, such as 2026-11-22", name, text)
	}
	return text
}

// sharing remembers that the farm is shared: it stays so for ever.
func (s *Server) sharing(ctx context.Context) bool {
	return remembered(ctx, &s.isShared, s.Reader.Shared)
}

// remembered asks for what stays so for ever once it is so.
func remembered(ctx context.Context, known *atomic.Bool, ask func(context.Context) (bool, error)) bool {
	if known.Load() {
		return true
	}
	is, err := ask(ctx)
	if err != nil || !is {
		return false
	}
	known.Store(true)
	return true
}

// sharesView is the tree of shares as its page shows it.
type sharesView struct {
	readmodel.Shares
	Rows []shareRow
}

// shareRow is one node of the tree.
type shareRow struct {
	readmodel.ShareNode
	// Key tells apart the nodes of the tree, Depth counts the nodes above.
	Key   string
	Depth int
	// Further counts the accounts of the queue that follow and are not shown.
	Further int
}

// Rights says what an account may do, if that is not the usual.
func (r shareRow) Rights() string {
	var said []string
	if len(r.May) > 0 {
		said = append(said, "may "+choices(r.May))
	}
	if n := len(r.Branches); n > patternsShown {
		said = append(said, fmt.Sprintf("branches %s and %d more", choices(r.Branches[:patternsShown]), n-patternsShown))
	} else if n > 0 {
		said = append(said, "branches "+choices(r.Branches))
	}
	return strings.Join(said, "; ")
}

// patternsShown is how many patterns of an account's branches the page shows; the API has all.
const patternsShown = 3

// accountsShown is how many accounts of a queue the page shows; the API has all.
const accountsShown = 50

func (s *Server) sharesPage(r *http.Request) (view, error) {
	shares, err := s.long.Shares(r.Context(), s.Clock())
	v := sharesView{Shares: shares}
	v.add("", 0, shares.Tiers)
	return view{template: "shares", title: "Shares", data: v}, err
}

// add adds nodes with what is below them.
func (v *sharesView) add(above string, depth int, nodes []readmodel.ShareNode) {
	accounts := 0
	for _, n := range nodes {
		if n.Kind == readmodel.NodeAccount {
			if accounts++; accounts > accountsShown {
				continue
			}
		}
		key := above + "/" + string(n.Kind) + " " + n.Name
		v.Rows = append(v.Rows, shareRow{ShareNode: n, Key: key, Depth: depth})
		v.add(key, depth+1, n.Nodes)
	}
	if further := accounts - accountsShown; further > 0 {
		v.Rows = append(v.Rows, shareRow{Key: above + "/more", Depth: depth, Further: further})
	}
}

// Floor returns the part of the machine time that a tier has at least, in percent; 0 for none.
func (v sharesView) Floor(tier events.Tier) float64 {
	switch tier {
	case events.TierDefault:
		return float64(v.FloorDefault) / 10
	case events.TierIdle:
		return float64(v.FloorIdle) / 10
	case events.TierVIP:
	}
	return 0
}
