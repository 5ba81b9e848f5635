// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"reflect"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/effects"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// kind checks a document by its own rules, and beside the main document (nil without one).
func (c *check) kind(kind document.Kind, d config.Document, main *v1alpha1.Config) {
	r := document.Check(d)
	c.findings = append(c.findings, r.Findings...)
	c.warnings = append(c.warnings, r.Warnings...)

	for _, path := range refused(kind, d) {
		c.wrong(path, "has no effect in this version, and the machine would be less safe than the configuration says: remove it")
	}

	if why, ignored := notInContainer[kind.Name]; ignored && c.mode == Container {
		c.warn(document.Path(d), notApplied+"%s", why)
	}

	if main == nil {
		return
	}

	if kind.ControlPlane && !main.Machine.Type.IsControlPlane() {
		c.wrong(document.Path(d), "a worker cannot have this document: it is for control planes")
	}

	for _, key := range kind.ReplacedBy(d) {
		if isSet(reflect.ValueOf(main).Elem(), key) {
			c.wrong(key, "the %s document sets this too: remove one of the two%s", kind.Name, removal(reflect.TypeFor[v1alpha1.Config](), key))
		}
	}
}

// Refused returns the branches of a configuration that have no effect yet and that the machine would be less safe without.
func Refused(cfg *config.Config) (paths []string) {
	for _, d := range cfg.Documents() {
		if kind, known := config.KindOf(d.Kind()); known {
			paths = append(paths, refused(kind, d)...)
		}
	}

	return paths
}

func refused(kind document.Kind, d config.Document) (paths []string) {
	for _, path := range effects.Unread(d) {
		if kind.Protects || document.Protected(d, path) {
			paths = append(paths, effects.Path(d, path))
		}
	}

	return paths
}

// removal returns how a patch removes a key of the v1alpha1 document, in the words of an error. A key in the elements of a list is removed by hand.
func removal(t reflect.Type, key string) string {
	begin, end := "", ""

	for name := range strings.SplitSeq(key, ".") {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}

		if t.Kind() != reflect.Struct {
			return ""
		}

		field, known := strict.Fields(t)[name]
		if !known {
			return ""
		}

		t = t.FieldByIndex(field.Index).Type
		begin, end = begin+name+": {", end+"}"
	}

	return "; to keep the document, patch the configuration with " + begin + "$patch: delete" + end + " in the same call"
}

// isSet reports whether a key has a value, in any element of a list or map on the way.
func isSet(v reflect.Value, key string) bool {
	switch v.Kind() {
	case reflect.Pointer: // a switch that is off is set
		return !v.IsNil() && (key == "" && v.Elem().Kind() != reflect.Struct || isSet(v.Elem(), key))
	case reflect.Slice:
		for i := range v.Len() {
			if isSet(v.Index(i), key) {
				return true
			}
		}

		return key == "" && v.Len() > 0
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if isSet(it.Value(), key) {
				return true
			}
		}

		return key == "" && v.Len() > 0
	case reflect.Struct:
		if key == "" {
			return !v.IsZero()
		}

		name, rest, _ := strings.Cut(key, ".")

		field, known := strict.Fields(v.Type())[name]

		return known && isSet(v.FieldByIndex(field.Index), rest)
	default:
		return !v.IsZero()
	}
}
