// Package webhook takes what GitHub delivers into the log, and decides what it asks for.
//
// It is two things that know each other through the log alone.
//
// The [Receiver] answers GitHub. It checks the signature before anything else, records the delivery as it came
// and answers 202 once the log has it. It understands nothing, so nothing that GitHub sends can break it, and
// it calls nobody, so it answers in milliseconds. A delivery is one aggregate, created once: a redelivery, in
// whatever order, finds it there.
//
// The bot looks at the ledger of its process and handles what was received: it reads the comment, decides on the
// permission, then on the command, asks GitHub what it must know, and appends everything that follows (a request, an
// answer for the outbox) in one batch with DeliveryHandled on the delivery's own subject. So a delivery is handled
// exactly once, however many bots run and whenever one is killed.
//
// What a crash means at each step: before the append of a delivery, GitHub has no 202 and the delivery is asked
// for again. Between it and DeliveryHandled, the next bot finds a delivery that was not handled. Afterwards
// everything is in the log, and the reporter posts what the outbox holds.
package webhook
