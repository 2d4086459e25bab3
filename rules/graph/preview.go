package graph

// Preview is what would be made for a wish at a moment.
type Preview struct {
	// Jobs are those that would be cloned or run again, as they are now.
	Jobs []Candidate
	// Token names the list (Token).
	Token string
	// Customised says that the jobs are not those that the definitions make, Differs how, in sentences.
	Customised bool
	Differs    []string
	// Refused says why nothing would be made; empty if something would.
	Refused string
}
