// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// osRoot copies the machine API's authority from the configuration. On a worker it has no key.
func osRoot(cfg *view.Config) (*secrets.OSRootSpec, error) {
	var sans names

	sans.add(cfg.MachineCertSANs()...)
	sans.ips = append(sans.ips, virtual(cfg)...)

	if _, enabled := cfg.TalosAPIAccess(); enabled && cfg.Type().IsControlPlane() {
		sans.add(talosaccess.Names()...)
	}

	return &secrets.OSRootSpec{
		IssuingCA:       certAndKey(cfg.MachineCA()),
		CertSANIPs:      sans.ips,
		CertSANDNSNames: sans.dns,
		Token:           cfg.MachineToken(),
		AcceptedCAs:     acceptedCAs(cfg.MachineCA(), cfg.MachineAcceptedCAs()),
	}, nil
}

// virtual returns the addresses that control planes share. The certificates have them before the machine does.
func virtual(cfg *view.Config) []netip.Addr {
	if !cfg.Type().IsControlPlane() {
		return nil
	}

	return cfg.VIPAddresses()
}

// etcdRoot copies etcd's authority.
func etcdRoot(cfg *view.Config) (*secrets.EtcdRootSpec, error) {
	return &secrets.EtcdRootSpec{EtcdCA: certAndKey(cfg.Etcd().CA)}, nil
}

// kubernetesRoot copies the Kubernetes authorities, keys and names.
func kubernetesRoot(cfg *view.Config) (*secrets.KubernetesRootSpec, error) {
	id, secret, err := bootstrapToken(cfg.ClusterToken())
	if err != nil {
		return nil, err
	}

	tokens := cfg.ServiceAccounts()

	spec := &secrets.KubernetesRootSpec{
		Name:                      cfg.ClusterName(),
		Endpoint:                  secrets.URL{FullPath: cfg.Endpoint().String()},
		LocalEndpoint:             localEndpoint(cfg),
		CertSANs:                  kubernetesNames(cfg),
		DNSDomain:                 cfg.DNSDomain(),
		IssuingCA:                 certAndKey(cfg.ClusterCA()),
		AcceptedCAs:               acceptedCAs(cfg.ClusterCA(), cfg.ClusterAcceptedCAs()),
		ServiceAccount:            secrets.Key{Key: cfg.ServiceAccountKey()},
		AggregatorCA:              certAndKey(cfg.AggregatorCA()),
		AcceptedAggregatorCAs:     acceptedCAs(cfg.AggregatorCA(), cfg.AggregatorAcceptedCAs()),
		AESCBCEncryptionSecret:    cfg.AESCBCSecret(),
		SecretboxEncryptionSecret: cfg.SecretboxSecret(),
		BootstrapTokenID:          id,
		BootstrapTokenSecret:      secret,
		EtcdEncryptionConfig:      cfg.EtcdEncryption(),
		IssuerURL:                 tokens.Issuer,
		AcceptedIssuers:           tokens.AcceptedIssuers,
		APIAudiences:              tokens.Audiences,
	}

	for _, key := range tokens.AcceptedKeys {
		spec.ServiceAccountAcceptedKeys = append(spec.ServiceAccountAcceptedKeys, secrets.Key{Key: key})
	}

	for _, addr := range virtual(cfg) {
		spec.CertSANs = append(slices.Clip(spec.CertSANs), addr.String())
	}

	for _, subnet := range cfg.ServiceSubnets() {
		spec.APIServerIPs = append(spec.APIServerIPs, firstAddress(subnet))
	}

	return spec, nil
}

// kubernetesNames returns the additional names of API servers: those of the configuration, and the one by which clients of KubePrism verify them.
func kubernetesNames(cfg *view.Config) []string {
	names := cfg.APIServer().CertSANs

	if _, on := cfg.KubePrismPort(); on && cfg.KubePrismServerName() != "" {
		names = append(slices.Clip(names), cfg.KubePrismServerName())
	}

	return names
}

// kubeletSecrets returns what the kubelet joins the cluster with. With KubePrism, the kubelet connects to it. Without KubePrism, it
// connects to the API server of its own node on a control plane, and to the cluster's endpoint on a worker.
func kubeletSecrets(cfg *view.Config) (*secrets.KubeletSpec, error) {
	id, secret, err := bootstrapToken(cfg.ClusterToken())
	if err != nil {
		return nil, err
	}

	spec := &secrets.KubeletSpec{
		BootstrapTokenID:     id,
		BootstrapTokenSecret: secret,
		AcceptedCAs:          acceptedCAs(cfg.ClusterCA(), cfg.ClusterAcceptedCAs()),
	}

	switch port, kubePrism := cfg.KubePrismPort(); {
	case kubePrism:
		spec.Endpoint = secrets.URL{FullPath: "https://127.0.0.1:" + strconv.Itoa(port)}
		spec.EndpointTLSServerName = cfg.KubePrismServerName()
	case cfg.Type().IsControlPlane():
		spec.Endpoint = localEndpoint(cfg)
	default:
		spec.Endpoint = secrets.URL{FullPath: cfg.Endpoint().String()}
	}

	return spec, nil
}

// localEndpoint returns the address of the API server of this node, which needs no name resolution.
func localEndpoint(cfg *view.Config) secrets.URL {
	return secrets.URL{FullPath: "https://127.0.0.1:" + strconv.Itoa(cfg.APIServerPort())}
}

// firstAddress returns the first usable address of a subnet: in a service subnet, that of the service kubernetes.
func firstAddress(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

func bootstrapToken(token string) (id, secret string, err error) {
	id, secret, ok := strings.Cut(token, ".")
	if !ok || id == "" || secret == "" {
		return "", "", fmt.Errorf("cluster.token: want a bootstrap token of the form id.secret, got %d characters without it", len(token))
	}

	return id, secret, nil
}

func certAndKey(pair view.CertPair) secrets.CertAndKey {
	return secrets.CertAndKey{Crt: pair.Crt, Key: pair.Key}
}

// acceptedCAs returns the issuing authority and then the others, each once.
func acceptedCAs(issuing view.CertPair, accepted []view.Cert) []secrets.Cert {
	var out []secrets.Cert

	for _, c := range append([]view.Cert{{Crt: issuing.Crt}}, accepted...) {
		c.Crt = withoutBridges(c.Crt)
		crt := bytes.TrimSpace(c.Crt)
		known := slices.ContainsFunc(out, func(have secrets.Cert) bool { return bytes.Equal(bytes.TrimSpace(have.Crt), crt) })

		if len(crt) > 0 && !known {
			out = append(out, secrets.Cert{Crt: c.Crt})
		}
	}

	return out
}

// withoutBridges returns the certificates of an authority without those that other authorities signed for it. Servers send these to clients
// that do not know the authority. No one trusts them: programs with OpenSSL would look for the authority that signed them, and fail.
func withoutBridges(crt []byte) []byte {
	parsed, err := pki.ParseAuthority(crt)
	if err != nil || len(parsed.Bridges) == 0 {
		return crt
	}

	return pki.EncodeCertificates(parsed.Trusted())
}
