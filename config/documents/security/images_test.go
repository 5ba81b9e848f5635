// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
)

// TestImageVerification checks what is wrong with rules about images.
func TestImageVerification(t *testing.T) {
	const key = "publicKey: {certificate: \"-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvE8EgGniN5tQpjz/GUBOohT7xcjB\\nZmDlRu5Gx+iGRVWF7YjWXDPb7czbOnAFaJLSt8yJPfu5rZVfFxl0GetWKA==\\n-----END PUBLIC KEY-----\\n\"}"

	for name, tt := range map[string]struct{ rules, want string }{
		"three kinds":       {"[{image: 'a.example/*', " + key + "}, {image: '*.example:5000/x*', skip: true}, {image: '*', deny: true}]", ""},
		"no rules":          {"[]", "rules: is missing"},
		"a rule that is no": {"[{image: '*', skip: false}]", "rules[0]: want one of skip, deny, keyless and publicKey, got 0"},
		"two at once":       {"[{image: '*', skip: true, deny: true}]", "rules[0]: want one of skip, deny, keyless and publicKey, got 2"},
		"no image":          {"[{deny: true}]", "image: is missing"},
		"no pattern":        {"[{image: 'https://a.example', deny: true}, {image: 'a b', deny: true}]", `rules[1].image: "a b" is not a pattern`},
		"capitals":          {"[{image: 'A.example/*', deny: true}, {image: '*:RC1', deny: true}, {image: 'A.example*', deny: true}]", `rules[2].image: "A.example*" matches no image, because registries are compared in lower case: want a.example*`},
		"capitals are well": {"[{image: 'A.example/*', deny: true}, {image: '*:RC1', deny: true}]", ""},
		"the port of HTTPS": {"[{image: 'a.example:443*', deny: true}]", `rules[0].image: "a.example:443*" does not match the port of HTTPS`},
		"a part of a port":  {"[{image: '*:443*/app:1', deny: true}]", `"*:443*/app:1" does not match the port of HTTPS`},
		"ports are well":    {"[{image: 'a.example:443/*', deny: true}, {image: 'a.example:4430*', deny: true}, {image: '*:443', deny: true}, {image: '*/app:443*', deny: true}]", ""},
		"a URL":             {"[{image: 'https://a.example', deny: true}]", `"https://a.example" is not a pattern`},
		"no registry":       {"[{image: 'nginx', deny: true}]", `rules[0].image: "nginx" matches no image, because complete references are compared: want docker.io/library/nginx:*`},
		"an organization":   {"[{image: 'library/nginx*', deny: true}]", `want docker.io/library/nginx*`},
		"no tag":            {"[{image: 'a.example/app', deny: true}]", `want a.example/app:*`},
		"complete":          {"[{image: 'localhost/a:1', deny: true}, {image: 'a.example/b@sha256:*', deny: true}, {image: 'nginx*', deny: true}, {image: 'A/b:1', deny: true}]", ""},
		"no key":            {"[{image: '*', publicKey: {certificate: x}}]", "rules[0].publicKey.certificate: want a public key"},
		"a private key":     {"[{image: '*', publicKey: {certificate: \"-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n\"}}]", `got "PRIVATE KEY"`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Decode([]byte("apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: " + tt.rules + "\n"))
			if err != nil {
				t.Fatal(err)
			}

			got := document.Check(cfg.Documents()[0]).Findings
			if tt.want == "" && len(got) > 0 || !strings.Contains(got.Error(), tt.want) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}
