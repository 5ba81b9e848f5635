// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// signedRegistry has images with and without signatures.
type signedRegistry struct {
	*privateRegistry

	key    crypto.Signer
	images map[string]v1.Image
}

func newKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func startSignedRegistry(t *testing.T) *signedRegistry {
	t.Helper()

	r := &signedRegistry{&privateRegistry{Registry: registrytest.Start(t, registrytest.Access{Password: true})}, newKey(), map[string]v1.Image{}}

	for _, name := range []string{"signed", "unsigned", "stranger", "swapped", "open"} {
		r.images[name] = registrytest.Random(t)
		r.Push(t, "test/"+name, r.images[name])
	}

	r.Sign(t, "test/signed", r.images["signed"], r.key)
	r.Sign(t, "test/stranger", r.images["stranger"], newKey())
	// The signature of one image with the tag of another.
	r.SignDigest(t, "test/swapped", r.digest("swapped"), r.digest("signed"), r.key)

	return r
}

func (r *signedRegistry) digest(name string) string { return must(r.images[name].Digest()).String() }

// documents are those of a machine that may use the registry, with rules.
func (r *signedRegistry) documents(rules string) string {
	return r.authDocument(rightLogin) + r.tlsDocument(false) + r.mirrorDocument() + "---\napiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules:\n" + rules
}

// rules are the rules that most tests use.
func (r *signedRegistry) rules() string {
	return "  - image: registry.test/test/open:*\n    skip: true\n  - image: registry.test/test/denied*\n    deny: true\n" +
		"  - image: registry.test/*\n    publicKey:\n      certificate: |\n" + "  " +
		strings.ReplaceAll(indent(must(pki.EncodePublicKey(r.key.Public()))), "\n      ", "\n        ") + "  - image: '*'\n    deny: true\n"
}

func (m machine) access() container.Access {
	return container.Access{Hosts: m.hosts(), Credentials: m.credentials(), Cache: filepath.Join(m.dir, "cache")}
}

// TestVerifiedPull pulls from a real registry with rules about images. What is refused is not downloaded.
func TestVerifiedPull(t *testing.T) {
	r := startSignedRegistry(t)
	m := newMachine(t, r.documents(r.rules()), "")

	for _, tt := range []struct{ image, digest, fails string }{
		{"registry.test/test/signed:1", r.digest("signed"), ""},
		{"registry.test/test/signed@" + r.digest("signed"), r.digest("signed"), ""},
		{"registry.test/test/open:1", r.digest("open"), ""},
		{"registry.test/test/unsigned:1", "", "it is not signed, which rules[2] of ImageVerificationConfig (image: registry.test/*) asks for"},
		{"registry.test/test/stranger:1", "", "no signature is by the key of rules[2] of ImageVerificationConfig (image: registry.test/*): the signature is not of this key"},
		{"registry.test/test/swapped:1", "", "the signature is of another image: " + r.digest("signed")},
		{"registry.test/test/denied:1", "", "rules[1] of ImageVerificationConfig (image: registry.test/test/denied*) denies it"},
		{"other.test/test/signed:1", "", "rules[3] of ImageVerificationConfig (image: *) denies it"},
	} {
		t.Run(tt.image, func(t *testing.T) {
			digest, err := m.pull(t, tt.image)

			if tt.fails == "" && (err != nil || digest != tt.digest) {
				t.Errorf("got %q, %v, want %q", digest, err, tt.digest)
			}

			if tt.fails != "" && (!errors.Is(err, container.ErrRefused) || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("got %v, want an error with %q", err, tt.fails)
			}
		})
	}

	// The same for the call that only verifies.
	verdict, err := m.access().Verify(t.Context(), "registry.test/test/signed:1", nil)
	if want := "registry.test/test/signed@" + r.digest("signed"); err != nil || !verdict.Verified || verdict.Pinned() != want {
		t.Errorf("got %+v, %v, want %s", verdict, err, want)
	}

	if verdict, err := m.access().Verify(t.Context(), "registry.test/test/open:1", nil); err != nil || verdict.Verified {
		t.Errorf("got %+v, %v, want one that is not verified", verdict, err)
	}

	// A caller's login counts instead of the machine's own.
	wrong := &container.Login{Credential: container.Credential{Username: "robot", Password: "wrong"}}
	if verdict, err := m.access().Verify(t.Context(), "registry.test/test/signed:1", wrong); err == nil || errors.Is(err, container.ErrRefused) {
		t.Errorf("got %+v, %v, want an error about the login", verdict, err)
	}
}

// TestDeniedUnasked does not ask a registry about an image that is denied by its name.
func TestDeniedUnasked(t *testing.T) {
	r := startSignedRegistry(t)
	m, before := newMachine(t, r.documents(r.rules()), ""), r.Asked()

	if _, err := m.pull(t, "registry.test/test/denied:1"); !errors.Is(err, container.ErrRefused) || r.Asked() != before {
		t.Errorf("got %v after %d requests, want none", err, r.Asked()-before)
	}
}

// TestVerifiedCache allows the images of the machine's own image cache by their names and digests.
func TestVerifiedCache(t *testing.T) {
	r := startSignedRegistry(t)
	m := newMachine(t, r.documents("  - image: '*'\n    deny: true\n"), "")

	index := `{"manifests":[{"digest":"` + r.digest("unsigned") + `","annotations":{"org.opencontainers.image.ref.name":"registry.test/test/unsigned:1"}},
		{"digest":"` + r.digest("signed") + `","annotations":{"org.opencontainers.image.ref.name":"registry.test/test/stranger:1"}}]}`

	if err := os.MkdirAll(m.access().Cache, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(m.access().Cache, "index.json"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}

	for ref, allowed := range map[string]bool{
		"registry.test/test/unsigned:1":                       true,
		"registry.test/test/unsigned@" + r.digest("unsigned"): true,
		"registry.test/test/stranger:1":                       false, // the registry has another one with this name
		"registry.test/test/signed:1":                         false,
		"registry.test/test/signed@" + r.digest("unsigned"):   false,
	} {
		if verdict, err := m.access().Verify(t.Context(), ref, nil); (err == nil) != allowed || err != nil && !errors.Is(err, container.ErrRefused) {
			t.Errorf("%s: got %+v, %v, want allowed %t", ref, verdict, err, allowed)
		}
	}
}

// TestBrokenRules pulls nothing while the rules cannot be read.
func TestBrokenRules(t *testing.T) {
	r := startSignedRegistry(t)
	m := newMachine(t, r.documents(r.rules()), "")

	if err := os.WriteFile(filepath.Join(m.dir, "image-rules.json"), []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}

	if digest, err := m.pull(t, "registry.test/test/open:1"); err == nil {
		t.Errorf("got %s, want an error", digest)
	}
}
