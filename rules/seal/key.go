// Package seal signs what collectors execute, and checks the signatures: definitions, and the dispatch of a job.
//
// A person who can write into the log can write any event. A seal shows that an event is also the work of one who has a private
// key, and the log has no private keys. The person or program that publishes definitions seals them, and a scheduler seals each
// dispatch. A collector that enforces seals executes nothing else.
//
// What is signed is one form of bytes (form.go), with a first line of its own for each purpose. So a seal of definitions is never
// one of a dispatch, whatever these hold.
package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tachobench/tacho/events"
)

// The first words of the two texts of a key.
const (
	publicWord  = "tacho-seal-public-1"
	privateWord = "tacho-seal-private-1"
)

// maxText bounds the text of a key, in bytes. A key with the longest name is shorter.
const maxText = 512

// Public is a public key: it checks seals. Its text is one line, "tacho-seal-public-1 ID KEY NAME". The id is a digest of the key,
// so that a slip in copying is found.
type Public struct {
	// ID names the key in seals.
	ID string
	// Name is what people call it. Nothing depends on it.
	Name string
	key  ed25519.PublicKey
}

// String returns the text of the key.
func (k Public) String() string {
	return strings.Join([]string{publicWord, k.ID, base64.StdEncoding.EncodeToString(k.key), k.Name}, " ")
}

// Private is a private key: it makes seals. A nil key makes none.
type Private struct {
	public Public
	key    ed25519.PrivateKey
}

// New returns the key of a seed, which is as secret as the key.
func New(name string, seed [ed25519.SeedSize]byte) (*Private, error) {
	err := events.CheckToken("name of the key", name)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed[:])
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the key has no public half")
	}
	return &Private{public: Public{ID: idOf(public), Name: name, key: public}, key: key}, nil
}

// idOf returns the id of a key.
func idOf(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "k" + hex.EncodeToString(sum[:8])
}

// Public returns the public half.
func (k *Private) Public() Public { return k.public }

// Secret returns the text of the key for its file. Never show it.
func (k *Private) Secret() string {
	return strings.Join([]string{privateWord, k.public.ID, base64.StdEncoding.EncodeToString(k.key.Seed()), k.public.Name}, " ")
}

// Format implements fmt.Formatter: no verb prints the secret.
func (k *Private) Format(s fmt.State, _ rune) {
	text := "no private key"
	if k != nil {
		text = "the private key " + k.public.ID
	}
	_, _ = io.WriteString(s, text) // fmt takes no error
}

// ParsePublic reads the text of a public key.
func ParsePublic(text string) (Public, error) {
	key, id, name, err := parse(text, publicWord)
	switch {
	case err != nil:
		return Public{}, err
	case len(key) != ed25519.PublicKeySize || idOf(key) != id:
		return Public{}, fmt.Errorf("the public key %s is damaged: copy the whole line that `tacho seal key` printed", id)
	}
	return Public{ID: id, Name: name, key: key}, nil
}

// ParsePrivate reads the text of a private key. An error never repeats any of it.
func ParsePrivate(text string) (*Private, error) {
	seed, id, name, err := parse(text, privateWord)
	if err != nil {
		return nil, err
	}
	damaged := errors.New("the private key is damaged: restore its file, or make another key with `tacho seal key`")
	if len(seed) != ed25519.SeedSize {
		return nil, damaged
	}
	k, err := New(name, [ed25519.SeedSize]byte(seed))
	if err != nil || k.public.ID != id {
		return nil, damaged
	}
	return k, nil
}

// parse splits the text of a key. The id and the name are checked, so that they may be shown.
func parse(text, word string) (key []byte, id, name string, err error) {
	if len(text) > maxText {
		return nil, "", "", errors.New("it is no key: it is too long")
	}
	fields := strings.Fields(text)
	switch {
	case len(fields) > 0 && fields[0] == word:
	case len(fields) > 0 && fields[0] == privateWord:
		return nil, "", "", errors.New("it is a private key, and a public one is needed here: `tacho seal show FILE` prints the public one. " +
			"If others could read the private key here, make another one")
	case len(fields) > 0 && fields[0] == publicWord:
		return nil, "", "", errors.New("it is a public key, and a private one is needed here: name the file that `tacho seal key` wrote")
	default:
		return nil, "", "", fmt.Errorf("it is no key: it does not begin with %s", word)
	}
	if len(fields) != 4 || !isID(fields[1]) || events.CheckToken("name", fields[3]) != nil {
		return nil, "", "", fmt.Errorf("it is no key: its form is \"%s ID KEY NAME\"", word)
	}
	key, err = base64.StdEncoding.Strict().DecodeString(fields[2])
	if err != nil {
		return nil, "", "", fmt.Errorf("the key %s is damaged: copy the whole line", fields[1])
	}
	return key, fields[1], fields[3], nil
}

// isID reports whether text has the form of an id.
func isID(text string) bool {
	if len(text) != 17 || text[0] != 'k' || strings.ToLower(text) != text {
		return false
	}
	_, err := hex.DecodeString(text[1:])
	return err == nil
}
