// SPDX-License-Identifier: Apache-2.0

// Package schemas has the fields of the Kubernetes objects in a machine configuration, and checks whether Kubernetes' programs can decode an
// object.
//
// A program that cannot decode its configuration exits at once. The list of fields is generated from the types of the version that is built
// (build/flags): the types themselves would add a tenth to the size of the one program. Only decoding is checked here, not what a program
// checks afterwards.
package schemas

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/seed-59268b81/talos/config/validate"
)

//go:embed types.txt
var list string

// Kinds of objects.
const (
	Pod                        = "Pod"
	KubeletConfiguration       = "KubeletConfiguration"
	CredentialProviderConfig   = "CredentialProviderConfig"
	KubeSchedulerConfiguration = "KubeSchedulerConfiguration"
	AuditPolicy                = "Policy"
	AuthorizationConfiguration = "AuthorizationConfiguration"

	AuthenticationConfiguration = "AuthenticationConfiguration"
	EncryptionConfiguration     = "EncryptionConfiguration"
	KubeProxyConfiguration      = "KubeProxyConfiguration"
)

// fields has the type of each path of a kind. In a path [] is an element of a list, {} a value of a map.
type fields map[string]string

var kinds = sync.OnceValue(func() map[string]fields {
	out := map[string]fields{}

	for line := range strings.Lines(list) {
		parts := strings.Fields(line)
		if len(parts) != 3 {
			continue
		}

		if out[parts[0]] == nil {
			out[parts[0]] = fields{}
		}

		out[parts[0]][parts[1]] = parts[2]
	}

	return out
})

// Strictness says what happens to a field that the type does not have.
type Strictness bool

// A kubelet drops unknown fields of a static pod; configuration files are decoded strictly.
const (
	DropUnknown   Strictness = false
	RefuseUnknown Strictness = true
)

// Check returns the parts of an object that cannot be decoded as a kind.
func Check(kind string, object map[string]any, unknown Strictness) []validate.Finding {
	c := check{fields: kinds()[kind], unknown: unknown}
	c.object("", "", object)

	return c.problems
}

type check struct {
	fields   fields
	unknown  Strictness
	problems []validate.Finding
}

func (c *check) wrong(at, format string, args ...any) {
	c.problems = append(c.problems, validate.Finding{Path: strings.TrimPrefix(at, "."), Text: fmt.Sprintf(format, args...)})
}

func (c *check) object(path, at string, object map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field := path + "." + name

		switch kind, known := c.fields[field]; {
		case known:
			c.value(kind, field, at+"."+name, object[name])
		case c.unknown == RefuseUnknown:
			c.wrong(at+"."+name, "there is no such field")
		}
	}
}

func (c *check) value(kind, path, at string, value any) {
	if value == nil {
		return // as if it were missing
	}

	switch kind {
	case "any":
	case "object":
		if object, ok := value.(map[string]any); ok {
			c.object(path, at, object)
		} else {
			c.wrong(at, "want an object, got %s", describe(value))
		}
	case "list":
		items, ok := value.([]any)
		if !ok {
			c.wrong(at, "want a list, got %s", describe(value))

			return
		}

		for i, item := range items {
			c.value(c.fields[path+"[]"], path+"[]", fmt.Sprintf("%s[%d]", at, i), item)
		}
	case "map":
		object, ok := value.(map[string]any)
		if !ok {
			c.wrong(at, "want an object, got %s", describe(value))

			return
		}

		for _, name := range slices.Sorted(maps.Keys(object)) {
			c.value(c.fields[path+"{}"], path+"{}", at+"."+name, object[name])
		}
	default:
		if want := scalar(kind, value); want != "" {
			c.wrong(at, "want %s, got %s", want, describe(value))
		}
	}
}

// scalar returns which type a value should have, "" if it has that.
func scalar(kind string, value any) string {
	text, isText := value.(string)
	number, isInt := Integer(value)
	_, isFloat := value.(float64)

	switch kind {
	case "string":
		return unless(isText, "a string")
	case "bool":
		_, ok := value.(bool)

		return unless(ok, "true or false")
	case "int32":
		return unless(isInt && number == int64(int32(number)), "a whole number of 32 bits") // it fits if nothing is lost
	case "uint32":
		return unless(isInt && number == int64(uint32(number)), "a whole number of 32 bits that is not negative")
	case "int64":
		return unless(isInt, "a whole number")
	case "number":
		return unless(isInt || isFloat, "a number")
	case "intOrString":
		return unless(isText || isInt, "a whole number or a string")
	case "duration":
		_, err := time.ParseDuration(text)

		return unless(isText && err == nil, "a duration such as 30s")
	case "time":
		_, err := time.Parse(time.RFC3339, text)

		return unless(isText && err == nil, "a time such as 2006-01-02T15:04:05Z")
	case "quantity":
		_, err := resource.ParseQuantity(fmt.Sprint(value))

		return unless((isText || isInt || isFloat) && err == nil, "a quantity such as 500m or 1Gi")
	default:
		return ""
	}
}

// Integer reads a whole number as a decoder of YAML or JSON leaves it.
func Integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == float64(int64(n))
	default:
		return 0, false
	}
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}

	return want
}

// describe returns a value as a message shows it.
func describe(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
