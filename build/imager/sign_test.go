// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/pki/cosign"
)

func newKey(t *testing.T, kind pki.KeyKind) crypto.Signer {
	t.Helper()

	key, err := pki.NewKey(kind)
	if err != nil {
		t.Fatal(err)
	}

	return key
}

func public(t *testing.T, key crypto.Signer) cosign.Key {
	t.Helper()

	text, err := pki.EncodePublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}

	parsed, err := cosign.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}

	return parsed
}

// TestSigned makes signed files twice. Each has its signature beside it, and the installer's archive that of its image.
func TestSigned(t *testing.T) {
	in := inputs(t)
	in.Key = newKey(t, pki.ECDSAP256)
	key := public(t, in.Key)

	pxe := mustMake(t, Profile{Base: "pxe"}, in)
	if len(pxe) != 8 {
		t.Errorf("got the files %v, want four and their signatures", pxe)
	}

	installer := mustMake(t, Profile{Base: "installer"}, in)

	for _, file := range append(pxe, installer...) {
		if strings.HasSuffix(file, ".sig") {
			continue
		}

		signature, err := base64.StdEncoding.DecodeString(string(read(t, file+".sig")))
		if err == nil {
			err = key.Check(read(t, file), signature)
		}

		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}

	if again := mustMake(t, Profile{Base: "installer"}, in); !slices.Equal(read(t, again[0]), read(t, installer[0])) {
		t.Error("a signed installer has other bytes the second time")
	}

	layout := t.TempDir()
	unpack := exec.Command(hosttest.Need(t, "cpio"), "-id", "--quiet", "-F", installer[0])
	unpack.Dir = layout

	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("cpio: %v: %s", err, out)
	}

	images, err := ociimage.ReadIndex(layout)
	if err != nil || len(images) != 2 {
		t.Fatalf("got %d images and %v, want the installer and its signature", len(images), err)
	}

	blob := func(digest v1.Hash) []byte { return read(t, filepath.Join(layout, "blobs", "sha256", digest.Hex)) }
	slices.SortFunc(images, func(a, _ v1.Descriptor) int {
		if cosign.HoldsSignatures(blob(a.Digest)) {
			return 1
		}

		return -1
	})

	name, _ := cosign.Tag(images[0].Digest.String())
	if got := images[1].Annotations[ociimage.RefName]; !strings.HasSuffix(got, ":"+name) {
		t.Errorf("the signature has the name %s, want the tag %s", got, name)
	}

	all, err := cosign.Signatures(blob(images[1].Digest))
	if err != nil || len(all) != 1 {
		t.Fatalf("got %d signatures and %v, want one", len(all), err)
	}

	payload, err := v1.NewHash(all[0].Digest)
	if err == nil {
		err = all[0].Check(key, blob(payload), images[0].Digest.String())
	}

	if err != nil {
		t.Error(err)
	}
}

// TestSignatureOfAnEarlierFile makes a file without a key where a signed one was: the signature does not stay beside it.
func TestSignatureOfAnEarlierFile(t *testing.T) {
	in, dir := inputs(t), t.TempDir()

	p, err := Profile{Base: "metal-uki"}.Complete()
	if err != nil {
		t.Fatal(err)
	}

	for _, key := range []crypto.Signer{newKey(t, pki.ECDSAP256), nil} {
		in.Key = key

		files, err := Make(t.Context(), p, in, dir)
		if err != nil {
			t.Fatal(err)
		}

		if there, _ := filepath.Glob(filepath.Join(dir, "*")); !slices.Equal(there, files) {
			t.Errorf("got the files %v, want %v", there, files)
		}
	}
}

// TestReadKey reads keys with a password, as cosign writes them, and without one.
func TestReadKey(t *testing.T) {
	const password = "correct horse"

	key := newKey(t, pki.ECDSAP256)

	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	box, err := encrypted.Encrypt(der, []byte(password))
	if err != nil {
		t.Fatal(err)
	}

	encode := func(key crypto.Signer) []byte {
		text, err := pki.EncodeKey(key)
		if err != nil {
			t.Fatal(err)
		}

		return text
	}
	block := func(kind string, content []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	}

	for name, tt := range map[string]struct {
		text     []byte
		password string
		fails    string
	}{
		"without a password":  {encode(key), "", ""},
		"PKCS 8":              {block("PRIVATE KEY", der), "", ""},
		"of cosign":           {block("ENCRYPTED SIGSTORE PRIVATE KEY", box), password, ""},
		"of an older cosign":  {block("ENCRYPTED COSIGN PRIVATE KEY", box), password, ""},
		"a wrong password":    {block("ENCRYPTED SIGSTORE PRIVATE KEY", box), "wrong", ErrPassword.Error()},
		"damaged":             {block("ENCRYPTED SIGSTORE PRIVATE KEY", box[:len(box)/2]), password, ErrPassword.Error()},
		"Ed25519":             {encode(newKey(t, pki.Ed25519)), "", "want an ECDSA or RSA key"},
		"nothing":             {nil, "", "the text is empty"},
		"a certificate's key": {block("PUBLIC KEY", der), "", "want"},
	} {
		got, err := ReadKey(tt.text, tt.password)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: got %v, want %q", name, err, tt.fails)
		}

		if err == nil && !got.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(key.Public()) {
			t.Errorf("%s: got another key", name)
		}
	}
}
