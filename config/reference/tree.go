// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/effects"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// Kind describes a kind of documents.
type Kind struct {
	Name         string // v1alpha1 for the main document
	About        string
	Example      string
	ControlPlane bool
	Protects     bool
	Replaces     []string
	Keys         []Key
	Type         reflect.Type
}

// Key describes a key of a document.
type Key struct {
	Path  string // addresses[].address
	Name  string // address
	About string
	// Type is what the value is, for people: "a number", "a list of objects".
	Type     string
	Values   []string // of an enum
	Required bool
	// Least and Most are the limits of a number with Limited.
	Limited     bool
	Least, Most int64
	// Effective reports whether this version reads the key. One that is not read gives a warning, or is refused if it protects.
	Effective, Protects bool
}

// Kinds describes all kinds, the main document first.
func Kinds() []Kind {
	all := []Kind{describe(document.Kind{Name: v1alpha1.Version, New: func() document.Document { return &v1alpha1.Config{} }}, "")}

	for _, name := range config.Kinds() {
		kind, _ := config.KindOf(name)
		all = append(all, describe(kind, name))
	}

	for _, k := range all {
		objects(k.Keys)
	}

	return all
}

// objects says of keys with others below them that they have no effect if none of these has one. The keys come before those below them.
func objects(keys []Key) {
	for i := range keys {
		within := keys[i+1:]
		below := func(k Key) bool {
			return strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(k.Path, keys[i].Path), "[]"), ".")
		}

		if end := slices.IndexFunc(within, func(k Key) bool { return !below(k) }); end >= 0 {
			within = within[:end]
		}

		if len(within) > 0 && !slices.ContainsFunc(within, func(k Key) bool { return k.Effective }) {
			keys[i].Effective = false
		}
	}
}

func describe(k document.Kind, root string) Kind {
	t := reflect.TypeOf(k.New()).Elem()
	out := Kind{
		Name: k.Name, About: about(t), Example: k.Example, ControlPlane: k.ControlPlane, Protects: k.Protects, Replaces: k.Replaced(), Type: t,
	}

	keys(t, "", root, k.Protects, &out.Keys)

	return out
}

// about returns the text of a type without the name of the type in front.
func about(t reflect.Type) string {
	text := comment(t, "")
	if rest, ok := strings.CutPrefix(text, t.Name()+" "); ok {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}

	return text
}

// keys adds the keys of a struct in the order of its fields. root is the kind, as package effects names it.
func keys(t reflect.Type, path, root string, protects bool, out *[]Key) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.name)
		k := Key{
			Path: at, Name: f.name, About: comment(f.owner, f.field.Name), Required: f.field.Tag.Get("required") != "",
			Protects: protects || f.field.Tag.Get("protects") != "",
		}
		k.Least, k.Most, k.Limited = document.Range(f.field.Tag.Get("range"))
		k.Type, k.Values = typeName(f.field.Type)
		k.About += replaced(f)
		_, k.Effective = effects.Lookup(strings.TrimPrefix(root+"."+strings.ReplaceAll(at, "[]", ""), "."))

		*out = append(*out, k)

		if inner, suffix := inside(f.field.Type); inner != nil {
			keys(inner, at+suffix, root, k.Protects, out)
		}
	}
}

// replaced says from which contract on documents or other keys take the place of a key.
func replaced(f structField) string {
	if contract := f.field.Tag.Get("replaced"); contract != "" {
		return fmt.Sprintf(" From the contract %s on, others take its place.", contract)
	}

	return ""
}

type structField struct {
	name  string // in YAML
	owner reflect.Type
	field reflect.StructField
}

// fieldsOf returns the keys of a struct in order, those of inlined structs in their place.
func fieldsOf(t reflect.Type) (out []structField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")

		switch {
		case options == "inline":
			out = append(out, fieldsOf(f.Type)...)
		case f.IsExported() && name != "" && name != "-":
			out = append(out, structField{name, t, f})
		}
	}

	return out
}

// inside returns the struct that a value holds, directly, as elements of a list, or as values of a map.
func inside(t reflect.Type) (inner reflect.Type, suffix string) {
	for {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case isText(t):
			return nil, ""
		case t.Kind() == reflect.Slice:
			t, suffix = t.Elem(), suffix+"[]"
		case t.Kind() == reflect.Map:
			t, suffix = t.Elem(), suffix+"[]"
		case t.Kind() == reflect.Struct:
			return t, suffix
		default:
			return nil, ""
		}
	}
}

var unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

// formats describe types that are not ours.
var formats = map[reflect.Type]value.Format{
	reflect.TypeFor[time.Duration]():  {About: "a duration", Example: "30s", Pattern: `^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`},
	reflect.TypeFor[netip.Addr]():     {About: "an IP address", Example: "192.0.2.1"},
	reflect.TypeFor[netip.Prefix]():   {About: "a network or an address with its prefix", Example: "192.0.2.0/24"},
	reflect.TypeFor[netip.AddrPort](): {About: "an IP address with a port", Example: "192.0.2.1:123"},
}

// formatOf returns the format of a type that is written as text.
func formatOf(t reflect.Type) (value.Format, bool) {
	if f, ok := formats[t]; ok {
		return f, true
	}

	if f, ok := reflect.Zero(t).Interface().(value.Formatted); ok {
		return f.Format(), true
	}

	return value.Format{}, false
}

// typeName says what a value of a type is.
func typeName(t reflect.Type) (name string, values []string) {
	if t.Kind() == reflect.Pointer {
		return typeName(t.Elem())
	}

	if values, ok := document.EnumValues(t); ok {
		return "an enum", values
	}

	if f, ok := formatOf(t); ok {
		return f.About, nil
	}

	switch {
	case isText(t) || t.Kind() == reflect.String:
		return "text", nil
	case t.Kind() == reflect.Bool:
		return "true or false", nil
	case t.Kind() == reflect.Slice:
		element, values := typeName(t.Elem())

		return fmt.Sprintf("a list: %s", element), values
	case t.Kind() == reflect.Map && t.Elem().Kind() != reflect.Interface:
		element, values := typeName(t.Elem())

		return fmt.Sprintf("an object with any keys: %s", element), values
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct:
		return "an object", nil
	case t.Kind() == reflect.Interface:
		return "any value", nil
	default:
		return "a number", nil
	}
}
