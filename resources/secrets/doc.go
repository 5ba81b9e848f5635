// SPDX-License-Identifier: Apache-2.0

// Package secrets holds the resources of keys and certificates: what the machine configuration brings
// (roots), what is issued from it on this node, and the names and addresses certificates are issued for.
//
// Every type is sensitive: only administrators read it.
package secrets

import "github.com/seed-59268b81/talos/resources/definition"

// NamespaceName is the namespace of all of them.
const NamespaceName = "secrets"

var domain = definition.Domain{Group: "secrets.talos.dev", Namespace: NamespaceName}.Sensitive()

// FrontProxyName is the common name of the API server's certificate towards extension API servers, who trust its request headers.
const FrontProxyName = "front-proxy-client"

// KubeletClientGroup is whom the API server's certificate towards kubelets is for. A bootstrap manifest gives them their rights.
const KubeletClientGroup = "talos:kubelet-clients"

// Singleton ids.
const (
	OSRootID             = "os"
	KubernetesRootID     = "k8s"
	EtcdRootID           = "etcd"
	MaintenanceRootID    = "maintenance"
	APIID                = "api"
	TrustdID             = "trustd"
	KubernetesID         = "k8s-certs"
	KubernetesDynamicID  = "k8s-dynamic-certs"
	EtcdID               = "etcd"
	KubeletID            = "kubelet"
	CertSANAPIID         = "api"
	CertSANKubernetesID  = "k8s"
	CertSANMaintenanceID = "maintenance"
)
