// SPDX-License-Identifier: Apache-2.0

// Package overlay puts what documents say into the v1alpha1 document, where both say the same. All that reads a configuration reads the
// result, so that it does not matter in which of the two a setting is.
//
// A field of a document names the key of the v1alpha1 document in a tag:
//
//	Image value.Image `yaml:"image,omitempty" maps:"cluster.apiServer.image"`
//	Enabled *bool     `yaml:"enabled,omitempty" maps:"!cluster.proxy.disabled"` // the opposite
//	URL value.URL     `yaml:"url" like:"cluster.extraManifests"`                // the same, and the document itself puts it there: Overlay
package overlay

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Overlayer is a document of which some fields are put into the v1alpha1 document by code of its own.
type Overlayer interface {
	// Overlay changes the v1alpha1 document. It replaces lists and maps instead of changing them.
	Overlay(main *v1alpha1.Config)
}

// Of returns the v1alpha1 document of a configuration with what its other documents say. It shares values with the configuration, so
// nothing may be changed. Without a v1alpha1 document it returns one that has only what the others say, and false.
func Of(cfg *config.Config) (main *v1alpha1.Config, complete bool) {
	main = &v1alpha1.Config{}

	if own := config.Find[*v1alpha1.Config](cfg); own != nil {
		*main, complete = *own, true
	}

	if cfg == nil {
		return main, complete
	}

	for _, d := range cfg.Documents() {
		if _, own := d.(*v1alpha1.Config); own {
			continue
		}

		fields(reflect.ValueOf(d).Elem(), reflect.ValueOf(main).Elem())

		if o, ok := d.(Overlayer); ok {
			o.Overlay(main)
		}
	}

	return main, complete
}

// fields puts the fields of a struct with a tag into the main document.
func fields(from, main reflect.Value) {
	for _, field := range strict.Fields(from.Type()) {
		value := from.FieldByIndex(field.Index)
		key := field.Tag.Get("maps")

		switch {
		case value.IsZero():
		case key != "":
			set(main, key, value)
		case value.Kind() == reflect.Struct:
			fields(value, main)
		case value.Kind() == reflect.Pointer && value.Elem().Kind() == reflect.Struct:
			fields(value.Elem(), main)
		}
	}
}

// set puts a value under a key of the main document. Structs behind pointers on the way are copied first.
func set(main reflect.Value, key string, value reflect.Value) {
	key, opposite := strings.CutPrefix(key, "!")

	at := main
	for name := range strings.SplitSeq(key, ".") {
		if at.Kind() == reflect.Pointer {
			fresh := reflect.New(at.Type().Elem())
			if !at.IsNil() {
				fresh.Elem().Set(at.Elem())
			}

			at.Set(fresh)
			at = fresh.Elem()
		}

		field, ok := strict.Fields(at.Type())[name]
		if !ok {
			panic("overlay: the v1alpha1 document has no key " + key) // a test sets all
		}

		at = at.FieldByIndex(field.Index)
	}

	if opposite {
		off := !reflect.Indirect(value).Bool()
		at.Set(reflect.ValueOf(&off))

		return
	}

	convert(value, at)
}

// convert sets a value from one of another type.
func convert(from, to reflect.Value) {
	switch {
	case from.Type() == to.Type():
		to.Set(from)
	case from.Kind() == reflect.Pointer:
		convert(from.Elem(), to)
	case to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		convert(from, to.Elem())
	case from.Kind() == reflect.Slice && to.Kind() == reflect.Slice:
		list := reflect.MakeSlice(to.Type(), from.Len(), from.Len())
		for i := range from.Len() {
			convert(from.Index(i), list.Index(i))
		}

		to.Set(list)
	case to.Kind() == reflect.String && from.Kind() != reflect.String:
		text, err := from.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			panic(fmt.Sprintf("overlay: %s: %v", from.Type(), err)) // what was decoded can be encoded
		}

		to.SetString(string(text))
	default:
		to.Set(from.Convert(to.Type()))
	}
}
