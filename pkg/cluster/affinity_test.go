package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnAffinityThatCannotWorkIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		affinity Affinity
		ok       bool
	}{
		"none":                    {Affinity{}, true},
		"a cookie and a format":   {Affinity{Cookie: "__Host-SID.1", Format: "weblogic", Strict: true, ExpireDead: true}, true},
		"a cookie with a space":   {Affinity{Cookie: "S ID"}, false},
		"a cookie that adds more": {Affinity{Cookie: "SID;a"}, false},
		"a line break":            {Affinity{Cookie: "SID\r\n"}, false},
		"a format nobody knows":   {Affinity{Format: "tomcat"}, false},
	} {
		err := (&Group{ID: "blue", Affinity: c.affinity}).Check()
		if c.ok {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorIs(t, err, ErrInvalid, name)
		}
	}
}
