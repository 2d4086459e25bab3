package config

import "testing"

func TestRoomIsChecked(t *testing.T) {
	for name, r := range map[string]Room{
		"a mark of 0": {Marks: []int{0}}, "a mark of 100": {Marks: []int{80, 100}}, "marks in disorder": {Marks: []int{90, 80}}, "a negative limit": {DatabaseBytes: -1},
	} {
		if r.check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for _, r := range []Room{defaultRoom(), {}, {Marks: []int{50}, DatabaseBytes: 1 << 40}} {
		if err := r.check(); err != nil {
			t.Error(err)
		}
	}
}
