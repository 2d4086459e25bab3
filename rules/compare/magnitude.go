package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Magnitude is the size of a change on a scale of five.
type Magnitude int

// The magnitudes, in ascending order.
const (
	VerySmall Magnitude = iota
	Small
	Medium
	Large
	VeryLarge
)

// magnitudeNames returns the stored names, indexed by Magnitude.
func magnitudeNames() []string {
	return []string{"very_small", "small", "medium", "large", "very_large"}
}

// String returns the magnitude in words, such as "very small".
func (m Magnitude) String() string {
	if m < VerySmall || m > VeryLarge {
		return fmt.Sprintf("Magnitude(%d)", int(m))
	}
	return strings.ReplaceAll(magnitudeNames()[m], "_", " ")
}

// MarshalText returns the stored name, such as "very_small".
func (m Magnitude) MarshalText() ([]byte, error) {
	if m < VerySmall || m > VeryLarge {
		return nil, fmt.Errorf("magnitude %d: use 0 (very small) to 4 (very large)", int(m))
	}
	return []byte(magnitudeNames()[m]), nil
}

// UnmarshalText reads a stored name.
func (m *Magnitude) UnmarshalText(text []byte) error {
	i := slices.Index(magnitudeNames(), string(text))
	if i < 0 {
		return fmt.Errorf("unknown magnitude %q: use one of %s", text, strings.Join(magnitudeNames(), ", "))
	}
	*m = Magnitude(i)
	return nil
}

// negligible is the relative change below which the magnitude is always very small.
const negligible = 0.0001

// magnitude returns the magnitude of a relative change: the average, rounded down, of two scales: its size over the
// threshold and its size in percent. An exact metric has no threshold, so only the size in percent decides.
func magnitude(change, threshold float64, class Class) Magnitude {
	size := math.Abs(change)
	if size < negligible {
		return VerySmall
	}
	double := 2.0
	if class == Exact || class == Count {
		double = 1
	}
	inPercent := bucket(size/double, 0.002, 0.01, 0.02, 0.05)
	if threshold <= 0 {
		return inPercent
	}
	overThreshold := bucket(size/threshold, 1.5, 3, 6, 12)
	return (overThreshold + inPercent) / 2
}

// bucket returns how many of the ascending bounds x has reached.
func bucket(x float64, bounds ...float64) Magnitude {
	m := VerySmall
	for _, bound := range bounds {
		if x >= bound {
			m++
		}
	}
	return m
}
