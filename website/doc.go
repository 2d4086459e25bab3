// Package website shows the tables to people and programs, and passes their commands to the log.
//
//	browser ──▶ pages ────┐                          ┌──▶ readmodel (SELECT only)
//	            /events ◀─┤  one table of routes     ├──▶ presence: who is heard
//	program ──▶ /api/v1 ──┤  (routes.go), of which   ├──▶ control (appends to the log)
//	            streams ◀─┘  /openapi.json is made   └──▶ the log's head, for /readyz
//
// # Reading
//
// Every page and every answer is one read of the tables, in one snapshot if parts belong together. The
// tables trail the log by milliseconds. A caller that has just written adds `wait_for` with the sequence that the
// write answered, and then sees its effect.
//
// # Many readers
//
// Anybody may read, so what readers have at once is bounded, per address and in total (places.go). Few read at the same
// time. The others wait in one line per address, and the lines are served in turn (turns.go). A request has its turn
// from its first read until its answer is made, and not while the answer is sent:
//
//	place ──▶ wait_for ──▶ turn ──▶ read, make the answer ──▶ end of the turn ──▶ send ──▶ end of the place
//
// A stream has a place as long as it is open, and a turn for each part of the log that it reads. Long reads use
// connections of their own and leave one processor to the pages. A reader that finds no place, or gets no turn in time,
// is told when to come back.
//
// # Live
//
// Pages are complete HTML and work without JavaScript. The script listens to /events, which pings when the
// tables or a heartbeat moved, at most once a second. After a ping the script fetches the page again and changes what
// differs. So a page is rendered in one way only, by the server. A page whose stream is refused
// stays as it is and asks again later.
//
// # Collectors
//
// The log knows that a collector went offline once a part has recorded it. The website knows at once that a heartbeat
// has stopped. What it shows joins the two (see shownState).
//
// # Alerts
//
// Alerts come from the tables, and from the watchdog of the same process if there is one: the tables cannot tell that
// they are late, or that the log is away.
//
// # Writing
//
// Commands need the bearer token of the configuration. If it has none, all commands are refused. The token is
// compared in constant time, never logged and on no page. The API takes no cookies. Reading needs no token. To keep other sites from reading through a browser on this machine, calls
// from this machine by a foreign name are refused (see addressed).
//
// # Sessions
//
// Who logs in with a token, over TLS or on this machine, gets a cookie, and with it the buttons of their own requests:
//
//	/login ── token ──▶ a sealed ticket: account, mark of its token, end ──▶ cookie
//	page   ◀── buttons ── the tables say that the token stands (sessions.go)
//	form   ── its own token ──▶ the log says that the token stands ──▶ control (forms.go)
//
// The ticket is all that there is of a session. It is sealed with a key made from the server's token, so each
// website with that token takes it, now and after a restart. It ends with its account's token, with the server's token,
// or after 12 hours. To log out removes the cookie from the browser and ends no copy of it.
package website
