package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The tags of a rule that is moved.
const (
	clusterTag = "detour:cluster" // the name of the cluster
	groupTag   = "detour:group"   // the groups it was first moved for, for people
	restingTag = "detour:resting" // what it rests on
)

// maxTag is the longest value that a tag may have; its characters may be letters,
// digits, spaces and _ . : / = + - @ ("Tag your AWS resources").
const maxTag = 256

var errTag = errors.New("not a list of target group weights")

// resting is a forward action as a tag tells it: the target groups by id.
type resting struct {
	weights []Weight // TargetGroup is the id
	sticky  int32
}

// id returns the last part of a target group's ARN: 16 hexadecimal digits, by
// which those of one action are told apart.
func id(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// encode returns the tag's text, "<id>=<weight> … sticky=<seconds>". Five target
// groups take at most 120 characters. What cannot be read back is an error.
func encode(f Forward) (string, error) {
	var b strings.Builder
	for _, w := range f.Weights {
		fmt.Fprintf(&b, "%s=%d ", id(w.TargetGroup), w.Weight)
	}
	fmt.Fprintf(&b, "sticky=%d", f.Sticky)
	text := b.String()
	if _, err := decode(text); err != nil {
		return "", fmt.Errorf("tag %.60q: %w", text, err)
	}
	return text, nil
}

// decode reads the text of a tag. It takes only what encode writes.
func decode(text string) (resting, error) {
	if len(text) > maxTag {
		return resting{}, errTag
	}
	words := strings.Split(text, " ")
	var r resting
	seen := make(map[string]bool)
	for _, word := range words[:len(words)-1] {
		name, n, ok := assignment(word, maxWeight)
		if !ok || seen[name] {
			return resting{}, errTag
		}
		seen[name] = true
		r.weights = append(r.weights, Weight{name, n})
	}
	name, n, ok := assignment(words[len(words)-1], maxSticky)
	if !ok || name != "sticky" || len(r.weights) == 0 || len(r.weights) > maxTargetGroups {
		return resting{}, errTag
	}
	r.sticky = n
	return r, nil
}

// assignment reads NAME=NUMBER, the number without a sign or a leading zero.
func assignment(word string, most int) (name string, n int32, ok bool) {
	name, digits, _ := strings.Cut(word, "=")
	value, err := strconv.Atoi(digits)
	if err != nil || value < 0 || value > most || strconv.Itoa(value) != digits || !isID(name) {
		return "", 0, false
	}
	return name, int32(value), true
}

func isID(s string) bool {
	for _, c := range s {
		if !isAlphanumeric(c) && c != '-' {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// forward returns what r tells, with ARNs among those known; ok is false if one of
// its target groups is not.
func (r resting) forward(known []string) (f Forward, ok bool) {
	arns := make(map[string]string)
	for _, arn := range known {
		arns[id(arn)] = arn
	}
	f.Sticky = r.sticky
	for _, w := range r.weights {
		arn, ok := arns[w.TargetGroup]
		if !ok {
			return Forward{}, false
		}
		f.Weights = append(f.Weights, Weight{arn, w.Weight})
	}
	return f, true
}

// names returns as many of the groups' ids as a tag holds, and how many are left.
func names(groups []string) string {
	const more = 12 // characters for the rest
	var b strings.Builder
	for i, g := range groups {
		if b.Len()+1+len(g) > maxTag-more {
			fmt.Fprintf(&b, " +%d", len(groups)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(g)
	}
	return b.String()
}
