// SPDX-License-Identifier: Apache-2.0

// Package secrets holds the resources of keys and certificates: those of the machine configuration (roots), those that this node issues
// from them, and the names and addresses of certificates.
//
// Every type is sensitive: only administrators can read it.
package secrets

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/definition"
)

// NamespaceName is the namespace of all of them.
const NamespaceName = "secrets"

var domain = definition.Domain{Group: "secrets.talos.dev", Namespace: NamespaceName}.Sensitive()

// FrontProxyName is the common name of the API server's client certificate for extension API servers, which trust its request headers.
const FrontProxyName = "front-proxy-client"

// KubeletClientGroup is the group of the API server's client certificate for kubelets. A bootstrap manifest gives it its rights.
const KubeletClientGroup = "talos:kubelet-clients"

// Singleton ids.
const (
	OSRootID             = "os"
	KubernetesRootID     = "k8s"
	EtcdRootID           = "etcd"
	MaintenanceRootID    = "maintenance"
	APIID                = "api"
	APIKeptID            = "kept" // is what APIID was before this boot
	TrustdID             = "trustd"
	DiscoverydID         = "discoveryd"
	KubernetesID         = "k8s-certs"
	KubernetesDynamicID  = "k8s-dynamic-certs"
	EtcdID               = "etcd"
	KubeletID            = "kubelet"
	CertSANAPIID         = "api"
	CertSANKubernetesID  = "k8s"
	CertSANMaintenanceID = "maintenance"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[APICertsSpec](),
		resource.Register[CertSANSpec](),
		resource.Register[DiscoverydSpec](),
		resource.Register[EtcdCertsSpec](),
		resource.Register[EtcdRootSpec](),
		resource.Register[KubeletSpec](),
		resource.Register[KubernetesCertsSpec](),
		resource.Register[KubernetesDynamicCertsSpec](),
		resource.Register[KubernetesRootSpec](),
		resource.Register[MaintenanceRootSpec](),
		resource.Register[OSRootSpec](),
		resource.Register[TrustdCertsSpec](),
	)
}
