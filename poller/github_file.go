package poller

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"
)

// Tip implements Files.
func (g *GitHub) Tip(ctx context.Context) (string, error) {
	commits, _, err := g.client.Repositories.ListCommits(ctx, g.owner, g.name, &github.CommitsListOptions{
		SHA: g.branch, ListOptions: github.ListOptions{PerPage: 1},
	})
	switch {
	case err != nil:
		return "", g.explain(err)
	case len(commits) == 0 || commits[0].GetSHA() == "":
		return "", fmt.Errorf("%s/%s has no commits on %s", g.owner, g.name, g.where())
	}
	return commits[0].GetSHA(), nil
}

// At implements Tree.
func (g *GitHub) At(ctx context.Context, commit, path string) (File, error) {
	return g.File(ctx, commit, path)
}

// File implements Files. It walks down the trees: the API of contents would follow a link.
func (g *GitHub) File(ctx context.Context, revision, path string) (File, error) {
	file := File{Revision: revision}
	at := revision
	parts := strings.Split(path, "/")
	for i, name := range parts {
		tree, _, err := g.client.Git.GetTree(ctx, g.owner, g.name, at, false)
		if err != nil {
			return File{}, fmt.Errorf("read %s: %w", path, g.explain(err))
		}
		entry, ok := entryOf(tree, name)
		switch {
		case !ok && tree.GetTruncated():
			return File{}, fmt.Errorf("read %s: %s lists only a part of a directory of it, because it is too large", path, g.client.BaseURL.Host)
		case !ok, i < len(parts)-1 && entry.GetType() != "tree":
			return file.ofMode(path, ""), nil
		}
		at, file.ID = entry.GetSHA(), entry.GetSHA()
		if i < len(parts)-1 {
			continue
		}
		if file = file.ofMode(path, entry.GetMode()); file.Refused != "" {
			return file, nil
		}
		if size := int64(entry.GetSize()); size > mostFile {
			return file.tooLarge(path, size), nil
		}
	}
	data, _, err := g.client.Git.GetBlobRaw(ctx, g.owner, g.name, file.ID)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", path, g.explain(err))
	}
	file.Data = data
	return file, nil
}

func entryOf(tree *github.Tree, name string) (*github.TreeEntry, bool) {
	for _, e := range tree.Entries {
		if e.GetPath() == name {
			return e, true
		}
	}
	return nil, false
}
