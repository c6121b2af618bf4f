// Package rules moves ALB listener rules: while a group is paused, the weight
// that a rule gives its target group goes to the redirect function's, and comes
// back when the group is resumed.
//
// A rule belongs to who made it: CloudFormation, Terraform, people. They own that
// it is there, its priority, its conditions, and its resting actions. Detour owns
// the weights of its last forward action and the group stickiness beside them,
// and those only while it has moved some of them:
//
//   - What a rule is moved to follows from what it rests on and from the groups
//     paused now, so that pauses of groups that share a rule may be resumed in any
//     order, and the last one leaves the rule as it was. A target group without
//     its weight stays in the action: outside of every rule its targets would no
//     longer be checked.
//   - Before it is moved the first time a rule is tagged with what it rests on.
//     The tags go after the rule is back. A registry that was lost in between
//     does not lose that: the rule is left as it is, and [Options].Restore reads
//     the tags.
//   - Only what Detour could have written is written over. A rule that somebody
//     else has changed is foreign until [Options].Adopt; one that somebody changes
//     back again and again is contested, and then left alone for a time.
//   - A rule is changed in place, by ModifyRule alone, and read back. Deleting and
//     making it anew answers requests in between with 503
//     (kubernetes-sigs/aws-load-balancer-controller#4039).
//
// A rule for large bodies is one like the others, but that it leads to another
// group's target group, since a Lambda function is given no body of more than 1 MB.
// A rule that a service of AWS is about to change ([Config].Busy) is foreign until
// that is over.
//
// The order loses nobody: a rule is moved away only if another node is offered,
// and moved back only when the targets are healthy.
//
// Nothing is kept between two passes but [Memory], which the caller stores, and
// the tags. Two passes at once, a pass cut off anywhere or made twice do no harm:
// each write is what the rule should be, and is made only if the rule is still
// what was judged.
package rules
