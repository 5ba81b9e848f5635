// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/url"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

// controlPlaneOnly checks the settings that only control plane machines have.
func (c *check) controlPlaneOnly(cl *v1alpha1.ClusterConfig) {
	c.issuing("cluster.ca", cl.CA)
	c.issuing("cluster.aggregatorCA", cl.AggregatorCA)
	c.issuing("cluster.etcd.ca", cl.Etcd.CA)

	if len(cl.ServiceAccount.Key) == 0 {
		c.wrong("cluster.serviceAccount.key", "is missing: it signs service account tokens; copy it from another control plane machine")
	} else if _, err := pki.ParseKey(cl.ServiceAccount.Key); err != nil {
		c.wrong("cluster.serviceAccount.key", "%s", err)
	}

	c.encryptionSecrets(cl)
	c.subnets("cluster.etcd.advertisedSubnets", cl.Etcd.AdvertisedSubnets)
	c.subnets("cluster.etcd.listenSubnets", cl.Etcd.ListenSubnets)

	if cl.Etcd.Subnet != "" {
		c.subnets("cluster.etcd.subnet", []string{cl.Etcd.Subnet})
		c.warn("cluster.etcd.subnet", "is deprecated: use cluster.etcd.advertisedSubnets")

		if len(cl.Etcd.AdvertisedSubnets) > 0 {
			c.wrong("cluster.etcd.subnet", "and advertisedSubnets exclude each other: keep advertisedSubnets")
		}
	}

	c.oneOf("cluster.proxy.mode", cl.Proxy.Mode, "iptables", "ipvs", "nftables")
	c.apiServer(&cl.APIServer)
	c.manifests(cl)

	if cl.AdminKubeconfig.CertLifetime < 0 {
		c.wrong("cluster.adminKubeconfig.certLifetime", "%s is negative", cl.AdminKubeconfig.CertLifetime)
	}

	if cl.AllowSchedulingOnMasters != nil {
		c.warn("cluster.allowSchedulingOnMasters", "is deprecated: use allowSchedulingOnControlPlanes")
	}
}

// encryptionSecrets checks the keys that encrypt Kubernetes' secrets in etcd.
func (c *check) encryptionSecrets(cl *v1alpha1.ClusterConfig) {
	if cl.AESCBCEncryptionSecret == "" && cl.SecretboxSecret == "" && !c.encrypted {
		c.wrong("cluster.secretboxEncryptionSecret", "is missing: it encrypts Kubernetes' secrets in etcd; copy it from another control plane machine")
	}

	for _, f := range []struct{ path, value string }{
		{"cluster.aescbcEncryptionSecret", cl.AESCBCEncryptionSecret},
		{"cluster.secretboxEncryptionSecret", cl.SecretboxSecret},
	} {
		if key, err := base64.StdEncoding.DecodeString(f.value); f.value != "" && (err != nil || len(key) != 32) {
			c.wrong(f.path, "is not a key: want 32 bytes in base64")
		}
	}
}

func (c *check) apiServer(a *v1alpha1.APIServerConfig) {
	seen := map[string]bool{}

	for i, plugin := range a.AdmissionControl {
		at := index("cluster.apiServer.admissionControl", i)

		if plugin.Name == "" {
			c.wrong(at+".name", "is missing: want the name of an admission plugin")
		}

		if seen[plugin.Name] {
			c.wrong(at+".name", "%q: duplicate", plugin.Name)
		}

		seen[plugin.Name] = true
	}

	for i, authorizer := range a.AuthorizationConfig {
		at := index("cluster.apiServer.authorizationConfig", i)

		if authorizer.Name == "" {
			c.wrong(at+".name", "is missing")
		}

		c.oneOf(at+".type", authorizer.Type, "Node", "RBAC", "Webhook")

		if authorizer.Type == "Webhook" && len(authorizer.Webhook) == 0 {
			c.wrong(at+".webhook", "is missing")
		}
	}

	if v1alpha1.IsTrue(a.DisablePodSecurityPolicy) {
		c.warn("cluster.apiServer.disablePodSecurityPolicy", "has no effect: Kubernetes removed pod security policies; remove the key")
	}
}

func (c *check) manifests(cl *v1alpha1.ClusterConfig) {
	for i, manifest := range cl.ExtraManifests {
		if u, err := url.Parse(manifest); err != nil || u.Scheme == "" {
			c.wrong(index("cluster.extraManifests", i), "%q is not a URL", manifest)
		}
	}

	seen := map[string]bool{}

	for i, manifest := range cl.InlineManifests {
		at := index("cluster.inlineManifests", i)

		if manifest.Name == "" {
			c.wrong(at+".name", "is missing")
		}

		if seen[manifest.Name] {
			c.wrong(at+".name", "%q: duplicate", manifest.Name)
		}

		seen[manifest.Name] = true

		if err := readable(manifest.Contents); err != nil {
			c.wrong(at+".contents", "is not YAML: %s", err)
		}
	}
}

// readable returns an error if a text is not a stream of YAML documents.
func readable(text string) error {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))

	for {
		var node yaml.Node

		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// worker warns about settings that only control plane machines use, and checks those that a worker needs.
func (c *check) worker(cl *v1alpha1.ClusterConfig) {
	c.trusted("cluster.ca.crt", cl.CA.Crt)

	for _, f := range []struct {
		path string
		set  bool
	}{
		{"cluster.ca.key", len(cl.CA.Key) > 0},
		{"cluster.aggregatorCA", len(cl.AggregatorCA.Crt) > 0},
		{"cluster.serviceAccount", len(cl.ServiceAccount.Key) > 0},
		{"cluster.etcd.ca", len(cl.Etcd.CA.Crt) > 0},
		{"cluster.aescbcEncryptionSecret", cl.AESCBCEncryptionSecret != ""},
		{"cluster.secretboxEncryptionSecret", cl.SecretboxSecret != ""},
	} {
		if f.set {
			c.warn(f.path, "is a secret of control plane machines: remove it from workers")
		}
	}
}
