// SPDX-License-Identifier: Apache-2.0

package talosaccess

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Authority signs credentials.
type Authority struct {
	// Cluster is the name of the context.
	Cluster string
	Root    secrets.OSRootSpec
}

// secretKey is the name of the talosconfig in a Secret, and of the file in a pod.
var secretKey = path.Base(talosconfig.PodPath)

// Owned reports whether a Secret belongs to a request.
func Owned(secret kube.Object, r Request) bool {
	return slices.ContainsFunc(kube.Items(secret, "metadata", "ownerReferences"), func(owner kube.Object) bool {
		return owner["kind"] == Kind && owner["apiVersion"] == APIVersion && owner["uid"] == r.UID && r.UID != ""
	})
}

// Secret returns the Secret with new credentials, and when they are to be replaced.
func (a Authority) Secret(r Request, now time.Time) (kube.Object, time.Time, error) {
	ca := view.CertPair{Crt: a.Root.IssuingCA.Crt, Key: a.Root.IssuingCA.Key}

	config, err := generate.TalosconfigFor(a.Cluster, ca, r.Roles, Lifetime, []string{endpoint}, nil)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("credentials of %s/%s: %w", r.Namespace, r.Name, err)
	}

	config.Contexts[a.Cluster].CA = secrets.JoinCerts(a.Root.AcceptedCAs)

	text, err := config.Encode()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("credentials of %s/%s: %w", r.Namespace, r.Name, err)
	}

	return kube.Object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": kube.Object{
			"namespace": r.Namespace, "name": r.Name,
			"labels": kube.Object{"app.kubernetes.io/managed-by": "talos"},
			"ownerReferences": []any{kube.Object{
				"apiVersion": APIVersion, "kind": Kind, "name": r.Name, "uid": r.UID, "controller": true,
			}},
		},
		"data": kube.Object{secretKey: base64.StdEncoding.EncodeToString(text)},
	}, now.Add(Lifetime / 2), nil
}

// Valid reports whether the credentials in a Secret are those of a request and still fit, and when they are to be replaced.
func (a Authority) Valid(secret kube.Object, r Request, now time.Time) (due time.Time, ok bool) {
	text, err := base64.StdEncoding.DecodeString(kube.At[string](secret, "data", secretKey))
	if err != nil {
		return due, false
	}

	config, err := talosconfig.Decode(text)
	if err != nil {
		return due, false
	}

	context, err := config.Find("")
	if err != nil || config.Context != a.Cluster || !slices.Equal(context.Endpoints, []string{endpoint}) ||
		!bytes.Equal(context.CA, secrets.JoinCerts(a.Root.AcceptedCAs)) {
		return due, false
	}

	if _, err := (pki.Pair{Crt: context.Crt, Key: context.Key}).TLS(); err != nil {
		return due, false
	}

	leaf, err := pki.ParseCertificate(context.Crt)
	if err != nil {
		return due, false
	}

	issuer, err := pki.ParseCertificate(a.Root.IssuingCA.Crt)
	if err != nil || leaf.CheckSignatureFrom(issuer) != nil {
		return due, false
	}

	roles := slices.Sorted(slices.Values(leaf.Subject.Organization))
	due = pki.RenewAt(leaf)

	return due, slices.Equal(roles, r.Roles) && now.Before(due) && now.After(leaf.NotBefore)
}
