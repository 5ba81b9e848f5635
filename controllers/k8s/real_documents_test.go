// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

// The cluster's endpoint, which issued tokens before there was another issuer.
const (
	oldIssuer = "https://172.20.0.2:6443"
	newIssuer = "https://issuer.example:8443"
)

// TestRealDocuments starts a control plane whose settings are in documents, and checks their effect with the real programs.
func TestRealDocuments(t *testing.T) { withPrograms(t, realDocuments) }

func realDocuments(t *testing.T, binaries string) {
	bundle, other := generateSecrets(t), generateSecrets(t)

	texts := documentPatches(t, bundle, other)

	patches, err := patch.Load(texts)
	if err != nil {
		t.Fatal(err)
	}

	c, _, client, kubeconfigs := startReal(t, binaries, generate.Options{
		Secrets: bundle, AllowSchedulingOnControlPlanes: true, Patches: patches,
	})

	t.Run("authentication", func(t *testing.T) { permitted(t, kubeconfigs.LocalhostAdminKubeconfig) })
	t.Run("authority of the aggregator", func(t *testing.T) { aggregator(t, client, bundle, other) })
	t.Run("encryption", func(t *testing.T) { encrypted(t, c, client) })
	t.Run("tokens", func(t *testing.T) { tokens(t, client, bundle) })
	t.Run("networks of nodes", func(t *testing.T) { nodeNetwork(t, c, client, kubeconfigs.LocalhostAdminKubeconfig) })
	t.Run("manifests", func(t *testing.T) { documentManifests(t, client) })
	t.Run("access to the machines", func(t *testing.T) { machineAccess(t, c, client, c.text(t, texts[:len(texts)-1]...)) })
}

// documentPatches returns documents. The last one gives pods access to the machines.
func documentPatches(t *testing.T, bundle, other *secrets.Bundle) []string {
	t.Helper()

	document := func(kind, fields string) string { return "apiVersion: v1alpha1\nkind: " + kind + "\n" + fields }
	block := func(indent string, text []byte) string {
		return "|\n" + indent + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n"+indent) + "\n"
	}

	old, err := pki.PublicKeyOf(bundle.Certs.ServiceAccount.Key)
	if err != nil {
		t.Fatal(err)
	}

	return []string{
		"cluster: {secretboxEncryptionSecret: {$patch: delete}, serviceAccount: {$patch: delete}, externalCloudProvider: {enabled: true}}",
		document("KubeAuthenticationConfig", "configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, "+
			"anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}, {path: /version}]}}"),
		document("KubeEtcdEncryptionConfig", "config: {apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: "+
			"[{resources: [configmaps], providers: [{aesgcm: {keys: [{name: mine, secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE=}]}}, {identity: {}}]}]}"),
		document("KubeServiceAccountConfig", "issuer:\n  issuerURL: "+newIssuer+"\n  privateKey: "+block("    ", other.Certs.ServiceAccount.Key)+
			"accepted:\n  issuers: ['"+oldIssuer+"']\n  audiences: ['"+oldIssuer+"']\n  publicKeys:\n  - "+block("    ", old)),
		document("KubeAggregatorCAConfig", "acceptedCAs:\n- "+block("  ", other.Certs.Aggregator.Crt)),
		document("KubeNetworkConfig", "nodeCIDRMaskSizeIPv4: 26"),
		document("KubeFlannelCNIConfig", "backendType: host-gw\nbackendMTU: 1400\nresources: {limits: {memory: 40Mi}}"),
		document("KubeProxyConfig", "mode: ipvs\nconfig: {ipvs: {scheduler: wrr}}\nresources: {requests: {cpu: 11m}}"),
		document("KubeTalosAPIAccessConfig", "allowedRoles: ['os:reader']\nallowedKubernetesNamespaces: [default]"),
	}
}

// permitted checks that the paths of the configuration need no certificate.
func permitted(t *testing.T, admin string) {
	t.Helper()

	config, err := kubeconfig.Parse([]byte(admin))
	if err != nil {
		t.Fatal(err)
	}

	config.Crt, config.Key = nil, nil

	anonymous, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Close()

	eventually(t, "a path of the configuration needs no certificate", func() error {
		_, err := anonymous.Get(t.Context(), "/version")

		return err
	})

	if _, err := anonymous.Get(t.Context(), "/healthz"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another path without a certificate: got %v, want 401", err)
	}
}

// aggregator checks that extensions of the API accept both authorities.
func aggregator(t *testing.T, client *kube.Client, bundle, other *secrets.Bundle) {
	t.Helper()

	eventually(t, "both authorities are published", func() error {
		object, err := client.Get(t.Context(), "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
		if err != nil {
			return err
		}

		published := kube.At[string](object, "data", "requestheader-client-ca-file")

		for _, authority := range [][]byte{bundle.Certs.Aggregator.Crt, other.Certs.Aggregator.Crt} {
			if !strings.Contains(published, strings.TrimSpace(string(authority))) {
				return fmt.Errorf("got %s", published)
			}
		}

		return nil
	})
}

// encrypted checks that objects are stored as the configuration of encryption says.
func encrypted(t *testing.T, c *cluster, client *kube.Client) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()

	if _, err := client.Create(ctx, "/api/v1/namespaces/default/configmaps", kube.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"name": "hidden"}, "data": kube.Object{"a": "plaintext"},
	}); err != nil {
		t.Fatal(err)
	}

	stored, err := c.etcdClient(t).Get(ctx, "/registry/configmaps/default/hidden")
	if err != nil || len(stored.Kvs) != 1 {
		t.Fatalf("got %v, %v, want the object", stored, err)
	}

	if text := string(stored.Kvs[0].Value); !strings.HasPrefix(text, "k8s:enc:aesgcm:v1:mine:") || strings.Contains(text, "plaintext") {
		t.Errorf("stored: got %.40q, want it encrypted with aesgcm by the key mine", text)
	}
}

// tokens checks that new tokens have the issuer of the configuration, and that those of the older issuer and its key are accepted.
func tokens(t *testing.T, client *kube.Client, bundle *secrets.Bundle) {
	t.Helper()

	const account = "/api/v1/namespaces/default/serviceaccounts/default"

	var uid string

	eventually(t, "there is a service account", func() error {
		object, err := client.Get(t.Context(), account)
		uid = kube.At[string](object, "metadata", "uid")

		return err
	})

	issued, err := client.Create(t.Context(), account+"/token", kube.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": kube.Object{}})
	if err != nil {
		t.Fatal(err)
	}

	token := kube.At[string](issued, "status", "token")

	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || !strings.Contains(string(payload), `"iss":"`+newIssuer+`"`) || !strings.Contains(string(payload), newIssuer) {
		t.Errorf("a new token: got %s, %v, want the issuer %s", payload, err, newIssuer)
	}

	older := signToken(t, bundle.Certs.ServiceAccount.Key, uid, oldIssuer)
	stranger := signToken(t, bundle.Certs.ServiceAccount.Key, uid, "https://stranger.example")

	for name, tt := range map[string]struct {
		token string
		want  bool
	}{"of the new issuer": {token, true}, "of the older issuer": {older, true}, "of another issuer": {stranger, false}} {
		review, err := client.Create(t.Context(), "/apis/authentication.k8s.io/v1/tokenreviews", kube.Object{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": kube.Object{"token": tt.token},
		})
		if err != nil || kube.At[bool](review, "status", "authenticated") != tt.want {
			t.Errorf("a token %s: got %v, %v, want it accepted: %t", name, review["status"], err, tt.want)
		}
	}
}

// signToken returns a token of the service account default, as an API server would have issued it.
func signToken(t *testing.T, keyPEM []byte, uid, issuer string) string {
	t.Helper()

	key, err := pki.ParseKey(keyPEM)
	if err != nil {
		t.Fatal(err)
	}

	algorithm := "RS256"
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		algorithm = "ES256"
	}

	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}

		return base64.RawURLEncoding.EncodeToString(text)
	}

	now := time.Now()
	text := part(kube.Object{"alg": algorithm, "typ": "JWT"}) + "." + part(kube.Object{
		"iss": issuer, "aud": []any{issuer}, "sub": "system:serviceaccount:default:default",
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
		"kubernetes.io": kube.Object{"namespace": "default", "serviceaccount": kube.Object{"name": "default", "uid": uid}},
	})
	sum := sha256.Sum256([]byte(text))

	var signature []byte

	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	case *ecdsa.PrivateKey:
		r, s, signErr := ecdsa.Sign(rand.Reader, key, sum[:])
		err = signErr
		signature = make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
	default:
		t.Fatalf("a key of type %T", key)
	}

	if err != nil {
		t.Fatal(err)
	}

	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// nodeNetwork checks the size of a node's pod network.
func nodeNetwork(t *testing.T, c *cluster, client *kube.Client, admin string) {
	t.Helper()
	registerNode(t, c, admin)

	eventually(t, "the Node has a network of the configured size", func() error {
		node, err := client.Get(t.Context(), "/api/v1/nodes/cp1")
		if cidr := kube.At[string](node, "spec", "podCIDR"); err == nil && !strings.HasSuffix(cidr, "/26") {
			return fmt.Errorf("got %q, want a /26", cidr)
		}

		return err
	})
}

// documentManifests checks the settings of flannel and kube-proxy in their objects.
func documentManifests(t *testing.T, client *kube.Client) {
	t.Helper()

	const system = "/api/v1/namespaces/kube-system/configmaps/"

	for path, want := range map[string][]string{
		system + "kube-flannel-cfg": {`"Type": "host-gw"`, `"MTU": 1400`},
		system + "kube-proxy":       {`"scheduler": "wrr"`, `"mode": "ipvs"`, `"clusterCIDR": "10.244.0.0/16"`},
		kubeProxy:                   {"--config=/etc/kube-proxy/config.yaml", `"cpu":"11m"`, `"mountPath":"/etc/kube-proxy"`},
		"/apis/apps/v1/namespaces/kube-system/daemonsets/kube-flannel": {`"limits":{"memory":"40Mi"}`, `"requests":{"cpu":"100m","memory":"40Mi"}`},
	} {
		eventually(t, path+" has its settings", func() error {
			object, err := client.Get(t.Context(), path)
			if err != nil {
				return err
			}

			spec, err := json.Marshal(object["spec"])
			text := string(spec) + fmt.Sprint(object["data"])

			for _, part := range want {
				if err == nil && !strings.Contains(text, part) {
					return fmt.Errorf("%s is not in %s", part, text)
				}
			}

			return err
		})
	}
}

// machineAccess checks who gets credentials of the machines' API, and what they are. It ends with the configuration without.
func machineAccess(t *testing.T, c *cluster, client *kube.Client, without []byte) {
	t.Helper()

	ask := func(namespace, name string, roles ...any) {
		t.Helper()
		eventually(t, "the object "+name+" is created", func() error {
			_, err := client.Create(t.Context(), "/apis/talos.dev/v1alpha1/namespaces/"+namespace+"/serviceaccounts", kube.Object{
				"apiVersion": "talos.dev/v1alpha1", "kind": "ServiceAccount", "metadata": kube.Object{"name": name}, "spec": kube.Object{"roles": roles},
			})

			return err
		})
	}
	refused := func(namespace, name, reason string) {
		t.Helper()
		eventually(t, name+" is refused", func() error {
			object, err := client.Get(t.Context(), "/apis/talos.dev/v1alpha1/namespaces/"+namespace+"/serviceaccounts/"+name)
			if got := kube.At[string](object, "status", "failureReason"); err == nil && !strings.Contains(got, reason) {
				return fmt.Errorf("got the reason %q, want %q", got, reason)
			}

			return err
		})

		if _, err := client.Get(t.Context(), "/api/v1/namespaces/"+namespace+"/secrets/"+name); !kube.IsNotFound(err) {
			t.Errorf("%s: got %v, want no Secret", name, err)
		}
	}

	ask("default", "reader", "os:reader")
	ask("default", "admin", "os:admin")
	ask("kube-system", "elsewhere", "os:reader")

	var secret kube.Object

	eventually(t, "the credentials are there", func() (err error) {
		secret, err = client.Get(t.Context(), "/api/v1/namespaces/default/secrets/reader")

		return err
	})
	refused("default", "admin", `role "os:admin" is not allowed`)
	refused("kube-system", "elsewhere", `namespace "kube-system" is not allowed`)

	text, err := base64.StdEncoding.DecodeString(kube.At[string](secret, "data", "config"))
	if err != nil {
		t.Fatal(err)
	}

	config, err := talosconfig.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	access, err := config.Find("")
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := pki.ParseCertificate(access.Crt)
	if err != nil || strings.Join(leaf.Subject.Organization, ",") != "os:reader" {
		t.Errorf("certificate: got %v, %v, want the role os:reader alone", leaf.Subject, err)
	}

	eventually(t, "the Service has the control plane as its endpoint", func() error {
		slice, err := client.Get(t.Context(), "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/talos-ipv4")
		if text := fmt.Sprint(slice["endpoints"]); err == nil && !strings.Contains(text, controllertest.Address.Addr().String()) {
			return fmt.Errorf("got %s", text)
		}

		return err
	})

	sans := controllertest.Wait[secretsres.CertSANSpec](c.Node, secretsres.CertSANAPIID, nil)
	if !strings.Contains(strings.Join(sans.DNSNames, " "), "talos.default") {
		t.Errorf("names of the API: got %q, want those of the Service", sans.DNSNames)
	}

	// Nothing is written when nothing differs.
	paths := []string{"/api/v1/namespaces/default/secrets/reader", "/apis/talos.dev/v1alpha1/namespaces/default/serviceaccounts/admin"}
	before := versions(t, client, paths)

	ask("default", "another", "os:reader")
	eventually(t, "the credentials of another are there", func() error {
		_, err := client.Get(t.Context(), "/api/v1/namespaces/default/secrets/another")

		return err
	})

	for i, now := range versions(t, client, paths) {
		if now != before[i] {
			t.Errorf("%s was written: version %s, then %s", paths[i], before[i], now)
		}
	}

	// The access ends for those who have it.
	c.Configure(without)
	eventually(t, "the credentials are deleted", func() error { return gone(t.Context(), client, paths[0]) })
	eventually(t, "the Service is deleted", func() error { return gone(t.Context(), client, "/api/v1/namespaces/default/services/talos") })
}
