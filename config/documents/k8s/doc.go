// SPDX-License-Identifier: Apache-2.0

// Package k8s has the documents about Kubernetes.
package k8s

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{
		admissionControl, aggregatorCA, apiServer, apiServerCA, auditPolicy, authentication, authorizer, cluster, controllerManager, coreDNS,
		credentialProvider, etcdEncryption, externalManifest, flannel, inlineManifest, kubelet, kubePrism, network, node, proxy, scheduler,
		serviceAccount, staticPod, talosAPIAccess,
	}
}
