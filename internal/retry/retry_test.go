package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesGrowAndDoNotEnd(t *testing.T) {
	const first, most = time.Second, time.Minute
	var sum time.Duration
	for n := 1; n <= 50; n++ {
		pause := PauseAfter(n, first, most)
		if pause < first/2 || pause > most*3/2 {
			t.Errorf("pause %d is %v", n, pause)
		}
		sum += pause
	}
	if pause := PauseAfter(50, first, most); pause < most/2 {
		t.Errorf("after 50 tries, which took %v, the pause is %v", sum, pause)
	}
	if pause := PauseAfter(0, first, most); pause > first*3/2 {
		t.Errorf("before any try failed the pause is %v", pause)
	}
}

func TestSleepEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !Sleep(ctx, time.Second) || Sleep(ctx, time.Hour) {
			t.Error("a minute is longer than a second and shorter than an hour")
		}
	})
}
