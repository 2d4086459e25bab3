package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// checkUnits refuses lengths of time that are bare numbers: the decoder would take 30 for 30 nanoseconds.
func checkUnits(text []byte) error {
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return err
	}
	return unitless("", reflect.TypeFor[Config](), all)
}

// unitless looks for numbers in a value of a file where t has durations.
func unitless(key string, t reflect.Type, value any) error {
	switch v := value.(type) {
	case int64:
		if t == reflect.TypeFor[Duration]() {
			return fmt.Errorf("%s: %v has no unit: write it as \"90s\" or \"2h30m\"", key, v)
		}
	case []any:
		for _, item := range v {
			if t.Kind() != reflect.Slice {
				return nil
			}
			if err := unitless(key, t.Elem(), item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range v {
			if t.Kind() != reflect.Struct {
				return nil
			}
			for i := range t.NumField() {
				if !strings.EqualFold(t.Field(i).Tag.Get("toml"), name) {
					continue
				}
				if err := unitless(strings.TrimPrefix(key+"."+name, "."), t.Field(i).Type, item); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
