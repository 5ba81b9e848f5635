// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/kube"
)

// keySizes are the valid lengths of the keys of each provider of encryption, in bytes.
var keySizes = map[string][]int{"aescbc": {16, 24, 32}, "aesgcm": {16, 24, 32}, "secretbox": {32}}

// etcdEncryption checks the configuration of encryption. The API server does not start with one that is not valid. Messages do not show keys.
func (c *check) etcdEncryption() {
	const at = "KubeEtcdEncryptionConfig.config"

	given := c.cfg.EtcdEncryption()
	if len(given) == 0 {
		return
	}

	// The API server also takes the name that Kubernetes' documentation once had.
	if given["apiVersion"] == "v1" && given["kind"] == "EncryptionConfig" {
		c.object(at, schemas.EncryptionConfiguration, given)
	} else {
		c.kindOf(at, given, "EncryptionConfiguration", schemas.EncryptionConfiguration)
	}

	all := kube.Items(given, "resources")
	if len(all) == 0 {
		c.wrong(at+".resources", "is missing: want at least one")
	}

	for i, one := range all {
		of := fmt.Sprintf("%s.resources[%d]", at, i)

		if len(kube.At[[]any](one, "resources")) == 0 {
			c.wrong(of+".resources", "is missing: want at least one, such as secrets")
		}

		providers := kube.Items(one, "providers")
		if len(providers) == 0 {
			c.wrong(of+".providers", "is missing: want at least one")
		}

		for j, provider := range providers {
			c.provider(fmt.Sprintf("%s.providers[%d]", of, j), provider)
		}
	}
}

func (c *check) provider(at string, provider map[string]any) {
	if len(provider) != 1 {
		c.wrong(at, "has %d providers: want one", len(provider))
	}

	for name, sizes := range keySizes {
		settings, there := provider[name].(map[string]any)
		if !there {
			continue
		}

		keys := kube.Items(settings, "keys")
		if len(keys) == 0 {
			c.wrong(at+"."+name+".keys", "is missing: want at least one")
		}

		for i, key := range keys {
			of := fmt.Sprintf("%s.%s.keys[%d]", at, name, i)

			if kube.At[string](key, "name") == "" {
				c.wrong(of+".name", "is missing")
			}

			secret, err := base64.StdEncoding.DecodeString(kube.At[string](key, "secret"))
			if err != nil || !slices.Contains(sizes, len(secret)) {
				c.wrong(of+".secret", "is not a key: want base64 of %v bytes", sizes)
			}
		}
	}
}
