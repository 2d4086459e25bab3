package website

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// decodeStrict reads exactly one JSON value without unknown fields.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return wrong(http.StatusBadRequest, "see /openapi.json for the form", "the body is wrong: %s", inWords(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return wrong(http.StatusBadRequest, "send one JSON value", "the body is wrong: something follows the JSON value")
	}
	return nil
}

// inWords returns an error of decoding in words, without the names of Go types.
func inWords(err error) string {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		if mistyped.Field == "" {
			return "it must be a JSON object and not a " + mistyped.Value
		}
		return "field \"" + mistyped.Field + "\" cannot be a " + mistyped.Value
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON breaks off"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
