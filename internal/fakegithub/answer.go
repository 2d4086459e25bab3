package fakegithub

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// object is a JSON object.
type object map[string]any

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

func created(body any) answer { return answer{status: http.StatusCreated, body: body} }

func empty(status int) answer { return answer{status: status} }

// failure returns an error in the form that all errors have.
func failure(status int, message, documentation string) answer {
	return answer{status: status, body: object{
		"message": message, "documentation_url": documentation, "status": strconv.Itoa(status),
	}}
}

func notFound() answer {
	return failure(http.StatusNotFound, "Not Found", "https://docs.github.com/rest")
}

// invalid is the answer to a write that GitHub understands and does not accept.
func invalid(resource, code, name, message string) answer {
	return answer{status: http.StatusUnprocessableEntity, body: object{
		"message":           "Validation Failed",
		"errors":            []object{{"resource": resource, "code": code, "field": name, "message": message}},
		"documentation_url": "https://docs.github.com/rest", "status": "422",
	}}
}

// read decodes the body of a write.
func (c *call) read(into any) *answer {
	if err := json.Unmarshal(c.body, into); err != nil {
		a := failure(http.StatusBadRequest, "Problems parsing JSON", "https://docs.github.com/rest")
		return &a
	}
	return nil
}

// number returns the value of a name in the path; 0 if it is not a number.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.names[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// conditional adds an ETag to an answer. It leaves out the body if the client already has it.
func conditional(c *call, a answer) answer {
	sum := sha256.Sum256(append(encode(a.body), a.header["Link"]...))
	tag := fmt.Sprintf(`W/"%x"`, sum[:16])
	header := map[string]string{"ETag": tag, "Cache-Control": "private, max-age=60, s-maxage=60"}
	for name, value := range a.header {
		header[name] = value
	}
	a.header = header
	for known := range strings.SplitSeq(c.r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(known), "W/") == strings.TrimPrefix(tag, "W/") {
			return answer{status: http.StatusNotModified, header: header}
		}
	}
	return a
}

// page returns the requested part of a list, with the links to the other parts.
func page[T any](c *call, all []T, shape func(T) object) answer {
	size, number := c.pageSize(), max(1, positive(c.query("page"), 1))
	last := max(1, (len(all)+size-1)/size)
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	shapes := make([]object, 0, to-from)
	for _, one := range all[from:to] {
		shapes = append(shapes, shape(one))
	}
	var links []string
	link := func(relation string, to int) {
		links = append(links, c.link(relation, "page", strconv.Itoa(to)))
	}
	if number > 1 {
		link("prev", min(number-1, last))
	}
	if number < last {
		link("next", number+1)
		link("last", last)
	}
	if number > 1 {
		link("first", 1)
	}
	a := ok(shapes)
	if len(links) > 0 {
		a.header = map[string]string{"Link": strings.Join(links, ", ")}
	}
	return a
}

// pageSize returns how many entries a page has: 30 unless the request says otherwise, at most 100.
func (c *call) pageSize() int { return min(positive(c.query("per_page"), 30), 100) }

func positive(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// link returns one entry of the Link header: this request with another value for a key.
func (c *call) link(relation, key, value string) string {
	q := c.r.URL.Query()
	q.Set(key, value)
	u := url.URL{Scheme: "http", Host: c.r.Host, Path: c.r.URL.Path, RawQuery: q.Encode()}
	return fmt.Sprintf(`<%s>; rel="%s"`, u.String(), relation)
}
