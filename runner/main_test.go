package runner_test

import (
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/tachobench/tacho/internal/measure"
)

func TestMain(m *testing.M) {
	if measure.RunShimIfAsked() {
		return
	}
	os.Exit(m.Run())
}

func stats(v []float64) (mean, sd float64) {
	for _, x := range v { mean += x }
	mean /= float64(len(v))
	for _, x := range v { sd += (x-mean)*(x-mean) }
	return mean, math.Sqrt(sd/float64(len(v)-1))
}

func f(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
