package share

const (
	// unit is 1 ms of machine time at weight 1.
	unit = 1024
	// longest bounds a single charge, in milliseconds: 35,000 years. So unit times a charge fits.
	longest = 1 << 50
	// limit bounds starts. The sum of two numbers up to limit fits.
	limit = 1<<62 - 1
	// thousand turns thousandths of a millisecond into milliseconds.
	thousand = 1000
)

// bounded returns ms, at most longest in either direction.
func bounded(ms int64) int64 { return max(min(ms, longest), -longest) }

// cost returns what ms of machine time add to a start at this weight. Each time costs something.
func cost(ms, weight int64) int64 {
	if ms < 0 {
		return -cost(-ms, weight)
	}
	return max(ms*unit/weight, 1)
}

// add returns a + b, at most limit in either direction.
func add(a, b int64) int64 { return max(min(a+b, limit), -limit) }

// The rank orders children with the same start. One that was served has the number of its last turn. One that was not
// has a rank below 0: the number of its join after unserved. So those that were not served come first, in the order in
// which they joined.
const unserved = -1 << 62
