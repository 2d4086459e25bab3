package sitetest

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/pgtest"
	"github.com/tachobench/tacho/readmodel"
	"github.com/tachobench/tacho/website"
)

// cable is between a reader and Postgres. While it is stopped, it takes connections and bytes and passes nothing on: so does
// the kernel for a server that stands still.
type cable struct {
	listener net.Listener
	network  string
	server   string
	tasks    sync.WaitGroup

	// mu guards the rest. flows is closed while bytes pass.
	mu    sync.Mutex
	flows chan struct{}
	conns []net.Conn
}

// newCable returns a cable to the database of a URL, and the URL of its other end.
func newCable(t *testing.T, database string) (*cable, string) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, flows: make(chan struct{})}
	close(c.flows)
	c.network, c.server = network(config)
	c.tasks.Go(c.accept)
	t.Cleanup(c.close)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: l.Addr().String(), Path: "/" + config.Database}
	u.RawQuery = "sslmode=disable"
	return c, u.String()
}

func network(c *pgx.ConnConfig) (network, address string) {
	port := strconv.Itoa(int(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		return "unix", c.Host + "/.s.PGSQL." + port
	}
	return "tcp", net.JoinHostPort(c.Host, port)
}

func (c *cable) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows = make(chan struct{})
}

func (c *cable) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.flows)
}

func (c *cable) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	select {
	case <-c.flows:
	default:
		close(c.flows)
	}
	c.mu.Unlock()
	c.tasks.Wait()
}

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial(c.network, c.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, near, far)
		c.mu.Unlock()
		c.tasks.Go(func() { c.pass(near, far) })
		c.tasks.Go(func() { c.pass(far, near) })
	}
}

func (c *cable) pass(from, to net.Conn) {
	defer func() { _ = to.Close() }() // so that the other direction ends too
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		c.mu.Lock()
		flows := c.flows
		c.mu.Unlock()
		<-flows
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// reaction is how one path was answered.
type reaction struct {
	path, body string
	status     int
	took       time.Duration
}

// askAll asks for all paths at the same time.
func (s *site) askAll(paths ...string) (all []reaction) {
	s.t.Helper()
	var asking sync.WaitGroup
	all = make([]reaction, len(paths))
	for i, path := range paths {
		asking.Go(func() {
			began := time.Now()
			all[i].path = path
			resp, err := http.Get(s.http.URL + path)
			if err != nil {
				s.t.Error(err)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				s.t.Error(err)
			}
			all[i].status, all[i].body, all[i].took = resp.StatusCode, string(text), time.Since(began)
		})
	}
	asking.Wait()
	return all
}

// slowest returns how long the last of the answers took.
func slowest(all []reaction) (took time.Duration) {
	for _, a := range all {
		took = max(took, a.took)
	}
	return took
}

// reads are more pages and calls than there are connections.
var reads = []string{
	"/", "/requests", "/collectors", "/machines", "/github", "/shares", "/waits", "/templates", "/api/v1/status", "/api/v1/queue", "/api/v1/requests",
	"/api/v1/jobs", "/api/v1/alerts", "/api/v1/events?after=0", "/requests/r1", "/api/v1/jobs/j1",
}

// Postgres stands still: it takes connections and answers nothing. Everything that needs it is answered within 3 s more than usual, what
// comes later at once, and soon after its return all is well.
func TestAHungPostgresHangsNoPage(t *testing.T) {
	t.Parallel()
	var line *cable
	s := open(t, func(c *website.Config) {
		var through string
		line, through = newCable(t, pgtest.New(t, "migrated", readmodel.Migrate))
		hasty := readmodel.Patient(patience)
		hasty.Patience = 2 * time.Second // as people get it
		reader, err := readmodel.OpenPools(t.Context(), through, hasty)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(reader.Close)
		c.Reader = reader
	})
	s.until(func() bool { resp, _ := s.get("/requests"); return resp.StatusCode == http.StatusOK })

	// What all of them take at once while Postgres answers is what this machine takes without waiting for it.
	others := append([]string{"/healthz", "/metrics", "/readyz"}, reads...)
	usual := slowest(s.askAll(others...))
	line.stop()
	all := s.askAll(others...)
	for _, a := range all {
		switch a.path {
		case "/healthz", "/metrics":
			if a.status != http.StatusOK {
				t.Errorf("%s: %d %s", a.path, a.status, a.body)
			}
		case "/readyz":
			if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "Postgres does not answer") {
				t.Errorf("%s: %d %s", a.path, a.status, a.body)
			}
		default:
			if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "Postgres does not answer since") || !strings.Contains(a.body, "jobs go on") {
				t.Errorf("%s: %d %s", a.path, a.status, a.body)
			}
		}
	}
	later := s.askAll(reads...)
	for _, a := range later {
		if a.status != http.StatusServiceUnavailable {
			t.Errorf("later %s: %d %s", a.path, a.status, a.body)
		}
	}
	line.run()
	began := time.Now()
	s.until(func() bool { resp, _ := s.get("/requests"); return resp.StatusCode == http.StatusOK })
	back := time.Since(began)
	usual = max(usual, slowest(s.askAll(others...)))
	t.Logf("the slowest of %d was answered after %s and usually after %s, of those later after %s; all was well %s after the return",
		len(others), slowest(all), usual, slowest(later), back)
	if slowest(all) > 3*time.Second+usual || slowest(later) > time.Second+usual || back > 2*time.Second+usual {
		t.Errorf("the first ones took %s, later ones %s, the return %s", slowest(all), slowest(later), back)
	}
}

// Somebody locks a table that pages need. They say so, and hold no connection for long.
func TestALockedTableHangsNoPage(t *testing.T) {
	t.Parallel()
	hasty := readmodel.Patient(patience)
	hasty.LockWithin = 500 * time.Millisecond // as people get it
	s := openPools(t, hasty, nil)
	s.until(func() bool { resp, _ := s.get("/readyz"); return resp.StatusCode == http.StatusOK })
	s.stopProjector() // it would wait for the lock
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	paths := []string{"/requests", "/api/v1/requests", "/api/v1/jobs", "/requests", "/api/v1/requests", "/api/v1/jobs"}
	usual := slowest(s.askAll(paths...)) // what this machine takes without a lock
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE tacho_g1.benchmark_request, tacho_g1.job_queue IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	locked := s.askAll(paths...)
	for _, a := range locked {
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "locked a table") {
			t.Errorf("%s: %d after %s: %s", a.path, a.status, a.took, a.body)
		}
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	usual = max(usual, slowest(s.askAll(paths...)))
	if slowest(locked) > 3*time.Second+usual {
		t.Errorf("the slowest was answered after %s, and usually after %s", slowest(locked), usual)
	}
}

// A long read is ended when its time is over. It says what took too long, and what to do then.
func TestALongReadIsEnded(t *testing.T) {
	t.Parallel()
	hasty := readmodel.Patient(patience)
	hasty.LongWithin = time.Second
	s := openPools(t, hasty, nil)
	st := s.story()
	id := st.master(sha("d"), "", 15)
	st.graph(id)
	s.machines()      // waits for the tables
	s.stopProjector() // it would wait for the lock
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	graphs := "/requests/" + string(id) + "/graphs"
	for _, tc := range []struct{ table, path, what, next string }{
		{"graph", "/api/v1" + graphs, "this read of the graphs of a request took Postgres too long, so it was ended", "/api/v1/jobs?request="},
		{"event", "/api/v1" + graphs + "/0/timings", "this read of the graphs of a request took", "/api/v1/jobs?request="},
		{"event", graphs + "/0/timings", "this read of the graphs of a request took", "/api/v1/jobs?request="},
		{"event", "/api/v1/events?type=request.created.v1", "this read looks through too much of the log", "name a subject or a root"},
		{"job_queue", "/api/v1/waits", "this read of how long jobs waited took", "name a lane, or a shorter window"},
		{"result", "/api/v1/results?suite=go&tag=" + string(sha("a")), "this read of what was measured took", "one suite"},
		{"delivery", "/api/v1/deliveries/1/1", "this read took", "/readyz"},
	} {
		// A read that waits for a lock takes as long as one that has much to do.
		if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE tacho_g1."+tc.table+" IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		if resp, body := s.get(tc.path); resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, tc.what) || !strings.Contains(body, tc.next) {
			t.Errorf("%s: %d %s", tc.path, resp.StatusCode, body)
		}
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}
