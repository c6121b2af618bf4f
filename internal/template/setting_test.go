package template

import (
	"fmt"
	"regexp"
	"strings"
)

// setting is a house with values for its parameters. Whatever is not in values
// has its default; a resource's reference is its own name.
type setting struct {
	house
	values map[string]any // by name, or NAME.ATTRIBUTE
}

// standard are values of the parameters that have no default, and of AWS's own.
var standard = map[string]any{
	"VpcId": "vpc-1", "SubnetIds": []any{"subnet-1", "subnet-2"},
	"ListenerArn":    "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/lb/1a/2b",
	"AWS::Partition": "aws", "AWS::Region": "eu-west-1", "AWS::AccountId": "123456789012", "AWS::StackName": "UPPER",
	"AWS::StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/UPPER/51af3dc0-da77-11e4-872e-1234567db123",
	"AWS::NoValue": nil, "Cache.Endpoint.Address": "cache.example.com", "Cache.Endpoint.Port": "6379",
}

// with returns h with values over the standard ones, in pairs.
func (h house) with(pairs ...any) setting {
	s := setting{h, make(map[string]any)}
	for k, v := range standard {
		s.values[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		s.values[pairs[i].(string)] = pairs[i+1]
	}
	return s
}

// value returns v with its functions carried out. What is AWS::NoValue is left out
// of mappings and lists.
func (s setting) value(v any) any {
	switch v := v.(type) {
	case object:
		if len(v) == 1 {
			for name, arg := range v {
				if got, ok := s.function(name, arg); ok {
					return got
				}
			}
		}
		all := make(object, len(v))
		for name, member := range v {
			if got := s.value(member); got != nil {
				all[name] = got
			}
		}
		return all
	case []any:
		all := make([]any, 0, len(v))
		for _, member := range v {
			if got := s.value(member); got != nil {
				all = append(all, got)
			}
		}
		return all
	}
	return v
}

func (s setting) function(name string, arg any) (any, bool) {
	switch name {
	case "Ref":
		return s.ref(fmt.Sprint(arg)), true
	case "Fn::GetAtt":
		return s.ref(fmt.Sprint(arg)), true
	case "Fn::If":
		if s.condition(section(s.house, "Conditions")[fmt.Sprint(at(arg, 0))]) {
			return s.value(at(arg, 1)), true
		}
		return s.value(at(arg, 2)), true
	case "Fn::Sub":
		return s.substitute(arg), true
	case "Fn::Split":
		var parts []any
		for _, part := range strings.Split(fmt.Sprint(s.value(at(arg, 1))), fmt.Sprint(at(arg, 0))) {
			parts = append(parts, part)
		}
		return parts, true
	case "Fn::Select":
		index, _ := at(arg, 0).(int)
		return at(s.value(at(arg, 1)), index), true
	case "Fn::Join":
		return strings.Join(texts(s.value(at(arg, 1))), fmt.Sprint(at(arg, 0))), true
	}
	return nil, false
}

func (s setting) ref(name string) any {
	if v, ok := s.values[name]; ok {
		return v
	}
	p, ok := s.parameters()[name].(object)
	if !ok {
		return name
	}
	if p["Type"] == "CommaDelimitedList" {
		return []any{p["Default"]}
	}
	return p["Default"]
}

var variable = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

func (s setting) substitute(arg any) string {
	text, local := arg, object(nil)
	if list, ok := arg.([]any); ok {
		text = at(list, 0)
		local, _ = at(list, 1).(object)
	}
	return variable.ReplaceAllStringFunc(fmt.Sprint(text), func(v string) string {
		name := v[2 : len(v)-1]
		if member, ok := local[name]; ok {
			return fmt.Sprint(s.value(member))
		}
		return fmt.Sprint(s.ref(name))
	})
}

func (s setting) condition(v any) bool {
	o, _ := v.(object)
	for name, arg := range o {
		switch name {
		case "Fn::Equals":
			return fmt.Sprint(s.value(at(arg, 0))) == fmt.Sprint(s.value(at(arg, 1)))
		case "Fn::Not":
			return !s.condition(at(arg, 0))
		case "Fn::And":
			return s.condition(at(arg, 0)) && s.condition(at(arg, 1))
		case "Condition":
			return s.condition(section(s.house, "Conditions")[fmt.Sprint(arg)])
		}
	}
	return false
}

// texts returns a list's members, or a single value, as text.
func texts(v any) (all []string) {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	for _, member := range list {
		all = append(all, fmt.Sprint(member))
	}
	return all
}
