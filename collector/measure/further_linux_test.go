package measure

import "testing"

// Commands of the machine that run beside what is measured make another environment of it; without any it stays what it was.
func TestFurtherSettingsAreOfTheFingerprint(t *testing.T) {
	plain := Environment(t.Context())
	if same := EnvironmentWith(t.Context(), map[string]string{}); same.Fingerprint != plain.Fingerprint {
		t.Error("no settings make another environment")
	}
	other := EnvironmentWith(t.Context(), map[string]string{"before": "drop-caches"})
	if other.Fingerprint == plain.Fingerprint || other.Settings["before"] != "drop-caches" || other.Settings["aslr"] != plain.Settings["aslr"] {
		t.Errorf("got %+v", other)
	}
}
