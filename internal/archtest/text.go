package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxLines is how long a file may be. A file that holds a single noun is far shorter.
const maxLines = 600

// written are the extensions of the files that people write and read.
var written = []string{".go", ".sql", ".css", ".js", ".html", ".md", ".sh", ".yml", ".yaml", ".conf"}

// Text is one file of the repository.
type Text struct {
	Name    string
	Content string
}

// ReadTexts returns the files that people write: no test data, no build output, no measured programs.
func ReadTexts(root fs.FS) (texts []Text, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata", "node_modules"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		case !slices.Contains(written, path.Ext(name)) && !slices.Contains(unnamed, path.Base(name)):
			return nil
		}
		content, err := fs.ReadFile(root, name)
		texts = append(texts, Text{Name: name, Content: string(content)})
		return err
	})
	return texts, err
}

// unnamed are files without an extension that people write.
var unnamed = []string{"Makefile", "Dockerfile", "run"}

// CheckLengths reports files that are too long, since they hold more than one noun.
func CheckLengths(texts []Text) (problems []Problem) {
	for _, t := range texts {
		if n := strings.Count(t.Content, "\n"); n > maxLines {
			problems = append(problems, Problem{t.Name, fmt.Sprintf("has %d lines, more than %d: split it", n, maxLines)})
		}
	}
	return problems
}

// promise matches the marks of unfinished places. The words are put together here, so that this file has no mark
// itself.
var promise = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

// private matches directories that exist for one person or on one machine.
var private = regexp.MustCompile(`(^|[^\w.~/)}-])/(home|Users|root|work|workspace)/[\w.]+`)

// privateAllowed are directories of that form that many machines have.
var privateAllowed = []string{"/home/linuxbrew"}

// CheckMarks reports marks of unfinished places, and paths of one person's machine.
func CheckMarks(texts []Text) (problems []Problem) {
	for _, t := range texts {
		for i, line := range strings.Split(t.Content, "\n") {
			where := fmt.Sprintf("%s:%d", t.Name, i+1)
			if m := promise.FindString(line); m != "" {
				problems = append(problems, Problem{where, m + " marks unfinished work: do it, or open an issue"})
			}
			for _, m := range private.FindAllString(line, -1) {
				m = m[strings.IndexByte(m, '/'):]
				if !slices.Contains(privateAllowed, m) {
					problems = append(problems, Problem{where, m + " exists on one machine"})
				}
			}
		}
	}
	return problems
}
