// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Etcd is etcd's settings.
func (c *Config) Etcd() Etcd {
	etcd := c.main.Cluster.Etcd
	etcd.Image = cmp.Or(etcd.Image, images.DefaultEtcd)

	return etcd
}

// APIServer is the API server's settings.
func (c *Config) APIServer() APIServer {
	server := c.main.Cluster.APIServer
	server.Image = cmp.Or(server.Image, images.DefaultKubeAPIServer)

	return server
}

// ControllerManager is the controller manager's settings, and whether it runs on this machine.
func (c *Config) ControllerManager() (manager ControllerManager, enabled bool) {
	manager = c.main.Cluster.ControllerManager
	manager.Image = cmp.Or(manager.Image, images.DefaultKubeControllerManager)

	return manager, !IsTrue(c.main.Machine.Plane.ControllerManager.Disabled)
}

// Scheduler is the scheduler's settings, and whether it runs on this machine.
func (c *Config) Scheduler() (scheduler Scheduler, enabled bool) {
	scheduler = c.main.Cluster.Scheduler
	scheduler.Image = cmp.Or(scheduler.Image, images.DefaultKubeScheduler)

	return scheduler, !IsTrue(c.main.Machine.Plane.Scheduler.Disabled)
}

// Proxy is kube-proxy's settings.
func (c *Config) Proxy() Proxy {
	proxy := c.main.Cluster.Proxy
	proxy.Image = cmp.Or(proxy.Image, images.DefaultKubeProxy)
	proxy.Mode = cmp.Or(proxy.Mode, v1alpha1.DefaultProxyMode)

	return proxy
}

// CoreDNS is the settings of the cluster's DNS.
func (c *Config) CoreDNS() CoreDNS {
	dns := c.main.Cluster.CoreDNS
	dns.Image = cmp.Or(dns.Image, images.DefaultCoreDNS)

	return dns
}

// Names of pod networks.
const (
	CNIFlannel = v1alpha1.DefaultCNI
	CNICustom  = "custom"
)

// CNI is the pod network.
func (c *Config) CNI() CNI {
	cni := c.main.Cluster.Network.CNI
	cni.Name = cmp.Or(cni.Name, CNIFlannel)

	return cni
}

// ExternalCloudProvider is the cloud's controller.
func (c *Config) ExternalCloudProvider() ExternalCloudProvider {
	return c.main.Cluster.ExternalCloudProvider
}

// ExtraManifests are URLs of manifests, and ExtraManifestHeaders what is sent to get them.
func (c *Config) ExtraManifests() []string { return c.main.Cluster.ExtraManifests }

// ExtraManifestHeaders are sent to get ExtraManifests.
func (c *Config) ExtraManifestHeaders() map[string]string { return c.main.Cluster.ExtraManifestHeaders }

// InlineManifests are texts of manifests.
func (c *Config) InlineManifests() []InlineManifest { return c.main.Cluster.InlineManifests }

// Kubelet is the kubelet's settings.
func (c *Config) Kubelet() Kubelet {
	kubelet := c.main.Machine.Kubelet
	kubelet.Image = cmp.Or(kubelet.Image, images.DefaultKubelet)

	return kubelet
}

// DiskQuotas reports whether the kubelet measures volumes by project quotas.
func (c *Config) DiskQuotas() bool { return IsTrue(c.main.Machine.Features.DiskQuotaSupport) }

// StaticPods are pods that the kubelet runs besides the control plane's.
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
