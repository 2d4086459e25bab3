package events

import "fmt"

// CheckVersion reports whether v can name a version of the program. The name becomes a directory, a revision of a
// repository and a part of a URL. At most 128 bytes.
func CheckVersion(v string) error {
	if !tagPattern.MatchString(v) {
		return fmt.Errorf("version %q: use 1 to 128 letters, digits, '.', '_', '+' or '-', starting with a letter or digit, such as v1.2.0 or a commit", v)
	}
	return nil
}
