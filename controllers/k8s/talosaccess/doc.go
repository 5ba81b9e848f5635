// SPDX-License-Identifier: Apache-2.0

// Package talosaccess decides which pods get credentials of the machines' API, and makes the objects for it.
//
// A pod asks with an object ServiceAccount of the group talos.dev, which names roles. If the machine configuration allows the roles and the
// namespace, a control plane writes a Secret of the same name with a talosconfig; the pod mounts it where talosctl finds it. The Secret
// belongs to the object, so that Kubernetes deletes it with the object. A Secret of someone else is never overwritten.
//
// The certificates are valid for a day and replaced at half of their life, since a certificate cannot be revoked: access that is no longer
// allowed ends after a day at the latest, even for a pod that has copied its credentials.
//
// It is pure. Controllers read and write the objects.
package talosaccess

import "time"

// The API of the requests.
const (
	Group   = "talos.dev"
	Version = "v1alpha1"
	Kind    = "ServiceAccount"
	Plural  = "serviceaccounts"

	APIVersion = Group + "/" + Version
	// Path is the collection of all requests.
	Path = "/apis/" + APIVersion + "/" + Plural
)

// The Service with which pods reach the API of the control planes.
const (
	Namespace = "default"
	Service   = "talos"
)

// Lifetime of a pod's certificate.
const Lifetime = 24 * time.Hour

// Names are the names of the Service, as pods of any namespace use them.
func Names() []string {
	return []string{Service, Service + "." + Namespace, Service + "." + Namespace + ".svc"}
}

// endpoint is the name of the API in credentials.
const endpoint = Service + "." + Namespace
