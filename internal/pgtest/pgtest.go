// Package pgtest gives every test a fresh PostgreSQL database.
//
// Each test binary has one server. It starts when the first test asks for it, and Main stops it. So a package
// that uses New has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// A template database is prepared once, for example by migrations. Each test gets a copy of it, which takes some
// twenty milliseconds in memory. The copy is dropped when the test ends. TACHO_TEST_DATABASE_URL may
// name an outside server instead; its user must be allowed to make databases. Each test binary begins the names of its
// databases with words of its own, so that several may share that server.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tachobench/tacho/internal/pgserver"
	"github.com/tachobench/tacho/internal/scratch"
)

// patience bounds each step that talks to the server, so that a stuck step fails the test with a name. A machine that has much else
// to do needs minutes.
const patience = 5 * time.Minute

// binary is the server of this test binary. It must be a variable of the package: tests reach it only through New, and
// New gets only the test.
var binary shared

// Main runs the tests and then stops the server, if one was started. It returns the code to exit with, which
// is not 0 if a test fails or the server cannot be stopped.
func Main(m *testing.M) int {
	binary.open()
	code := m.Run()
	if err := binary.close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	return code
}

// New makes a database for one test and returns its URL. It is a copy of what prepare made. prepare runs once
// for each name of a template and must close its connections; a nil prepare leaves the database empty.
// The database is dropped when the test ends, even while connections to it are open. Any error fails
// the test.
func New(t testing.TB, template string, prepare func(ctx context.Context, url string) error) string {
	t.Helper()
	s, err := binary.get()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	from, err := s.template(template, prepare)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	name := s.fresh()
	if err := s.exec("CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(from) + s.files); err != nil {
		t.Fatalf("pgtest: copy template %s: %v", template, err)
	}
	t.Cleanup(func() {
		if err := s.drop(name); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return s.url(name)
}

// shared starts a server at the first request.
type shared struct {
	mu     sync.Mutex
	opened bool // Main runs
	server *server
	err    error // why there is no server; the first failure fails every test
}

func (b *shared) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = true
}

func (b *shared) get() (*server, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.opened {
		return nil, errors.New("nobody would stop the server: write `func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }`")
	}
	if b.server == nil && b.err == nil {
		b.server, b.err = start()
	}
	return b.server, b.err
}

func (b *shared) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return nil
	}
	return b.server.stop()
}

// server is a PostgreSQL and the databases that this test binary has in it.
type server struct {
	admin url.URL          // of a database that is always there
	child *pgserver.Server // nil if the server is an outside one
	dir   string           // of the child
	words string           // the beginning of every database's name
	files string           // the end of the statement that copies a database, so that it copies files

	// conn is for the statements about databases; nil before the first, and after it broke. busy guards it. A process of the server
	// for each statement would cost more than most of them.
	busy sync.Mutex
	conn *pgx.Conn

	mu        sync.Mutex
	count     int
	templates map[string]*template
}

// template is a database that tests copy.
type template struct {
	once sync.Once
	name string
	err  error
}

func start() (*server, error) {
	s := &server{words: "tacho_test_" + strings.ToLower(rand.Text()[:8]) + "_", templates: map[string]*template{}}
	if outside := os.Getenv("TACHO_TEST_DATABASE_URL"); outside != "" {
		err := s.name(outside)
		if err == nil {
			err = s.choose()
		}
		if err != nil {
			return nil, fmt.Errorf("TACHO_TEST_DATABASE_URL: %w", err)
		}
		return s, nil
	}
	dir, err := scratch.Dir()
	if err != nil {
		return nil, err
	}
	config := pgserver.Config{Dir: dir, BinDir: os.Getenv("TACHO_PG_BIN"), Fast: true}
	if cache, err := os.UserCacheDir(); err == nil { // without a home, a fetched PostgreSQL is kept beside dir
		config.Cache = filepath.Join(cache, "tacho")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the first of all may fetch PostgreSQL
	defer cancel()
	child, err := pgserver.Start(ctx, config)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.child, s.dir = child, dir
	err = s.name(child.URL())
	if err == nil {
		err = s.choose()
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// choose chooses how databases are copied. Since PostgreSQL 15 a copy goes through the log of the server, page by page, unless
// the statement says otherwise. That takes three times the work for tables as small as these.
func (s *server) choose() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.busy.Lock()
	defer s.busy.Unlock()
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	var since15 bool
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int >= 150000").Scan(&since15)
	if since15 {
		s.files = " STRATEGY FILE_COPY"
	}
	return err
}

// connected returns the connection for statements about databases. The caller holds busy.
func (s *server) connected(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	var err error
	s.conn, err = pgx.Connect(ctx, s.admin.String())
	return s.conn, err
}

// name sets the URL from which all others are made.
func (s *server) name(admin string) error {
	u, err := url.Parse(admin)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("a server is named like postgres://user@host/database")
	}
	s.admin = *u
	return nil
}

func (s *server) stop() error {
	var errs []error
	if s.child == nil {
		for _, t := range s.templates {
			errs = append(errs, s.drop(t.name))
		}
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close(context.Background()))
	}
	if s.child != nil {
		errs = append(errs, s.child.Stop(context.Background()), os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// template returns the name of the database of a template. The first caller makes it; the others
// wait, and share its failure.
func (s *server) template(name string, prepare func(ctx context.Context, url string) error) (string, error) {
	s.mu.Lock()
	t := s.templates[name]
	if t == nil {
		t = &template{name: s.words + "template_" + fmt.Sprint(len(s.templates))}
		s.templates[name] = t
	}
	s.mu.Unlock()
	t.once.Do(func() { t.err = s.prepare(t.name, prepare) })
	if t.err != nil {
		return "", fmt.Errorf("prepare template %s: %w", name, t.err)
	}
	return t.name, nil
}

func (s *server) prepare(name string, prepare func(ctx context.Context, url string) error) error {
	// template0 is the only one that takes no connections.
	if err := s.exec("CREATE DATABASE " + quote(name) + " TEMPLATE template0"); err != nil {
		return err
	}
	if prepare != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := prepare(ctx, s.url(name)); err != nil {
			return err
		}
	}
	// A template with a connection cannot be copied. From here on not even autovacuum can connect.
	return s.exec("ALTER DATABASE " + quote(name) + " ALLOW_CONNECTIONS false")
}

// fresh returns a name that no database has.
func (s *server) fresh() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.words + fmt.Sprint(s.count)
}

func (s *server) drop(name string) error {
	if err := s.exec("DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the database: %w", err)
	}
	return nil
}

// exec runs one statement outside a transaction, as making and dropping databases requires.
func (s *server) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.busy.Lock()
	defer s.busy.Unlock()
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return err
}

func (s *server) url(name string) string {
	u := s.admin
	u.Path = "/" + name
	return u.String()
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
