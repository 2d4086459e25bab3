// Package reporter writes the wanted comments on GitHub: in effect exactly one comment for each wish.
//
// A wish is an event: CommentWanted on a subject of its own, the outbox. The bot of the webhook wishes for answers;
// this package wishes for the one report of each request that ended. The reporter writes the comments of all wishes:
//
//  1. it appends CommentAttempted, with the last event of the outbox expected, so that only one process at a time writes;
//  2. it looks for a comment of ours with the hidden marker of the wish, in case an earlier attempt wrote it and lost
//     GitHub's answer; a comment with the marker by another account does not count, since anyone can write the marker;
//  3. it creates the comment, or edits the existing one if the wish has a new text and that comment is ours;
//  4. it appends CommentPosted with the number of the comment, then sets labels and appends LabelsSet.
//
// What a crash means at each step: before 1 nothing happened. Between 1 and 3 the next attempt finds no marker and
// writes. Between 3 and 4 it finds the marker and continues from there. GitHub may fail for hours: each failure is an
// event with the time of the next attempt. If a process pauses between 1 and 3 for so long that another one takes
// over, its append at 4 fails. It then removes the comment that it wrote, or edits the existing one back to its
// newest text.
//
// The reporter folds temporary answers about a request away once the request's report is posted, or is certain not to
// come. Without credentials it writes nothing, and people can read the wishes in the outbox.
package reporter
