package natsserver

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/tachobench/tacho/eventlog/door"
	"github.com/tachobench/tacho/events"
)

// Service is something that the core answers. The account "eider" sees "<prefix>.eider.>" of it, and nothing else of
// the server: a reply subject that it names is always in its own account, whatever program answers.
type Service struct {
	Prefix string
	// Old is the subject that clients of an earlier version ask, without a final ".>". Such questions reach the core as
	// "<prefix>.<account>.old.>". It may be empty.
	Old string
	// Streamed is set if a request may have several answers.
	Streamed bool
	// Within is how long after the request the last answer may come. For this long a request without an answer costs
	// some memory.
	Within time.Duration
}

// Limits bound what one account may take of the server; zero means no limit.
type Limits struct {
	Connections, Subscriptions int64
	// Payload is the largest message in bytes.
	Payload int64
}

// accounts makes the accounts of clients. Each has one service import per service and nothing else, not even JetStream.
type accounts struct {
	ns       *server.Server
	services []Service
	limits   Limits

	mu   sync.Mutex
	made map[string]*server.Account
}

// export lets every account import its own part of the services. It is called once, after the server has started.
func (a *accounts) export(ns *server.Server) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ns, a.made = ns, map[string]*server.Account{}
	core := ns.GlobalAccount()
	for _, s := range a.services {
		subject, kind := s.Prefix+".*.>", server.Singleton
		if s.Streamed {
			kind = server.Streamed
		}
		// The export is public, because the server scans restricted ones at each import. Only this process can make an
		// import, and it makes only those with the account's own name.
		err := core.AddServiceExportWithResponse(subject, kind, nil)
		if err == nil {
			err = core.SetServiceExportResponseThreshold(subject, s.Within)
		}
		if err != nil {
			return fmt.Errorf("export the service %s: %w", s.Prefix, err)
		}
	}
	return nil
}

// open returns the account of that name, and makes it if there is none.
func (a *accounts) open(name string) (*server.Account, error) {
	if name == "" || strings.ContainsAny(name, ".*> $\t\r\n") {
		return nil, fmt.Errorf("account %q: the name must be one token", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ns == nil {
		return nil, errors.New("the server has not started")
	}
	if made := a.made[name]; made != nil {
		return made, nil
	}
	account, _ := a.ns.LookupOrRegisterAccount(name)
	// The limits replace the imports, so they come first.
	claims := jwt.NewAccountClaims(name)
	for limit, value := range map[*int64]int64{
		&claims.Limits.Conn: a.limits.Connections, &claims.Limits.Subs: a.limits.Subscriptions, &claims.Limits.Payload: a.limits.Payload,
	} {
		if value > 0 {
			*limit = value
		}
	}
	a.ns.UpdateAccountClaims(account, claims)
	for _, s := range a.services {
		subject := s.Prefix + "." + name + ".>"
		if err := account.AddServiceImport(a.ns.GlobalAccount(), subject, subject); err != nil {
			return nil, fmt.Errorf("import %s: %w", subject, err)
		}
		if s.Old == "" {
			continue
		}
		if err := account.AddServiceImport(a.ns.GlobalAccount(), s.Old+".>", s.Prefix+"."+name+".old.>"); err != nil {
			return nil, fmt.Errorf("import %s: %w", s.Old, err)
		}
	}
	a.made[name] = account
	return account, nil
}

// Door returns the services and limits of the accounts of collectors.
func Door() ([]Service, Limits) {
	return []Service{
		{Prefix: door.Prefix, Old: door.OldQuestions, Within: door.AnswerWithin},
		{Prefix: door.ReadPrefix, Streamed: true, Within: door.AnswerWithin},
	}, Limits{Connections: door.MaxConnections, Subscriptions: door.MaxSubscriptions, Payload: door.MaxRequest}
}

// Connections returns the connections of all clients but those of the core. It implements door.Wall.
func (s *Server) Connections() ([]door.Connection, error) {
	const page = 1024
	var out []door.Connection
	for offset := 0; ; offset += page {
		z, err := s.ns.Connz(&server.ConnzOptions{Username: true, Offset: offset, Limit: page})
		if err != nil {
			return nil, fmt.Errorf("list the clients of NATS: %w", err)
		}
		for _, c := range z.Conns {
			if c.Account != "" && c.Account != server.DEFAULT_GLOBAL_ACCOUNT {
				out = append(out, door.Connection{
					ID: c.Cid, Account: events.CollectorName(c.Account), Key: c.AuthorizedUser, Messages: c.InMsgs, Bytes: c.InBytes,
				})
			}
		}
		if len(z.Conns) < page {
			return out, nil
		}
	}
}

// Disconnect cuts one connection. Its client may come back at once, unless its key is refused by then.
func (s *Server) Disconnect(c door.Connection) error {
	if err := s.ns.DisconnectClientByID(c.ID); err != nil {
		return fmt.Errorf("cut the connection of account %s: %w", c.Account, err)
	}
	return nil
}
