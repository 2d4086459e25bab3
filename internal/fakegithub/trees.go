package fakegithub

import (
	"crypto/sha1" //nolint:gosec // git names content by it
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// File is an entry of a commit's tree that is no directory. An empty Mode is an ordinary file ("100644"); a symbolic link
// has "120000" and its target as content, a submodule "160000".
type File struct{ Mode, Content string }

// Files returns a tree of ordinary files.
func Files(contents map[string]string) map[string]File {
	files := map[string]File{}
	for path, content := range contents {
		files[path] = File{Content: content}
	}
	return files
}

// hash names content as git does.
func hash(kind, content string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)))
}

// entries returns the entries of a directory of a tree, by name. The directory is "" or ends in a slash.
func entries(files map[string]File, dir string) []object {
	var out []object
	last := ""
	for _, path := range slices.Sorted(maps.Keys(files)) {
		rest, inside := strings.CutPrefix(path, dir)
		name, _, deeper := strings.Cut(rest, "/")
		if !inside || name == last {
			continue
		}
		last = name
		entry := object{"path": name, "mode": "100644", "type": "blob", "sha": hash("blob", files[path].Content), "size": len(files[path].Content)}
		switch mode := files[path].Mode; {
		case deeper:
			entry = object{"path": name, "mode": "040000", "type": "tree", "sha": treeHash(files, dir+name+"/")}
		case mode == "160000":
			entry = object{"path": name, "mode": mode, "type": "commit", "sha": hash("commit", files[path].Content)}
		case mode != "":
			entry["mode"] = mode
		}
		out = append(out, entry)
	}
	return out
}

// treeHash returns a name for a directory that changes with everything in it.
func treeHash(files map[string]File, dir string) string {
	return hash("tree", fmt.Sprint(entries(files, dir)))
}

// directory returns the entries of the directory that a commit or the hash of a tree names.
func (r *repository) directory(name string) (list []object, found bool) {
	if c := r.resolve(name); c != nil {
		return entries(c.Files, ""), true
	}
	for _, c := range r.commits {
		dirs := map[string]bool{"": true}
		for path := range c.Files {
			for i, b := range path {
				if b == '/' {
					dirs[path[:i+1]] = true
				}
			}
		}
		for dir := range dirs {
			if treeHash(c.Files, dir) == name {
				return entries(c.Files, dir), true
			}
		}
	}
	return nil, false
}

func getTree(c *call) answer {
	list, found := c.repo.directory(c.names["sha"])
	if !found {
		return notFound()
	}
	return ok(object{"sha": c.names["sha"], "url": c.repo.url("/git/trees/" + c.names["sha"]), "tree": list, "truncated": false})
}

// getBlob answers with the bytes alone. The form in JSON is not modelled.
func getBlob(c *call) answer {
	for _, commit := range c.repo.commits {
		for _, f := range commit.Files {
			if f.Mode != "160000" && hash("blob", f.Content) == c.names["sha"] {
				if !strings.Contains(c.r.Header.Get("Accept"), "raw") {
					return failure(http.StatusNotAcceptable, "this fake has blobs in the raw form only", "https://docs.github.com/rest/git/blobs")
				}
				return answer{status: http.StatusOK, header: map[string]string{"Content-Type": "application/vnd.github.raw; charset=utf-8"}, body: f.Content}
			}
		}
	}
	return notFound()
}
