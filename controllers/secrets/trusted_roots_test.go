// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/files"
)

// TestTrustedRoots follows the bundle of authorities from a configuration with some to one without.
func TestTrustedRoots(t *testing.T) {
	const image = "image's\n"

	bundle := filepath.Join(t.TempDir(), "bundle")
	if err := os.WriteFile(bundle, []byte(image), 0o600); err != nil {
		t.Fatal(err)
	}

	document := func(name string) (text, certificate string) {
		ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, CommonName: name})
		if err != nil {
			t.Fatal(err)
		}

		certificate = string(ca.PEM.Crt)

		return "---\napiVersion: v1alpha1\nkind: TrustedRootsConfig\nname: " + name + "\ncertificates: |\n  " +
			strings.ReplaceAll(strings.TrimSpace(certificate), "\n", "\n  ") + "\n", certificate
	}

	const none = "machine: {type: worker}\n"

	a, certA := document("a")
	b, certB := document("b")
	n := controllertest.Start(t, trustedRootsController(bundle))
	wait := func(want string) {
		t.Helper()
		controllertest.Wait(n, files.CABundle, func(f files.EtcFileSpecSpec) bool { return f.Contents == want && f.Mode == 0o644 })
	}

	n.Configure([]byte(none + a + b))
	wait(image + certA + certB)

	// What is bound over the bundle is not what the controller reads.
	if err := os.Rename(bundle, bundle+".old"); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(bundle, []byte(image+certA+certB), 0o600); err != nil {
		t.Fatal(err)
	}

	n.Configure([]byte(none + b))
	wait(image + certB)

	n.Configure([]byte(none))
	wait(image)
}

// TestNoTrustedRoots checks that the bundle of a machine without authorities of its own stays as it is.
func TestNoTrustedRoots(t *testing.T) {
	r := &trustedRoots{path: filepath.Join(t.TempDir(), "absent")}

	if spec, err := r.file(""); spec != nil || err != nil {
		t.Errorf("got %v, %v, want nothing", spec, err)
	}

	if spec, err := r.file("x"); spec != nil || err == nil {
		t.Errorf("an image without a bundle: got %v, %v, want an error", spec, err)
	}
}
