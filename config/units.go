package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// checkUnits returns an error for a duration without a unit: the decoder would take 30 as 30 nanoseconds.
func checkUnits(text []byte) error {
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return err
	}
	return unitless("", reflect.TypeFor[Config](), all)
}

// unitless returns an error if a value of the file has a number where t has a duration.
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
			if t.Kind() == reflect.Map {
				if err := unitless(key+"."+name, t.Elem(), item); err != nil {
					return err
				}
				continue
			}
			if t.Kind() != reflect.Struct {
				return nil
			}
			for i := range t.NumField() {
				if of, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ","); !strings.EqualFold(of, name) {
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
