// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Etcd returns the settings of etcd.
func (c *Config) Etcd() Etcd {
	etcd := c.main.Cluster.Etcd
	etcd.Image = cmp.Or(etcd.Image, images.DefaultEtcd)

	return etcd
}

// APIServer returns the settings of the API server.
func (c *Config) APIServer() APIServer {
	server := c.main.Cluster.APIServer
	server.Image = cmp.Or(server.Image, images.DefaultKubeAPIServer)

	return server
}

// ControllerManager returns the settings of the controller manager, and reports whether it runs on this machine.
func (c *Config) ControllerManager() (manager ControllerManager, enabled bool) {
	manager = c.main.Cluster.ControllerManager
	manager.Image = cmp.Or(manager.Image, images.DefaultKubeControllerManager)

	return manager, !IsTrue(c.main.Machine.Plane.ControllerManager.Disabled)
}

// Scheduler returns the settings of the scheduler, and reports whether it runs on this machine.
func (c *Config) Scheduler() (scheduler Scheduler, enabled bool) {
	scheduler = c.main.Cluster.Scheduler
	scheduler.Image = cmp.Or(scheduler.Image, images.DefaultKubeScheduler)

	return scheduler, !IsTrue(c.main.Machine.Plane.Scheduler.Disabled)
}

// Proxy returns the settings of kube-proxy.
func (c *Config) Proxy() Proxy {
	proxy := c.main.Cluster.Proxy
	proxy.Image = cmp.Or(proxy.Image, images.DefaultKubeProxy)
	proxy.Mode = cmp.Or(proxy.Mode, v1alpha1.DefaultProxyMode)

	return proxy
}

// CoreDNS returns the settings of the cluster's DNS.
func (c *Config) CoreDNS() CoreDNS {
	dns := c.main.Cluster.CoreDNS
	dns.Image = cmp.Or(dns.Image, images.DefaultCoreDNS)

	return dns
}

// Names of pod networks.
const (
	CNIFlannel = v1alpha1.DefaultCNI
	CNICustom  = "custom"
	CNINone    = "none"
)

// CNI returns the settings of the pod network.
func (c *Config) CNI() CNI {
	cni := c.main.Cluster.Network.CNI
	cni.Name = cmp.Or(cni.Name, c.defaultCNI())

	return cni
}

// ExternalCloudProvider returns the settings of the cloud's controller.
func (c *Config) ExternalCloudProvider() ExternalCloudProvider {
	return c.main.Cluster.ExternalCloudProvider
}

// InlineManifests are texts of manifests.
func (c *Config) InlineManifests() []InlineManifest { return c.main.Cluster.InlineManifests }

// Kubelet returns the settings of the kubelet.
func (c *Config) Kubelet() Kubelet {
	kubelet := c.main.Machine.Kubelet
	kubelet.Image = cmp.Or(kubelet.Image, images.DefaultKubelet)

	return kubelet
}

// DiskQuotas reports whether the kubelet measures volumes by project quotas.
func (c *Config) DiskQuotas() bool { return IsTrue(c.main.Machine.Features.DiskQuotaSupport) }

// StaticPods are static pods besides those of the control plane.
func (c *Config) StaticPods() []Object { return c.main.Machine.Pods }

// NodeLabels are labels of the machine's Node.
func (c *Config) NodeLabels() map[string]string { return c.main.Machine.NodeLabels }

// NodeAnnotations are annotations of the machine's Node.
func (c *Config) NodeAnnotations() map[string]string { return c.main.Machine.Annotations }

// NodeTaints are taints of the machine's Node, VALUE:EFFECT or EFFECT by key.
func (c *Config) NodeTaints() map[string]string { return c.main.Machine.Taints }

// ScheduleOnControlPlanes reports whether ordinary pods may run on control plane machines.
func (c *Config) ScheduleOnControlPlanes() bool {
	return IsTrue(c.main.Cluster.AllowSchedulingOnControlPlanes) || IsTrue(c.main.Cluster.AllowSchedulingOnMasters)
}
