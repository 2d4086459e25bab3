// Package waits says how long jobs waited for machines, and where the time of a request went.
//
// A run is a job that may be measured. It waits from the moment it may run (Ready) until a collector first takes it (Begun).
// The time in which it waits for other jobs never counts. A run hits its target if it waits no longer than that.
//
// All instants are those at which the log stored the events. One server sets them, in the order of the log. The times that
// writers note come from many clocks, which may differ by more than a job waits. Where even the clock of the log steps back,
// the later of two instants counts, so no time is negative.
package waits

// Version is the version of these definitions. Numbers of different versions are no series: a changed definition gets the next
// version.
const Version = 1

// TimelineVersion is Version for timelines. Since 2 the time in which a job is skipped is no part of that in which it is blocked.
const TimelineVersion = 2
