package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tachobench/tacho/events"
)

// Definitions seals definitions by their digest; nil without a key. The branch that uses them is not signed: which branch uses what
// is the server's business, so a promotion needs no new seal.
func (k *Private) Definitions(name events.SuiteName, digest events.Digest) *events.Seal {
	if k == nil {
		return nil
	}
	return k.sign(definitionsForm(name, digest))
}

// Dispatch seals a dispatch; nil without a key.
func (k *Private) Dispatch(d events.JobDispatched) *events.Seal {
	if k == nil {
		return nil
	}
	return k.sign(dispatchForm(d.Job.Lane(), d.Place, d.Job))
}

func (k *Private) sign(form []byte) *events.Seal {
	return &events.Seal{Key: k.public.ID, Signature: base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, form))}
}

// Keys are the public keys that are trusted for one purpose, by their id.
type Keys map[string]Public

// ParseKeys reads a list of public keys.
func ParseKeys(texts []string) (Keys, error) {
	keys := Keys{}
	for i, text := range texts {
		k, err := ParsePublic(text)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if _, twice := keys[k.ID]; twice {
			return nil, fmt.Errorf("key %d: %s is there twice", i+1, k.ID)
		}
		keys[k.ID] = k
	}
	return keys, nil
}

// String returns the keys for people, by id and name.
func (k Keys) String() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(k)) {
		out = append(out, id+" ("+k[id].Name+")")
	}
	return strings.Join(out, ", ")
}

// The results of a check of one seal.
var (
	errUnknown = errors.New("the key is not trusted")
	errInvalid = errors.New("the signature is wrong")
)

func (k Keys) check(s events.Seal, form []byte) error {
	public, known := k[s.Key]
	if !known {
		return errUnknown
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(s.Signature)
	if err != nil || !ed25519.Verify(public.key, form, signature) {
		return errInvalid
	}
	return nil
}

// CheckDispatch returns why a dispatch that came on a lane must not be executed; nil if one of the keys sealed it for that lane.
func (k Keys) CheckDispatch(lane events.Lane, d events.JobDispatched) error {
	if d.Seal == nil {
		return errors.New("its dispatch has no seal: give the scheduler a key (scheduler.seal_key), then repair the request, which dispatches the job again")
	}
	err := k.check(*d.Seal, dispatchForm(lane, d.Place, d.Job))
	switch {
	case errors.Is(err, errUnknown):
		return fmt.Errorf("its dispatch is sealed with %s, which is none of this collector's dispatchers: if a scheduler of yours has that key, "+
			"add its public key to collector.dispatchers; else find out who else writes into the log", shownID(d.Seal.Key))
	case err != nil:
		return fmt.Errorf("its dispatch is not what was sealed with key %s: find out who else writes into the log; if the scheduler is newer than this collector, update the collector",
			shownID(d.Seal.Key))
	}
	return nil
}

// CheckDefinitions returns why definitions must not be executed; nil if one of the keys sealed them. seals are all that the log has
// for them.
func (k Keys) CheckDefinitions(name events.SuiteName, digest events.Digest, seals []events.Seal) error {
	if !isDigest(digest) {
		return fmt.Errorf("its definitions %.64q are not named by a digest", digest)
	}
	form := definitionsForm(name, digest)
	var strange, wrong []string
	for _, s := range seals {
		err := k.check(s, form)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errUnknown):
			strange = append(strange, shownID(s.Key))
		default:
			wrong = append(wrong, shownID(s.Key))
		}
	}
	const again = "publish them with a key of a publisher, `tacho suite publish FILE --key KEYFILE`, then repair the request"
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("the seal of its definitions %.12s with key %s is wrong: find out who else writes into the log, and %s", digest, list(wrong), again)
	case len(strange) > 0:
		return fmt.Errorf("its definitions %.12s are sealed with %s, which is none of this collector's publishers: add the public key to collector.publishers, or %s",
			digest, list(strange), again)
	}
	return fmt.Errorf("its definitions %.12s have no seal: %s", digest, again)
}

// CheckContent returns why content is not that of definitions; nil if their digest names it.
func CheckContent(digest events.Digest, content []byte) error {
	sum := sha256.Sum256(content)
	if events.Digest(hex.EncodeToString(sum[:])) == digest {
		return nil
	}
	return fmt.Errorf("its definitions are not what their digest %.12s names: somebody changed them in the log; find out who else writes into it, publish them again, then repair the request", digest)
}

// Text returns a seal as one word: the id of its key, a colon and the signature.
func Text(s events.Seal) string { return s.Key + ":" + s.Signature }

// Parse reads a seal. It checks the form, not the signature: whose keys count is not known here.
func Parse(text string) (events.Seal, error) {
	key, signature, found := strings.Cut(text, ":")
	if !found || !isID(key) || len(text) > maxText {
		return events.Seal{}, errors.New("it is no seal: its form is KEY:SIGNATURE, as `tacho suite publish --key` makes it")
	}
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) != ed25519.SignatureSize || base64.StdEncoding.EncodeToString(raw) != signature {
		return events.Seal{}, fmt.Errorf("it is no seal: a signature has %d bytes in base64", ed25519.SignatureSize)
	}
	return events.Seal{Key: key, Signature: signature}, nil
}

// isDigest reports whether text has the form of a digest.
func isDigest(d events.Digest) bool {
	_, err := hex.DecodeString(string(d))
	return err == nil && len(d) == 2*sha256.Size && strings.ToLower(string(d)) == string(d)
}

// shownID returns the id of a key that others wrote as it may be shown.
func shownID(id string) string {
	if isID(id) {
		return id
	}
	return "a key without a right name"
}

// list returns ids without repetition, at most three of them.
func list(ids []string) string {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:3], ", "), len(ids)-3)
	}
	return strings.Join(ids, ", ")
}
