package cluster

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Ten thousand records are read whenever the epoch moves, in a function that may
// have a fifteenth of a processor. Records as encoding/json writes them are
// therefore read by hand, in a tenth of its time; whatever is written in any
// other way (white space, escapes, unknown members, null) goes to encoding/json,
// so that there is one meaning of a record.

func decodeDescriptor(body string, d *Descriptor) error {
	*d = Descriptor{Weight: DefaultWeight}
	if scan(body, d.member) {
		return nil
	}
	*d = Descriptor{}
	return json.Unmarshal([]byte(body), d)
}

func decodeReport(body string, r *Report) error {
	if scan(body, r.member) {
		return nil
	}
	*r = Report{}
	return json.Unmarshal([]byte(body), r)
}

func decodeFigures(body string, f *Figures) error {
	if scan(body, f.member) {
		return nil
	}
	*f = Figures{}
	return json.Unmarshal([]byte(body), f)
}

func (d *Descriptor) member(name string, s *scanner) {
	switch name {
	case "id":
		d.ID = s.text()
	case "group":
		d.Group = s.text()
	case "generation":
		d.Generation = Generation(s.text())
	case "endpoint":
		d.Endpoint = s.text()
	case "weight":
		d.Weight = s.float()
	case "role":
		d.Role = Role(s.text())
	case "zone":
		d.Zone = s.text()
	case "contexts":
		d.Contexts = s.texts()
	case "routes":
		d.Routes = s.texts()
	case "probe":
		d.Probe = s.text()
	case "target":
		d.Target = s.text()
	case "task":
		d.Task = s.text()
	case "version":
		d.Version = s.text()
	case "pulse_ms":
		d.PulseMS = s.integer()
	case "started_ms":
		d.Started = Millis(s.integer())
	default:
		s.strange = true
	}
}

func (r *Report) member(name string, s *scanner) {
	switch name {
	case "generation":
		r.Generation = Generation(s.text())
	case "status":
		r.Status = Status(s.text())
	case "reason":
		r.Reason = s.text()
	default:
		s.strange = true
	}
}

func (f *Figures) member(name string, s *scanner) {
	switch name {
	case "load":
		f.Load = s.float()
	case "inflight":
		f.InFlight = s.integer()
	case "sessions":
		f.Sessions = s.integer()
	case "arrivals":
		f.Arrivals = s.integer()
	case "last_arrival_ms":
		f.LastArrival = Millis(s.integer())
	case "gap_ms":
		f.Gap = Millis(s.integer())
	case "seen_epoch":
		f.SeenEpoch = s.integer()
	default:
		s.strange = true
	}
}

// scanner reads a JSON object of plain ASCII strings, numbers and lists of
// strings, without white space. Anything else makes it strange: then what was
// read does not count.
type scanner struct {
	rest    string
	strange bool
}

// scan calls member for each member of the object that body is, and reports
// whether it was all plain.
func scan(body string, member func(name string, s *scanner)) bool {
	s := &scanner{rest: body}
	s.take('{')
	for first := true; !s.strange && !s.has('}'); first = false {
		if !first {
			s.take(',')
		}
		name := s.text()
		s.take(':')
		if !s.strange {
			member(name, s)
		}
	}
	s.take('}')
	return !s.strange && s.rest == ""
}

func (s *scanner) has(c byte) bool { return s.rest != "" && s.rest[0] == c }

func (s *scanner) take(c byte) {
	if !s.has(c) {
		s.strange = true
		return
	}
	s.rest = s.rest[1:]
}

// text reads a string without escapes.
func (s *scanner) text() string {
	s.take('"')
	end := strings.IndexByte(s.rest, '"')
	if s.strange || end < 0 {
		s.strange = true
		return ""
	}
	t := s.rest[:end]
	for i := range len(t) {
		if c := t[i]; c < ' ' || c >= 0x7f || c == '\\' {
			s.strange = true
			return ""
		}
	}
	s.rest = s.rest[end+1:]
	return t
}

func (s *scanner) texts() []string {
	s.take('[')
	list := []string{}
	for !s.strange && !s.has(']') {
		if len(list) > 0 {
			s.take(',')
		}
		list = append(list, s.text())
	}
	s.take(']')
	return list
}

// number cuts off what could be a number, and is one if strconv takes it too:
// JSON forbids what strconv does not, leading zeros and bare points (RFC 8259 §6).
func (s *scanner) number() string {
	end := 0
	for end < len(s.rest) && strings.IndexByte("+-.0123456789eE", s.rest[end]) >= 0 {
		end++
	}
	n := s.rest[:end]
	s.rest = s.rest[end:]
	digits := strings.TrimPrefix(n, "-")
	whole := 0
	for whole < len(digits) && '0' <= digits[whole] && digits[whole] <= '9' {
		whole++
	}
	point := strings.IndexByte(digits, '.')
	if whole == 0 || digits[0] == '0' && whole > 1 || point >= 0 && (point+1 == len(digits) || digits[point+1] < '0' || digits[point+1] > '9') {
		s.strange = true
	}
	return n
}

func (s *scanner) integer() int64 {
	n, err := strconv.ParseInt(s.number(), 10, 64)
	s.strange = s.strange || err != nil
	return n
}

func (s *scanner) float() float64 {
	f, err := strconv.ParseFloat(s.number(), 64)
	s.strange = s.strange || err != nil
	return f
}
