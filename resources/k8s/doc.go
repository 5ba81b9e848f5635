// SPDX-License-Identifier: Apache-2.0

// Package k8s holds the resources of Kubernetes on this node: settings of the control plane and of the
// kubelet, what is rendered from them, and the observed state of the cluster.
package k8s

import "github.com/seed-59268b81/talos/resources/definition"

// Namespaces: control plane settings have one of their own.
const (
	NamespaceName         = "k8s"
	ControlPlaneNamespace = "controlplane"
)

const group = "kubernetes.talos.dev"

var (
	domain       = definition.Domain{Group: group, Namespace: NamespaceName}
	controlPlane = definition.Domain{Group: group, Namespace: ControlPlaneNamespace}
	nodeSpecs    = definition.Domain{Group: "k8s.talos.dev", Namespace: NamespaceName}.Sensitive()
)

// FinalPrefix starts the id of the final copy of a control plane component's settings.
const FinalPrefix = "final-"

// Singleton ids.
const (
	APIServerID          = "kube-apiserver"
	ControllerManagerID  = "kube-controller-manager"
	SchedulerID          = "kube-scheduler"
	AdmissionControlID   = "admission-control"
	AuditPolicyID        = "audit-policy"
	AuthenticationID     = "authentication"
	AuthorizationID      = "authorization"
	BootstrapManifestsID = "manifests"
	ExtraManifestsID     = "extra-manifests"
	ManifestStatusID     = "manifests"
	StaticPodsID         = "static-pods" // of SecretStatuses and ConfigStatuses
	StaticPodServerID    = "static-pod-server"
	EtcdEncryptionID     = "etcd-encryption"
	KubeletID            = "kubelet"
	NodenameID           = "nodename"
	NodeIPID             = "kubelet"
	NodeCordonedID       = "nodecordoned"
	EndpointAPIServerID  = "kube-apiserver"
	EndpointControlPlane = "controlplane"
	EndpointDiscoveryID  = "discovery"
	EndpointKeptID       = "kept" // on STATE, until an API server answers
	KubePrismConfigID    = "k8s-loadbalancer-config"
	KubePrismEndpointsID = "k8s-cluster"
	KubePrismStatusID    = "k8s-loadbalancer"
)
