package phrase_test

import (
	"fmt"
	"time"

	"github.com/tachobench/tacho/internal/phrase"
)

func ExampleCount() {
	fmt.Println(phrase.Count(0, "job"), phrase.Count(1, "test case"), phrase.Count(2, "test case"))
	// Output: 0 jobs 1 test case 2 test cases
}

func ExampleMoment() {
	fmt.Println(phrase.Moment(time.Date(2026, 11, 22, 18, 4, 5, 9, time.FixedZone("", 3600))))
	// Output: 2026-11-22 17:04:05 UTC
}

func ExampleShort() {
	fmt.Println(phrase.Short("323f521bc6d8f2b966ba7838a3f3ee364e760b7e"), phrase.Short("go1.26.0"), phrase.Short("323f521bc6d8"))
	// Output: 323f521bc6 go1.26.0 323f521bc6d8
}
