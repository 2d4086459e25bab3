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
	"strconv"
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
	// version is made of the content: a changed file has another address.
	version string
}

// pages are the templates and the files that they refer to.
type pages struct {
	byName map[string]*template.Template
	assets map[string]asset
}

// newPages reads what is embedded. A file that cannot be read is a fault of the program.
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
	for _, name := range []string{"status", "requests", "request", "job", "collectors", "compare", "github", "comment", "delivery", "error"} {
		page := template.Must(layout.Clone())
		p.byName[name] = template.Must(page.ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return p
}

func (p *pages) address(name string) string {
	return "/static/" + name + "?v=" + p.assets[name].version
}

// static serves the files. An address with a version never changes its content.
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
	// status is that of the answer; 0 is 200.
	status int
}

// framed is what the layout shows around a page.
type framed struct {
	Title, Nav, Version string
	Now                 time.Time
	Data                any
}

// page makes a handler of a function that reads what a page shows.
func (s *Server) page(read func(*http.Request) (view, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.show(w, r, s.refusal(wrong(http.StatusMethodNotAllowed, "commands go to the API, see /openapi.json", "%s cannot be done to a page", r.Method)))
			return
		}
		var v view
		err := illegible()
		if legible(r.URL.Path) {
			v, err = read(r)
		}
		if err != nil {
			if _, known := explain(err); !known {
				s.fault(r, err)
			}
			v = s.refusal(err)
		}
		s.show(w, r, v)
	})
}

// errorView is an error as its page shows it, with what is known to be wrong.
type errorView struct {
	Heading, Message, Next string
	Alerts                 []readmodel.Alert
}

// refusal is the page that says an error.
func (s *Server) refusal(err error) view {
	e, _ := explain(err)
	heading := http.StatusText(e.Status)
	return view{template: "error", title: heading, status: e.Status, data: errorView{heading, e.Message, e.Next, s.local()}}
}

// show renders a page whole before it sends the first byte, so that a fault is no half page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, v view) {
	var out bytes.Buffer
	err := s.pages.byName[v.template].ExecuteTemplate(&out, "layout", framed{
		Title: v.title, Nav: section(r.URL.Path), Version: s.Version, Now: s.Clock(), Data: v.data,
	})
	if err != nil {
		s.fault(r, err)
		http.Error(w, "a fault of Tacho: see the log of the server", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(out.Len()))
	w.WriteHeader(max(v.status, http.StatusOK))
	_, _ = out.WriteTo(w) // whoever asked may have left
}

// section is the entry of the navigation that a path belongs to.
func section(urlPath string) string {
	for _, p := range navigation() {
		if p.Path != "/" && strings.HasPrefix(urlPath, p.Path) {
			return p.Path
		}
	}
	if urlPath == "/" {
		return "/"
	}
	return ""
}
