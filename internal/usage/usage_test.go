package usage

import (
	"errors"
	"io/fs"
	"testing"
)

func TestAnErrorKeepsItsCause(t *testing.T) {
	err := Errorf("read the file: %w", fs.ErrNotExist)
	if _, ok := errors.AsType[Error](err); !ok || !errors.Is(err, fs.ErrNotExist) || err.Error() != "read the file: file does not exist" {
		t.Errorf("got %#v", err)
	}
}
