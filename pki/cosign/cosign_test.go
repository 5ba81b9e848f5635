// SPDX-License-Identifier: Apache-2.0

package cosign_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/pki/cosign"
	"github.com/seed-59268b81/talos/test/registrytest"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}

	return v
}

func keyOf(signer crypto.Signer) []byte { return must(pki.EncodePublicKey(signer.Public())) }

const (
	image = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	other = "sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// TestCheck signs with each kind of key, and checks with that and with another one of its kind.
func TestCheck(t *testing.T) {
	ed := func() crypto.Signer {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must[crypto.Signer](key, err)
	}

	for name, generate := range map[string]func() crypto.Signer{
		"P-256":   func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) },
		"P-384":   func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) },
		"RSA":     func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) },
		"Ed25519": ed,
	} {
		t.Run(name, func(t *testing.T) {
			signer := generate()
			manifest, blobs := registrytest.Signature(t, "example.com/app", image, signer)

			all, err := cosign.Signatures(manifest)
			if err != nil || len(all) != 1 {
				t.Fatalf("got %d signatures and %v, want one", len(all), err)
			}

			key := must(cosign.ParseKey(keyOf(signer)))

			if err := all[0].Check(key, blobs[0], image); err != nil {
				t.Errorf("right key: %v", err)
			}

			if err := all[0].Check(key, blobs[0], other); !errors.Is(err, cosign.ErrOtherImage) {
				t.Errorf("another image: got %v, want %v", err, cosign.ErrOtherImage)
			}

			changed := append([]byte(nil), blobs[0]...)
			changed[len(changed)-1] ^= 1

			if err := all[0].Check(key, changed, image); !errors.Is(err, cosign.ErrSignature) {
				t.Errorf("a changed text: got %v, want %v", err, cosign.ErrSignature)
			}

			if err := all[0].Check(must(cosign.ParseKey(keyOf(generate()))), blobs[0], image); !errors.Is(err, cosign.ErrSignature) {
				t.Errorf("another key: got %v, want %v", err, cosign.ErrSignature)
			}
		})
	}
}

// TestSignFile signs a file, and an image twice: both signatures have the same bytes.
func TestSignFile(t *testing.T) {
	const content = "a disk image"

	for name, signer := range map[string]crypto.Signer{
		"ECDSA": must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)),
		"RSA":   must(rsa.GenerateKey(rand.Reader, 2048)),
	} {
		signature := must(base64.StdEncoding.DecodeString(must(cosign.SignFile(signer, strings.NewReader(content)))))
		key := must(cosign.ParseKey(keyOf(signer)))

		if err := key.Check([]byte(content), signature); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if err := key.Check([]byte(content+"!"), signature); !errors.Is(err, cosign.ErrSignature) {
			t.Errorf("%s: another file: got %v, want %v", name, err, cosign.ErrSignature)
		}

		one, other := must(cosign.SignImage(signer, "example.com/app", image)), must(cosign.SignImage(signer, "example.com/app", image))
		if !bytes.Equal(one.Manifest, other.Manifest) {
			t.Errorf("%s: two signatures of one image differ", name)
		}
	}

	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := cosign.SignFile(ed, strings.NewReader(content)); err == nil || !strings.Contains(err.Error(), "want an ECDSA or RSA key") {
		t.Errorf("Ed25519: got %v", err)
	}

	if _, err := cosign.SignImage(ed, "example.com/app", "sha256:12"); err == nil || !strings.Contains(err.Error(), "not SHA-256") {
		t.Errorf("a digest that is none: got %v", err)
	}
}

// TestSignedText refuses texts that the key has signed for another purpose.
func TestSignedText(t *testing.T) {
	signer := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := must(cosign.ParseKey(keyOf(signer)))

	for name, text := range map[string]string{
		"not JSON":     "hello",
		"another type": `{"critical":{"image":{"docker-manifest-digest":"` + image + `"},"type":"atomic container signature"}}`,
		"no image":     `{"critical":{"type":"cosign container image signature"}}`,
	} {
		digest := crypto.SHA256.New()
		digest.Write([]byte(text))

		s := cosign.Signature{Bytes: must(signer.Sign(rand.Reader, digest.Sum(nil), crypto.SHA256))}
		if err := s.Check(key, []byte(text), image); err == nil || errors.Is(err, cosign.ErrSignature) {
			t.Errorf("%s: got %v, want an error about the text", name, err)
		}
	}

	// A digest that is empty matches no text.
	if err := (cosign.Signature{}).Check(key, []byte("{}"), ""); err == nil {
		t.Error("an empty digest was accepted")
	}
}

func TestParseKey(t *testing.T) {
	signer := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	weak := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(&must(rsa.GenerateKey(rand.Reader, 1024)).PublicKey))})
	ca := must(pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "signer"}))

	for _, tt := range []struct {
		name, text, fails string
	}{
		{"a key", string(keyOf(signer)), ""},
		{"a certificate", string(ca.PEM.Crt), ""},
		{"nothing", "", "in PEM"},
		{"a private key", string(ca.PEM.Key), "want a public key"},
		{"two keys", string(keyOf(signer)) + string(keyOf(signer)), "got several"},
		{"a short RSA key", string(weak), "too short"},
		{"broken", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "read a public key"},
	} {
		if _, err := cosign.ParseKey([]byte(tt.text)); (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.fails)
		}
	}
}

func TestTag(t *testing.T) {
	tag, err := cosign.Tag(image)
	if err != nil || tag != "sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.sig" || !cosign.IsTag(tag) {
		t.Errorf("got %s, %v", tag, err)
	}

	for _, digest := range []string{"", "sha256:", "sha512:00", image + "0", "sha256:../../x"} {
		if tag, err := cosign.Tag(digest); err == nil {
			t.Errorf("%s: got %s, want an error", digest, tag)
		}
	}

	if cosign.IsTag("v1.sig") || cosign.IsTag("sha256-00.sig") || cosign.IsTag(strings.TrimSuffix(tag, ".sig")) {
		t.Error("a tag that is none of signatures is one")
	}
}

func TestHoldsSignatures(t *testing.T) {
	const payload = `{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json"}`

	for manifest, want := range map[string]bool{
		`{"layers":[` + payload + `]}`:                                                        true,
		`{"layers":[` + payload + `,` + payload + `]}`:                                        true,
		`{"layers":[` + payload + `,{"mediaType":"application/vnd.oci.image.layer.v1.tar"}]}`: false,
		`{"layers":[` + payload + `],"manifests":[{}]}`:                                       false,
		`{"layers":[]}`: false,
		`{}`:            false,
		`[`:             false,
	} {
		if got := cosign.HoldsSignatures([]byte(manifest)); got != want {
			t.Errorf("%s: got %t, want %t", manifest, got, want)
		}
	}
}

// FuzzSignatures parses what a registry may send, and checks it with a key that has signed none of it.
func FuzzSignatures(f *testing.F) {
	signer := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := must(cosign.ParseKey(keyOf(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))))
	manifest, blobs := registrytest.Signature(f, "example.com/app", image, signer)

	f.Add(manifest, blobs[0])
	f.Add([]byte(`{"layers":[{"mediaType":"application/vnd.dev.cosign.simplesigning.v1+json","digest":"`+image+`","size":1,"annotations":{"dev.cosignproject.cosign/signature":"AA=="}}]}`), []byte("{}"))
	f.Add([]byte("{"), []byte(""))

	f.Fuzz(func(t *testing.T, manifest, payload []byte) {
		all, err := cosign.Signatures(manifest)
		if err != nil {
			return
		}

		for _, s := range all {
			if _, err := cosign.Tag(s.Digest); err != nil || s.Size > cosign.MaxPayload || len(s.Bytes) == 0 {
				t.Errorf("a signature is not checked: %+v", s)
			}

			if s.Check(key, payload, image) == nil {
				t.Errorf("accepted %q", payload)
			}
		}
	})
}
