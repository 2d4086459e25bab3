package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// BackupType is the content type of a backup.
const BackupType = "application/gzip"

// CheckLog makes the server compare all of the log with the archive. It returns the report as the server made it.
func (c *Client) CheckLog(ctx context.Context) (json.RawMessage, error) {
	return post[json.RawMessage](ctx, c, "log/check", struct{}{})
}

// Backup writes a backup of the log to w. One that is cut lacks its end, which its reader notices.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.call(ctx, http.MethodPost, "log/backup", nil, struct{}{})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// Scrub says how far the reading of the whole log in the background is.
type Scrub struct {
	// At is the event that it has reached, Of the last one in the tables.
	At uint64 `json:"at"`
	Of uint64 `json:"of"`
	// Passed is when it last came to the end; empty before the first time. Found is what is wrong; empty if nothing is.
	Passed string `json:"passed,omitempty"`
	Found  string `json:"found,omitempty"`
}
