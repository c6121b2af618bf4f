package doctor

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Wrong   Severity = "wrong"   // users suffer, or will at the next pause
	Warning Severity = "warning" // works, but not as one would want
	Note    Severity = "note"    // good to know
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	About    string   `json:"about,omitempty"` // node:ID, group:ID, a pause's target, an ARN or a variable; empty is the whole
	What     string   `json:"what"`
	Do       string   `json:"do"`
}

// Skipped is a check that was not made.
type Skipped struct {
	Check string `json:"check"`
	Why   string `json:"why"`
}

// Report is all that was found.
type Report struct {
	Wrong    int       `json:"wrong"`    // how many findings of that severity there are
	Warnings int       `json:"warnings"` // likewise
	Notes    int       `json:"notes"`    // likewise
	Checked  int       `json:"checked"`  // how many checks were made
	Findings []Finding `json:"findings"` // in the order of the checks
	Skipped  []Skipped `json:"skipped"`  // checks that were not made
}

func (r *Report) add(f Finding) {
	switch f.Severity {
	case Wrong:
		r.Wrong++
	case Warning:
		r.Warnings++
	case Note:
		r.Notes++
	}
	r.Findings = append(r.Findings, f)
}
