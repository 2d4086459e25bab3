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

func ExampleAre() {
	fmt.Println(phrase.Are(1, "job"), phrase.Are(2, "job"))
	// Output: 1 job is 2 jobs are
}

func ExampleVerb() {
	fmt.Println(phrase.Verb(0, "was", "were"), phrase.Verb(1, "was", "were"), phrase.Verb(2, "was", "were"))
	// Output: were was were
}

func ExampleMoment() {
	fmt.Println(phrase.Moment(time.Date(2026, 11, 22, 18, 4, 5, 9, time.FixedZone("", 3600))))
	// Output: 2026-11-22 17:04:05 UTC
}

func ExampleDuration() {
	for _, d := range []time.Duration{
		0, 350 * time.Millisecond, 3500 * time.Millisecond, 9 * time.Second, 12700 * time.Millisecond, 125 * time.Second,
		time.Hour, 47*time.Hour + 59*time.Minute, 76 * time.Hour,
	} {
		fmt.Println(phrase.Duration(d))
	}
	// Output:
	// 0 ms
	// 350 ms
	// 3.5 s
	// 9 s
	// 12 s
	// 2 min 5 s
	// 1 h
	// 47 h 59 min
	// 3 d 4 h
}

func ExampleShort() {
	fmt.Println(phrase.Short("323f521bc6d8f2b966ba7838a3f3ee364e760b7e"), phrase.Short("go1.26.0"), phrase.Short("323f521bc6d8"))
	// Output: 323f521bc6 go1.26.0 323f521bc6d8
}

func ExampleThousands() {
	fmt.Println(phrase.Thousands(0), phrase.Thousands(999), phrase.Thousands(-1000), phrase.Thousands(1073741824))
	// Output: 0 999 -1,000 1,073,741,824
}

func ExampleBytes() {
	for _, n := range []int64{0, 1023, 1536, 20 << 30} {
		fmt.Println(phrase.Bytes(n))
	}
	// Output:
	// 0 B
	// 1023 B
	// 1.5 KiB
	// 20 GiB
}
