package readmodel

// Reused says which run the job took over instead of running; empty if it ran.
func (j Job) Reused() string {
	switch {
	case j.ReusedFrom == "":
		return ""
	case j.ReusedTag == "":
		return "took over from run " + string(j.ReusedFrom)
	}
	return "took over from run " + string(j.ReusedFrom) + " of " + string(j.ReusedTag)
}
