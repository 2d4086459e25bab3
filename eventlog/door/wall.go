package door

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tachobench/tacho/events"
)

// SystemWall is the Wall of an external cluster. It needs a user of the cluster's system account. A client that was cut
// comes back at once if the cluster's configuration still has its user. The wall then cuts it again at each look, and
// the door does not answer it meanwhile.
type SystemWall struct {
	// NC is a connection of the system account.
	NC *nats.Conn
}

const (
	// gather is how long to wait for the next server's answer once one has come.
	gather = 200 * time.Millisecond
	// servers is the room for answers: far more than a cluster has.
	servers = 256
)

// Connections implements Wall. A server that does not answer in time is left out; it is asked again a second later.
func (w SystemWall) Connections() ([]Connection, error) {
	body, err := json.Marshal(map[string]any{"auth": true, "limit": 4096})
	if err != nil {
		return nil, fmt.Errorf("ask the servers: %w", err)
	}
	answers := make(chan *nats.Msg, servers)
	sub, err := w.NC.ChanSubscribe(w.NC.NewInbox(), answers)
	if err != nil {
		return nil, fmt.Errorf("ask the servers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := w.NC.PublishRequest("$SYS.REQ.SERVER.PING.CONNZ", sub.Subject, body); err != nil {
		return nil, fmt.Errorf("ask the servers: %w", err)
	}
	var out []Connection
	late, heard := time.NewTimer(lookEvery), false
	defer late.Stop()
	for {
		select {
		case m := <-answers:
			found, err := readConnections(m.Data)
			if err != nil {
				return nil, err
			}
			out, heard = append(out, found...), true
			late.Reset(gather)
		case <-late.C:
			if !heard {
				return nil, fmt.Errorf("ask the servers for their connections: %w", nats.ErrTimeout)
			}
			return out, nil
		}
	}
}

// readConnections reads the answer of one server.
func readConnections(data []byte) ([]Connection, error) {
	var a struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
		Data struct {
			Connections []struct {
				ID       uint64 `json:"cid"`
				Account  string `json:"account"`
				User     string `json:"authorized_user"`
				Messages int64  `json:"in_msgs"`
				Bytes    int64  `json:"in_bytes"`
			} `json:"connections"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("the connections of a server: %w", err)
	}
	var out []Connection
	for _, c := range a.Data.Connections {
		found := Connection{Server: a.Server.ID, ID: c.ID, Account: events.CollectorName(c.Account), Messages: c.Messages, Bytes: c.Bytes}
		if nkey(c.User) {
			found.Key = c.User
		}
		out = append(out, found)
	}
	return out, nil
}

// nkey reports whether a user is a public key, not a name.
func nkey(user string) bool { return len(user) == 56 && strings.HasPrefix(user, "U") }

// Disconnect implements Wall.
func (w SystemWall) Disconnect(c Connection) error {
	body, err := json.Marshal(map[string]any{"cid": c.ID})
	if err == nil {
		_, err = w.NC.Request("$SYS.REQ.SERVER."+c.Server+".KICK", body, lookEvery)
	}
	if err != nil {
		return fmt.Errorf("cut the connection of account %s: %w", c.Account, err)
	}
	return nil
}
