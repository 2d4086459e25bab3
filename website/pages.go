package website

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/tachobench/tacho/readmodel"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// asset is a file that pages refer to.
type asset struct {
	content     []byte
	contentType string
	// version is a hash of the content: a changed file has another address.
	version string
}

// pages are the templates and the files that they refer to.
type pages struct {
	byName map[string]*template.Template
	assets map[string]asset
}

// newPages reads the embedded files. It panics if one cannot be read: this is a fault of the program.
func newPages(clock func() time.Time) *pages {
	p := &pages{byName: map[string]*template.Template{}, assets: map[string]asset{}}
	static, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		panic(fmt.Sprintf("website: static files: %v", err))
	}
	for _, f := range static {
		content, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			panic(fmt.Sprintf("website: static file %s: %v", f.Name(), err))
		}
		sum := sha256.Sum256(content)
		p.assets[f.Name()] = asset{content, mime.TypeByExtension(path.Ext(f.Name())), hex.EncodeToString(sum[:6])}
	}
	layout := template.New("").Funcs(words(clock, p.address))
	template.Must(layout.ParseFS(templateFiles, "templates/layout.html"))
	for _, name := range []string{"status", "queue", "requests", "request", "job", "collectors", "machines", "shares", "waits", "timings", "templates", "template", "compare", "github", "comment", "delivery", "login", "error"} {
		page := template.Must(layout.Clone())
		p.byName[name] = template.Must(page.ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return p
}

func (p *pages) address(name string) string {
	return "/static/" + name + "?v=" + p.assets[name].version
}

// static serves the files. The content at an address with a version never changes.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	a, ok := s.pages.assets[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+a.version+`"`)
	if r.URL.Query().Get("v") == a.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}

// view is what a page shows.
type view struct {
	template, title string
	data            any
	// status is the status of the answer; 0 means 200.
	status int
}

// sheet is a rendered page.
type sheet struct {
	status int
	html   []byte
}

// framed is what the layout shows around a page.
type framed struct {
	Title, Nav, Version string
	// Places are the entries of the navigation.
	Places []place
	Now    time.Time
	Data   any
	// Session is who looks at the page; nil if that is unknown.
	Session *session
	// Login is the address where they can log in; empty if there is no reason to.
	Login string
}

// page makes a handler from a function that reads what a page shows. A common page is made once for all who ask for it
// at the same time and are not logged in. Those who are share what it reads.
func (s *Server) page(e effort, read func(*http.Request) (view, error)) http.Handler {
	printed := func(r *http.Request) (sheet, error) {
		v, err := read(r)
		if err != nil {
			return sheet{}, err
		}
		return s.print(r, v)
	}
	made := func(r *http.Request) (sheet, error) {
		if err := s.begin(r); err != nil {
			return sheet{}, err
		}
		return printed(r)
	}
	if e == common {
		forAll, seen := inCommon(printed), inCommon(read)
		made = func(r *http.Request) (sheet, error) {
			if known, _ := sessionOf(r.Context()); known == nil {
				return forAll(r)
			}
			v, err := seen(r)
			if err != nil {
				return sheet{}, err
			}
			return s.print(r, v)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.refusePage(w, r, wrong(http.StatusMethodNotAllowed, "commands go to the API, see /openapi.json", "a page does not take %s", r.Method))
			return
		}
		var page sheet
		err := illegible()
		if legible(r.URL.Path) {
			r = s.recognised(r)
			page, err = made(r)
		}
		if err != nil {
			s.refusePage(w, r, err)
			return
		}
		s.deliver(w, r, page.status, "text/html; charset=utf-8", page.html)
	})
}

// inCommon lets all who ask at the same time share one read. Such reads need no turn: at most one of each runs.
func inCommon[T any](read func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	all := newShared[T]()
	return func(r *http.Request) (T, error) {
		return all.get(r.Context(), func() (T, error) { return read(r) })
	}
}

// refusePage answers an error as a page.
func (s *Server) refusePage(w http.ResponseWriter, r *http.Request, err error) {
	err = s.blamed(err)
	e, known := explain(err)
	if !known {
		s.fault(r, err)
	}
	page, err := s.print(r, s.refusal(err))
	if err != nil {
		s.fault(r, err)
		http.Error(w, "a fault of Tacho: see the log of the server", http.StatusInternalServerError)
		return
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	later(w.Header(), e)
	s.deliver(w, r, page.status, "text/html; charset=utf-8", page.html)
}

// errorView is an error as its page shows it, with the local alerts.
type errorView struct {
	Heading, Message, Next string
	// Login is set if a token would help.
	Login  bool
	Alerts []readmodel.Alert
}

// refusal returns the page for an error.
func (s *Server) refusal(err error) view {
	e, _ := explain(err)
	heading := http.StatusText(e.Status)
	return view{template: "error", title: heading, status: e.Status, data: errorView{heading, e.Message, e.Next, e.Status == http.StatusUnauthorized, s.local()}}
}

// print renders a whole page before its first byte is sent, so that a fault leaves no half page.
func (s *Server) print(r *http.Request, v view) (sheet, error) {
	var out bytes.Buffer
	shared := s.isShared.Load() || v.status == 0 && s.sharing(r.Context()) // a page about a fault asks nobody
	machines := s.hasMachines.Load() || v.status == 0 && s.peopled(r.Context())
	templates := v.template == "template" || v.status == 0 && s.choosing(r.Context())
	frame := framed{Title: v.title, Nav: section(r.URL.Path), Version: s.Version, Places: navigation(machines, shared, templates), Now: s.Clock(), Data: v.data}
	var known bool
	if frame.Session, known = sessionOf(r.Context()); known && frame.Session == nil && shared && s.commandable() == nil {
		frame.Login = loginFrom(r.URL.Path)
	}
	err := s.pages.byName[v.template].ExecuteTemplate(&out, "layout", frame)
	return sheet{max(v.status, http.StatusOK), out.Bytes()}, err
}

// section returns the entry of the navigation that a path belongs to; "" if there is none.
func section(urlPath string) string {
	for _, p := range navigation(true, true, true) {
		if p.Path != "/" && strings.HasPrefix(urlPath, p.Path) {
			return p.Path
		}
	}
	if urlPath == "/" {
		return "/"
	}
	return ""
}
