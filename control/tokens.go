package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tachobench/tacho/events"
)

// A token is tokenPrefix and tokenBytes random bytes in the form of base64 for URLs. The prefix tells people and scanners
// of secrets what it is.
const (
	tokenPrefix = "tacho_"
	tokenBytes  = 32
)

// TokenDigest returns the digest of an account's token; false if no token looks like that.
func TokenDigest(token string) (events.Digest, bool) {
	text, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return "", false
	}
	sum := sha256.Sum256([]byte(token))
	return events.Digest(hex.EncodeToString(sum[:])), true
}

// IssueToken makes a token for an account and returns it. The log holds only its digest. A token that the account had
// before ends.
func (c *Control) IssueToken(ctx context.Context, by By, name events.AccountName) (string, Answer, error) {
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return "", Answer{}, fmt.Errorf("make a token: %w", err)
	}
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	digest, _ := TokenDigest(token)
	answer, err := c.onKnownAccount(ctx, by, name, func(known account) ([]events.Fact, error) {
		if err := known.known(name); err != nil {
			return nil, err
		}
		return []events.Fact{events.AccountTokenIssued{Account: name, Digest: digest}}, nil
	})
	if err != nil {
		return "", answer, err
	}
	return token, answer, nil
}

// RevokeToken ends the token of an account. Without a token it records nothing.
func (c *Control) RevokeToken(ctx context.Context, by By, name events.AccountName) (Answer, error) {
	return c.onKnownAccount(ctx, by, name, func(known account) ([]events.Fact, error) {
		if known.token == "" && (known.configured || known.closed) {
			return nil, nil
		}
		if err := known.known(name); err != nil {
			return nil, err
		}
		return []events.Fact{events.AccountTokenRevoked{Account: name}}, nil
	})
}

// AccountOfToken returns the account that has a token; empty when none has. The tables may be late, so the log has the
// last word: a token that was revoked or replaced is never taken.
func (c *Control) AccountOfToken(ctx context.Context, token string) (events.AccountName, error) {
	digest, ok := TokenDigest(token)
	if !ok || c.TokenHolder == nil {
		return "", nil
	}
	name, err := c.TokenHolder(ctx, digest)
	if err != nil || name == "" {
		return "", err
	}
	known, err := c.TokenOf(ctx, name)
	if err != nil || subtle.ConstantTimeCompare([]byte(known), []byte(digest)) != 1 {
		return "", err
	}
	return name, nil
}

// TokenOf returns the digest of the token that an account has now, as the log says; empty if it has none.
func (c *Control) TokenOf(ctx context.Context, name events.AccountName) (events.Digest, error) {
	known, err := accountIn(ctx, c.Log, name)
	return known.token, err
}

// accountIn reads an account outside a decision.
func accountIn(ctx context.Context, from reader, name events.AccountName) (account, error) {
	return stateIn(ctx, from, events.AccountSubject(name), evolveAccount)
}
