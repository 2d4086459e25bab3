// Package reporter says on GitHub what is to be said there: exactly one comment for each wish, in effect.
//
// A wish is an event: CommentWanted on a subject of its own, the outbox. The bot of the webhook wishes for answers;
// this package wishes for the one report of each request that ended. Whoever wishes, the reporter then writes:
//
//  1. it appends CommentAttempted, with the last event of the outbox expected, so that one process at a time is at it;
//  2. it looks for a comment of ours with the hidden marker of the wish, in case an attempt before this one had
//     written it and its answer was lost; one with the marker by another account is none, for anybody can write it;
//  3. it creates the comment, or edits the one that stands when the wish has a new text and that one is ours;
//  4. it appends CommentPosted with the number of the comment, then sets labels and appends LabelsSet.
//
// What a crash means at each step: before 1 nothing happened. Between 1 and 3 the next attempt finds no marker and
// writes. Between 3 and 4 it finds the marker and goes on from there. GitHub may fail for hours: each failure is an
// event with the time of the next attempt. A process that was paused between 1 and 3 for so long that another took
// over learns at 4 that it lost, and removes the comment that it wrote, or gives the one that stands its newest
// text again.
//
// Temporary answers about a request are folded away once its report stands, or there will be none. Without
// credentials nothing is written, and the wishes stand in the outbox to be looked at.
package reporter
