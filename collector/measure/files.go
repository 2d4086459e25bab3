package measure

import "os"

// FirstFile is the descriptor of the first of a command's Files.
const FirstFile = 3

// Files are open files. An order to a shim has only their number: they come beside it.
type Files []*os.File

// GobEncode implements gob.GobEncoder.
func (f Files) GobEncode() ([]byte, error) { return make([]byte, len(f)), nil }

// GobDecode implements gob.GobDecoder.
func (f *Files) GobDecode(data []byte) error {
	*f = make(Files, len(data))
	return nil
}
