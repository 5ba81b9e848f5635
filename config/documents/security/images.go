// SPDX-License-Identifier: Apache-2.0

package security

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/pki/cosign"
)

// TrustedRootsConfig has authorities that the machine trusts beside those of the image, for registries, proxies and other servers.
type TrustedRootsConfig struct {
	document.Named `yaml:",inline"`
	// The certificates, in PEM.
	Certificates value.Certificates `yaml:"certificates" required:"true"`
}

var trustedRoots = document.Of[TrustedRootsConfig]("TrustedRootsConfig", `apiVersion: v1alpha1
kind: TrustedRootsConfig
name: company
certificates: |
    -----BEGIN CERTIFICATE-----
    MIIBOjCB7aADAgECAhR2CdVVo78dHsXtv+5n+8WvdmRV2zAFBgMrZXAwEjEQMA4G
    A1UECgwHZXhhbXBsZTAgFw0yNjExMjMwMzU5NDVaGA8yMTI2MTAzMDAzNTk0NVow
    EjEQMA4GA1UECgwHZXhhbXBsZTAqMAUGAytlcAMhAO4cs5oKotE+xccTd7ZFqVyg
    xOv+ArIDq69DO8D+tf0Oo1MwUTAdBgNVHQ4EFgQUVCkvZZo72WIBx2S9h+TiHeSs
    Rm4wHwYDVR0jBBgwFoAUVCkvZZo72WIBx2S9h+TiHeSsRm4wDwYDVR0TAQH/BAUw
    AwEB/zAFBgMrZXADQQBIMXcYPdLdHX0xu0fN6KWX4vEsWordQi0CqJgo8ACxWYEP
    bUGzx2NYWcLa7jDcQs4FxdQ973oja4ImzUnPdFMN
    -----END CERTIFICATE-----
`)

// ImageVerificationConfig says which images may be pulled. The first rule that matches an image decides; one that no rule matches may be
// pulled.
type ImageVerificationConfig struct {
	document.Header `yaml:",inline"`
	// The rules, in their order.
	Rules []ImageRule `yaml:"rules" required:"true"`
}

// ImageRule says what is asked of images.
type ImageRule struct {
	// A pattern of complete references of images, such as docker.io/library/nginx:1, in which * is for any text.
	Image string `yaml:"image" required:"true"`
	// Whether the images need no signature.
	Skip bool `yaml:"skip,omitempty"`
	// Whether the images may not be pulled at all.
	Deny bool `yaml:"deny,omitempty"`
	// The images must be signed by an identity that an issuer vouches for.
	Keyless *KeylessVerifier `yaml:"keyless,omitempty"`
	// The images must be signed with a key.
	PublicKey *KeyVerifier `yaml:"publicKey,omitempty"`
}

// KeylessVerifier accepts signatures of an identity.
type KeylessVerifier struct {
	// The issuer of the identity.
	Issuer string `yaml:"issuer" required:"true"`
	// The identity.
	Subject string `yaml:"subject,omitempty"`
	// A regular expression of identities.
	SubjectRegex string `yaml:"subjectRegex,omitempty"`
}

// KeyVerifier accepts signatures with a key.
type KeyVerifier struct {
	// The public key or its certificate, in PEM.
	Certificate string `yaml:"certificate" required:"true"`
}

var imageVerification = document.Of[ImageVerificationConfig]("ImageVerificationConfig", `apiVersion: v1alpha1
kind: ImageVerificationConfig
rules:
    - image: registry.example.com/*
      publicKey:
        certificate: |
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvE8EgGniN5tQpjz/GUBOohT7xcjB
            ZmDlRu5Gx+iGRVWF7YjWXDPb7czbOnAFaJLSt8yJPfu5rZVfFxl0GetWKA==
            -----END PUBLIC KEY-----
    - image: registry.k8s.io/*
      skip: true
    - image: '*'
      deny: true
`, document.Protects)

// imagePattern is the shape of a pattern: that of a reference, with stars.
var imagePattern = regexp.MustCompile(`^[a-zA-Z0-9*][a-zA-Z0-9.:/_@+*-]*$`)

// Validate implements document.Validator.
func (c *ImageVerificationConfig) Validate(r *document.Report) {
	for i, rule := range c.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		kinds := 0

		for _, set := range []bool{rule.Skip, rule.Deny, rule.Keyless != nil, rule.PublicKey != nil} {
			if set {
				kinds++
			}
		}

		if kinds != 1 {
			r.Wrong(at, "want one of skip, deny, keyless and publicKey, got %d", kinds)
		}

		if k := rule.PublicKey; k != nil {
			if _, err := cosign.ParseKey([]byte(k.Certificate)); err != nil {
				r.Wrong(at+".publicKey.certificate", "%v", err)
			}
		}

		if err := checkPattern(rule.Image); err != nil {
			r.Wrong(at+".image", "%q %v", rule.Image, err)
		}

		if k := rule.Keyless; k != nil {
			if (k.Subject == "") == (k.SubjectRegex == "") {
				r.Wrong(at+".keyless", "want one of subject and subjectRegex")
			}

			if _, err := regexp.Compile(k.SubjectRegex); err != nil {
				r.Wrong(at+".keyless.subjectRegex", "is not a regular expression: %v", err)
			}
		}
	}
}

// checkPattern refuses a pattern that cannot match as it is meant. Registries are compared in lower case and without the port of HTTPS; of a
// pattern, all before the first slash is made so, if there is one.
func checkPattern(pattern string) error {
	if !imagePattern.MatchString(pattern) || strings.Contains(pattern, "://") {
		return errors.New("is not a pattern of references of images: want one such as registry.example.com/*")
	}

	before, _, slash := strings.Cut(pattern, "/")
	registry, _, _ := strings.Cut(before, "*")

	if lower := strings.ToLower(registry); !slash && registry != lower {
		return fmt.Errorf("matches no image, because registries are compared in lower case: want %s", lower+pattern[len(registry):])
	}

	if strings.Contains(before, ":443*") {
		return errors.New("does not match the port of HTTPS, without which registries are compared: remove :443, or add a / behind it")
	}

	if complete := completed(pattern); complete != pattern {
		return fmt.Errorf("matches no image, because complete references are compared: want %s", complete)
	}

	return nil
}

// completed returns a pattern as it would match, if it lacks what every complete reference has: a registry, and a tag or a digest.
func completed(pattern string) string {
	before, _, slash := strings.Cut(pattern, "/")

	switch literal := !strings.Contains(before, "*"); {
	case !slash && literal:
		pattern = "docker.io/library/" + pattern
	case slash && literal && before != "localhost" && !strings.ContainsAny(before, ".:") && before == strings.ToLower(before):
		pattern = "docker.io/" + pattern
	}

	if !strings.Contains(pattern, "*") && !strings.ContainsAny(pattern[strings.LastIndexByte(pattern, '/')+1:], ":@") {
		pattern += ":*"
	}

	return pattern
}
