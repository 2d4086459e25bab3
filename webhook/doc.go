// Package webhook records GitHub's deliveries in the log, and decides what they ask for.
//
// It has two parts, which know each other only through the log.
//
// The [Receiver] answers GitHub. It first checks the signature, then records the delivery as it came, and answers 202
// once the log has it. It does not interpret a delivery, so nothing that GitHub sends can break it. It calls no other
// service, so it answers in milliseconds. A delivery is one aggregate, created once: a redelivery, in whatever order,
// finds that it exists.
//
// The bot looks at the ledger of its process and handles what was received. It reads the comment, decides on the
// permission, then on the command, and asks GitHub what it must know. It appends everything that follows (a request,
// an answer for the outbox) in one batch with DeliveryHandled on the delivery's own subject. So a delivery is handled
// exactly once, however many bots run and whenever one is killed. Only a wish for more jobs of a request is an append of
// its own: the answer to the comment says what the scheduler made of it. Its key names the comment, so it is made once.
//
// What a crash means at each step: before the append of a delivery, GitHub has no 202, and the Redeliverer asks for
// the delivery again. Between the append and DeliveryHandled, the next bot finds a delivery that is not handled.
// Afterwards everything is in the log, and the reporter posts the comments in the outbox.
package webhook
