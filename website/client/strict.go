package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// DecodeStrict reads exactly one JSON value without unknown fields. Its error is in words, without the names of Go types.
func DecodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return inWords(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func inWords(err error) error {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		if mistyped.Field == "" {
			return errors.New("it must be a JSON object (found: " + mistyped.Value + ")")
		}
		return errors.New("field \"" + mistyped.Field + "\" cannot be a " + mistyped.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON breaks off")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
