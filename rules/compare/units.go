package compare

import (
	"math"
	"strconv"
	"strings"
)

// Format writes a value of the metric for people: seconds as "1.660 s", "17.94 ms" or "3.200 µs", bytes as "70.60 MiB",
// counts as "90,180" or, from a million, "8.760 G". Other units are written after the number.
func (m MetricInfo) Format(value float64) string {
	switch strings.ToLower(m.Unit) {
	case "s", "sec", "second", "seconds":
		return scaled(value, unit{"ns", 1e-9}, unit{"µs", 1e-6}, unit{"ms", 1e-3}, unit{"s", 1})
	case "b", "byte", "bytes":
		return scaled(value, unit{"B", 1}, unit{"KiB", 1 << 10}, unit{"MiB", 1 << 20}, unit{"GiB", 1 << 30}, unit{"TiB", 1 << 40})
	case "", "1", "count":
		return count(value)
	}
	return count(value) + " " + m.Unit
}

// unit is a named multiple of the base unit.
type unit struct {
	name string
	size float64
}

// scaled writes a value in the largest unit in which it is at least 1, else in the smallest. The units are ascending.
// Zero needs no unit.
func scaled(value float64, smallest unit, larger ...unit) string {
	if value == 0 {
		return "0"
	}
	in := smallest
	for _, next := range larger {
		if math.Abs(value) >= next.size {
			in = next
		}
	}
	if in.size == 1 && in == smallest && value == math.Trunc(value) {
		return count(value) + " " + in.name // whole bytes have no decimals
	}
	return digits(value/in.size) + " " + in.name
}

// count writes a number with commas up to a million, and with M, G or T above.
func count(value float64) string {
	if math.Abs(value) >= 1e6 {
		return scaled(value, unit{"M", 1e6}, unit{"G", 1e9}, unit{"T", 1e12})
	}
	if value != math.Trunc(value) {
		return digits(value)
	}
	text := strconv.FormatFloat(math.Abs(value), 'f', 0, 64)
	if n := len(text); n > 3 {
		text = text[:n-3] + "," + text[n-3:]
	}
	if value < 0 {
		text = "-" + text
	}
	return text
}

// digits writes four significant digits, with an exponent only if the number is beyond all units.
func digits(x float64) string {
	switch abs := math.Abs(x); {
	case abs >= 1e6 || abs < 1e-3 && abs > 0:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case abs >= 1000:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case abs >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case abs >= 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// Percent writes a relative value as a percentage, with fewer decimals the larger it is.
func Percent(x float64) string {
	if math.Abs(x) >= 1e4 {
		return strconv.FormatFloat(x, 'g', 3, 64) + "×" // multiplied by 100, a value this large could overflow
	}
	p := x * 100
	switch abs := math.Abs(p); {
	case abs >= 100:
		return strconv.FormatFloat(p, 'f', 0, 64) + "%"
	case abs >= 10:
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	case abs >= 0.1 || abs == 0:
		return strconv.FormatFloat(p, 'f', 2, 64) + "%"
	case abs >= 0.001:
		return strconv.FormatFloat(p, 'f', 3, 64) + "%"
	}
	return strconv.FormatFloat(p, 'g', 1, 64) + "%"
}

// signed writes a relative change with its sign.
func signed(x float64) string {
	if x > 0 {
		return "+" + Percent(x)
	}
	return Percent(x)
}
