// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/base64"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdEncryptionConfigController publishes how the API server encrypts secrets at rest.
func etcdEncryptionConfigController() controller.Controller {
	var root secrets.KubernetesRootSpec

	return frominputs.One("k8s.EtcdEncryptionConfigController", k8s.EtcdEncryptionID, controller.Exclusive, frominputs.List{
		frominputs.Of(secrets.KubernetesRootID, &root),
	}, func() (*k8s.EtcdEncryptionConfigSpec, error) {
		text, err := etcdEncryption(root)

		return &k8s.EtcdEncryptionConfigSpec{Configuration: text}, err
	})
}

// etcdEncryption prefers secretbox. AES-CBC reads the secrets of older clusters, identity those from before there was a key.
func etcdEncryption(root secrets.KubernetesRootSpec) (string, error) {
	config := root.EtcdEncryptionConfig

	if len(config) == 0 {
		var providers []any

		for _, provider := range []struct{ name, key, secret, field string }{
			// The name of a key is stored with each secret that it encrypts.
			{"secretbox", "key2", root.SecretboxEncryptionSecret, "cluster.secretboxEncryptionSecret"},
			{"aescbc", "key1", root.AESCBCEncryptionSecret, "cluster.aescbcEncryptionSecret"},
		} {
			if provider.secret == "" {
				continue
			}

			if key, err := base64.StdEncoding.DecodeString(provider.secret); err != nil || len(key) != 32 {
				return "", fmt.Errorf("%s: want 32 bytes in base64", provider.field)
			}

			providers = append(providers, map[string]any{provider.name: map[string]any{
				"keys": []any{map[string]any{"name": provider.key, "secret": provider.secret}},
			}})
		}

		config = map[string]any{
			"apiVersion": "apiserver.config.k8s.io/v1",
			"kind":       "EncryptionConfiguration",
			"resources": []any{map[string]any{
				"resources": []any{"secrets"},
				"providers": append(providers, map[string]any{"identity": map[string]any{}}),
			}},
		}
	}

	text, err := yaml.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("etcd encryption configuration: %w", err)
	}

	return string(text), nil
}
