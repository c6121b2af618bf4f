package template

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a mapping of the template. Tags are in their long form: !Ref X is
// {"Ref": "X"}.
type object = map[string]any

func parse(text string) (object, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	if len(document.Content) != 1 {
		return nil, errors.New("template is empty")
	}
	root, err := decode(document.Content[0])
	if err != nil {
		return nil, err
	}
	o, ok := root.(object)
	if !ok {
		return nil, errors.New("template is no mapping")
	}
	return o, nil
}

// decode returns n as CloudFormation reads it: scalars without a tag of their own
// by YAML's rules, others as functions.
func decode(n *yaml.Node) (any, error) {
	value, err := plain(n)
	if err != nil {
		return nil, err
	}
	tag, ok := strings.CutPrefix(n.Tag, "!")
	switch {
	case !ok || strings.HasPrefix(tag, "!"):
		return value, nil
	case tag == "Ref" || tag == "Condition":
		return object{tag: value}, nil
	}
	return object{"Fn::" + tag: value}, nil
}

func plain(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(object, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if _, twice := m[name]; twice {
				return nil, fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, name)
			}
			value, err := decode(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[name] = value
		}
		return m, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			value, err := decode(c)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: an alias, which CloudFormation refuses", n.Line)
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return n.Value, nil
	}
	var scalar any
	if err := n.Decode(&scalar); err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	return scalar, nil
}
