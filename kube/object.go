// SPDX-License-Identifier: Apache-2.0

package kube

// Object is a Kubernetes object.
type Object = map[string]any

// At returns the field of an object at a path; the zero value when the object has none of that type.
func At[T any](object Object, path ...string) T {
	var value any = object

	for _, field := range path {
		inner, _ := value.(Object)
		value = inner[field]
	}

	out, _ := value.(T)

	return out
}

// Items returns the objects of the list at a path.
func Items(object Object, path ...string) []Object {
	var out []Object

	for _, item := range At[[]any](object, path...) {
		o, _ := item.(Object)
		out = append(out, o)
	}

	return out
}

// Identity returns the fields that identify an object.
func Identity(object Object) (apiVersion, kind, namespace, name string) {
	return At[string](object, "apiVersion"), At[string](object, "kind"), At[string](object, "metadata", "namespace"), At[string](object, "metadata", "name")
}
