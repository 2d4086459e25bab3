package website

import (
	"net/http"

	"github.com/tachobench/tacho/website/client"
)

// decodeStrict reads exactly one JSON value without unknown fields.
func decodeStrict(data []byte, v any) error {
	if err := client.DecodeStrict(data, v); err != nil {
		return wrong(http.StatusBadRequest, "see /openapi.json for the form", "the body is wrong: %s", err)
	}
	return nil
}
