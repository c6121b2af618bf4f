// Package template holds no code but tests of template.yaml and of the files that
// must agree with it: what SAM and cfn-lint do not see, such as a missing
// DependsOn, a variable that no function reads, an alarm without a runbook.
//
// Each rule is a function of the files' text, so that a second test can break
// them, line by line, and see that the rule notices.
package template
