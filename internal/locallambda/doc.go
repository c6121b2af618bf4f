// Package locallambda runs a Lambda function's real binary on this machine the
// way AWS Lambda does: some copies of it (execution environments), each behind
// a Runtime API of its own, serving one invocation at a time and frozen in
// between.
//
// The protocol is that of "Using the Lambda runtime API for custom runtimes",
// the life of a copy that of "Understanding the Lambda execution environment
// lifecycle", both in the AWS Lambda Developer Guide. Of Lambda's own it leaves
// out extensions, response streaming and the second try after a failed start.
package locallambda
