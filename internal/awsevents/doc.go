// Package awsevents turns events of AWS into pauses, and what became of them
// back into answers to AWS.
//
// Events come at least once, in any order, and late. So an event is no order to
// do something, but a fact that is merged into the registry's work: under a name
// made from what it is about, so that the same fact, however often and by
// whichever way it comes, is one piece of work. Of a sequence (a task's versions,
// a deployment's states) the later one stays. Pauses are then derived from all the
// work there is, never from the event at hand: the end is the same in whatever
// order things were told. Work that is over is kept for a day, so that a late
// duplicate finds it.
//
// [Handler.Handle] does what must be done at once: it merges, and pauses.
// [Handler.Advance] is a part of each sweep: it looks at what the nodes report,
// completes and lengthens lifecycle actions, answers hooks, resumes, and forgets.
// Nothing waits within a function.
//
// From event to node leads the node's target (EC2 id or IP address) or task, from
// event to group the group's sources. What no node or group has is kept for 15
// minutes, for a node that registers late; nothing is pruned for it, and AWS is
// answered only for Auto Scaling groups that a group names as a source.
//
// A pause that somebody else has put on the same target stays as it is, and so
// does the absence of one that somebody has lifted. Where AWS takes a node away
// anyway it is paused in any case. Where it does not (a rebalance recommendation, a
// deployment of a whole group) it is paused only while somebody stands in.
package awsevents
