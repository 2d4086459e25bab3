package sitetest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tachobench/tacho/blob"
	"github.com/tachobench/tacho/events"
	"github.com/tachobench/tacho/website"
)

// What a job stored is on its page and can be fetched, as a file and never as a page. What is gone says what to do.
func TestOutputsAreFetched(t *testing.T) {
	store := &blob.Memory{}
	st := open(t, func(c *website.Config) { c.Blobs = store }).story()
	j := st.samples(st.child, sha("b"), 1, events.GraphRetrigger, 1)[0]
	token := st.dequeue(j, "amd-1")
	content := bytes.Repeat([]byte("<script>alert(1)</script>"), 20_000)
	o := blob.OutputOf("toolchain", content)
	if err := store.Put(st.ctx, j.Lane(), j.ID, o, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	told := events.OutputStored{Lane: j.Lane(), JobID: j.ID, Collector: "amd-1", Token: token, Attempt: 1, Output: o}
	upload := told
	upload.Name, upload.Upload = "profile", true
	st.tell(told, upload)
	st.shows("/jobs/"+string(j.ID), []string{`<a href="/api/v1/jobs/` + string(j.ID) + `/outputs/toolchain" download>toolchain</a>`, "upload"}, []string{"Stale input"})
	shown, err := st.now().Job(st.ctx, j.ID)
	if err != nil || len(shown.OutputList) != 2 || shown.OutputList[0].Digest != o.Digest || !shown.OutputList[1].Upload {
		t.Fatalf("%v: %+v", err, shown.OutputList)
	}
	var got bytes.Buffer
	if err := st.client.JobOutput(st.ctx, j.ID, "toolchain", &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Fatalf("%d bytes, %v", got.Len(), err)
	}
	at := st.http.URL + "/api/v1/jobs/" + string(j.ID) + "/outputs/toolchain"
	resp, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	h := resp.Header
	if err != nil || h.Get("Content-Disposition") != "attachment; filename="+string(j.ID)+"-toolchain.tar" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Type") != "application/x-tar" || resp.ContentLength != o.Bytes {
		t.Errorf("%v: %v", err, h)
	}
	store.Drop(j.Lane(), o.Digest)
	for name, want := range map[string]string{"toolchain": "not in the store any more", "nothing": "has stored nothing under the name"} {
		err := st.client.JobOutput(st.ctx, j.ID, name, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tacho job ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
