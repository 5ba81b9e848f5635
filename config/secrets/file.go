// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"
	"fmt"
	"os"
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/pki"
)

// Token matches bootstrap tokens and trustd tokens.
var Token = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// Encode encodes the bundle as YAML.
func (b *Bundle) Encode() ([]byte, error) { return config.Encode(b) }

// Decode decodes a bundle strictly and checks it.
func Decode(text []byte) (*Bundle, error) {
	var node yaml.Node

	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, fmt.Errorf("read secrets bundle: not YAML: %w", err)
	}

	if node.Kind == 0 {
		return nil, errors.New("read secrets bundle: the file is empty: generate one with \"talosctl gen secrets\"")
	}

	bundle := &Bundle{}

	if err := strict.Decode(&node, bundle).Err(); err != nil {
		return nil, fmt.Errorf("read secrets bundle: %w", err)
	}

	if err := bundle.Check(); err != nil {
		return nil, err
	}

	return bundle, nil
}

// Load reads a bundle from a file and checks it.
func Load(path string) (*Bundle, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read secrets bundle: %w", err)
	}

	bundle, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return bundle, nil
}

// Check returns all that is missing or wrong in the bundle.
func (b *Bundle) Check() error {
	var errs []error

	wrong := func(path string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("secrets bundle: %s: %w", path, err))
		}
	}

	for _, f := range []struct{ path, value string }{
		{"cluster.id", b.Cluster.ID},
		{"cluster.secret", b.Cluster.Secret},
	} {
		if f.value == "" {
			wrong(f.path, errors.New("is missing"))
		}
	}

	for _, f := range []struct{ path, value string }{
		{"secrets.bootstraptoken", b.Secrets.BootstrapToken},
		{"trustdinfo.token", b.Trustd.Token},
	} {
		if !Token.MatchString(f.value) {
			wrong(f.path, errors.New("is not a token: want 6 and 16 letters or digits with a dot between"))
		}
	}

	if b.Secrets.AESCBCSecret == "" && b.Secrets.SecretboxSecret == "" {
		wrong("secrets.secretboxencryptionsecret", errors.New("is missing"))
	}

	names := []string{"certs.os", "certs.k8s", "certs.k8saggregator", "certs.etcd"}

	for i, a := range b.authorities() {
		_, err := pki.ParseCA(a.pair.Crt, a.pair.Key)
		wrong(names[i], err)
	}

	_, err := pki.ParseKey(b.Certs.ServiceAccount.Key)
	wrong("certs.k8sserviceaccount.key", err)

	return errors.Join(errs...)
}
