package measure

import "testing"

func TestFreeMemoryIsPartOfAll(t *testing.T) {
	free, known := FreeMemory()
	if all := readMachine().memory; !known || free <= 0 || free > all {
		t.Errorf("%d of %d bytes are free, known: %v", free, all, known)
	}
}
