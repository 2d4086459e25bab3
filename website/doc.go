// Package website shows the tables to people and programs, and passes their commands to the log.
//
//	browser ──▶ pages ────┐                          ┌──▶ readmodel (SELECT only)
//	            /events ◀─┤  one table of routes     ├──▶ presence: who is heard
//	program ──▶ /api/v1 ──┤  (routes.go), of which   ├──▶ control (appends to the log)
//	            streams ◀─┘  /openapi.json is made   └──▶ the log's head, for /readyz
//
// # Reading
//
// Every page and every answer is one read of the tables, in one snapshot where parts belong together. The
// tables trail the log by milliseconds; whoever has just written adds `wait_for` with the sequence that the
// write answered and sees its effect.
//
// # Many readers
//
// Anybody may read, so what readers have at once is bounded, per address and in all (places.go). Few read at the same
// time; the others wait in lines that are served in turn, address by address (turns.go). A request has its turn from
// its first read until its answer is made, and not while that is sent:
//
//	place ──▶ wait_for ──▶ turn ──▶ read, make the answer ──▶ end of the turn ──▶ send ──▶ end of the place
//
// A stream has a place as long as it is open, and a turn for each part of the log that it reads. What takes long uses
// connections of its own and leaves one processor to the pages. Whoever finds no place, or gets no turn in time, is
// told when to come back.
//
// # Live
//
// Pages are whole HTML and work without JavaScript. The script listens to /events, which pings when the
// tables or a heartbeat moved, at most once a second, fetches the page again and swaps the regions that
// changed. So there is one way to render a page and no second one in the browser. A page whose stream is refused
// stays as it is and asks again later.
//
// # Collectors
//
// The log knows that a collector went offline once somebody has decided so; a heartbeat that ceased is known
// here at once. What is shown joins the two (see shownState).
//
// # Alerts
//
// What needs a person comes from the tables, and from the watchdog of the same process where there is one: that
// the tables are late, or that the log is away, is what tables cannot tell.
//
// # Writing
//
// Commands need the bearer token of the configuration; without one there, all are refused. The token is
// compared in constant time, never logged and on no page; there are no cookies, so no other site can write in
// a visitor's name. Reading needs no token; so that no other site reads through a visitor of this machine, a name
// that is not its own is refused there (see addressed).
package website
