package measure

import (
	"os"
	"testing"
)

// helperVariable makes the test binary a command that does what its value names.
const helperVariable = "MEASURE_TEST_HELPER"

func TestMain(m *testing.M) {
	if helper := os.Getenv(helperVariable); helper != "" {
		if err := helpers()[helper](); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	if RunShimIfAsked() {
		return
	}
	os.Exit(m.Run())
}
