package fakegithub

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// hook returns the hook of a call: a repository's by its id, or that of the App that makes the call.
func (c *call) hook() *hook {
	if c.repo != nil {
		if h := c.s.hooks[c.number("hook")]; h != nil && h.repository == c.repo {
			return h
		}
		return nil
	}
	for _, h := range c.s.hooks {
		if h.repository == nil && c.actor.app != nil && h.App == c.actor.app.id {
			return h
		}
	}
	return nil
}

// listDeliveries lists the newest first, in pages by cursor.
func listDeliveries(c *call) answer {
	h := c.hook()
	if h == nil {
		return notFound()
	}
	shapes := []object{}
	before, size := c.query("cursor"), c.pageSize()
	for _, d := range slices.Backward(h.deliveries) {
		switch {
		case before != "" && "v1_"+strconv.FormatInt(d.ID, 10) >= before:
			continue
		case c.query("status") == "failure" && d.Delivered(), c.query("status") == "success" && !d.Delivered():
			continue
		case len(shapes) == size:
			last := shapes[size-1]["id"].(int64)
			return answer{
				status: http.StatusOK, body: shapes,
				header: map[string]string{"Link": c.link("next", "cursor", "v1_"+strconv.FormatInt(last, 10))},
			}
		}
		shapes = append(shapes, d.shape(c.s))
	}
	return ok(shapes)
}

func getDelivery(c *call) answer {
	h := c.hook()
	if h == nil {
		return notFound()
	}
	d := h.delivery(c.number("delivery"))
	if d == nil {
		return notFound()
	}
	payload := any(string(d.Payload))
	if json.Valid(d.Payload) {
		payload = json.RawMessage(d.Payload)
	}
	headers := h.headers(d)
	delete(headers, "X-Hub-Signature-256")
	o := d.shape(c.s)
	o["url"] = h.URL
	o["request"] = object{"headers": headers, "payload": payload}
	o["response"] = object{"headers": object{}, "payload": ""}
	return ok(o)
}

// redeliver accepts the order, and answers before it carries the order out.
func redeliver(c *call) answer {
	h := c.hook()
	if h == nil {
		return notFound()
	}
	before := h.delivery(c.number("delivery"))
	if before == nil {
		return notFound()
	}
	d := c.s.newDelivery(h, before.Event, before.Action, before.Payload, before.GUID)
	d.repository = before.repository
	c.afterwards = append(c.afterwards, func() { c.s.send(h, d) })
	return answer{status: http.StatusAccepted, body: object{}}
}

func (d *Delivery) shape(s *Server) object {
	o := object{
		"id": d.ID, "guid": d.GUID, "delivered_at": d.At.Format(time.RFC3339), "redelivery": d.Redelivery, "duration": 0.03,
		"status": d.Status, "status_code": d.StatusCode, "event": d.Event, "action": nil, "installation_id": nil, "repository_id": nil,
		"throttled_at": nil,
	}
	if d.Action != "" {
		o["action"] = d.Action
	}
	if d.repository != nil {
		o["repository_id"] = d.repository.id
	}
	return o
}
