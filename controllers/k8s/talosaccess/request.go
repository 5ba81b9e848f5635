// SPDX-License-Identifier: Apache-2.0

package talosaccess

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
)

// Request is a pod's request for credentials.
type Request struct {
	Namespace, Name, UID string
	// Roles are sorted.
	Roles []string
	// Failure is the last reported reason why there are no credentials.
	Failure string
}

// RequestOf reads an object.
func RequestOf(object kube.Object) Request {
	_, _, namespace, name := kube.Identity(object)

	r := Request{
		Namespace: namespace, Name: name, UID: kube.At[string](object, "metadata", "uid"),
		Failure: kube.At[string](object, "status", "failureReason"),
	}

	for _, role := range kube.At[[]any](object, "spec", "roles") {
		text, _ := role.(string)
		r.Roles = append(r.Roles, text)
	}

	slices.Sort(r.Roles)
	r.Roles = slices.Compact(r.Roles)

	return r
}

// Keep returns the part of an object that RequestOf reads.
func Keep(object kube.Object) kube.Object {
	_, _, namespace, name := kube.Identity(object)

	return kube.Object{
		"metadata": kube.Object{"namespace": namespace, "name": name, "uid": kube.At[string](object, "metadata", "uid")},
		"spec":     kube.Object{"roles": kube.At[[]any](object, "spec", "roles")},
		"status":   kube.Object{"failureReason": kube.At[string](object, "status", "failureReason")},
	}
}

// Refusal returns why a request is refused, "" if it is granted.
func (r Request) Refusal(allowed kubeaccess.ConfigSpec) string {
	switch {
	case !allowed.Enabled:
		return "the machine configuration gives pods no access"
	case !slices.Contains(allowed.AllowedKubernetesNamespaces, r.Namespace):
		return fmt.Sprintf("namespace %q is not allowed: the machine configuration allows %s", r.Namespace, list(allowed.AllowedKubernetesNamespaces))
	case len(r.Roles) == 0:
		return "spec.roles names no role"
	}

	for _, role := range r.Roles {
		if !slices.Contains(allowed.AllowedAPIRoles, role) {
			return fmt.Sprintf("role %q is not allowed: the machine configuration allows %s", role, list(allowed.AllowedAPIRoles))
		}
	}

	return ""
}

func list(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}

	return strings.Join(texts, ", ")
}

// StatusPath is where the result of the request is written.
func (r Request) StatusPath() string {
	return "/apis/" + APIVersion + "/namespaces/" + url.PathEscape(r.Namespace) + "/" + Plural + "/" + url.PathEscape(r.Name) + "/status"
}

// SecretsPath is the collection of the Secret; SecretPath is the Secret.
func (r Request) SecretsPath() string {
	return "/api/v1/namespaces/" + url.PathEscape(r.Namespace) + "/secrets"
}

// SecretPath is where the credentials are.
func (r Request) SecretPath() string { return r.SecretsPath() + "/" + url.PathEscape(r.Name) }
