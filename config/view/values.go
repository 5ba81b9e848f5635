// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/seed-59268b81/talos/config/v1alpha1"

// Types of all parts of a configuration.
type (
	MachineType = v1alpha1.MachineType
	CertPair    = v1alpha1.CertPair
	Cert        = v1alpha1.Cert
	URL         = v1alpha1.URL
	Object      = v1alpha1.Object
	ExtraArgs   = v1alpha1.ExtraArgs
)

// Types of the machine's settings.
type (
	KernelModule   = v1alpha1.KernelModule
	Registries     = v1alpha1.RegistriesConfig
	RegistryMirror = v1alpha1.RegistryMirror
	RegistryAccess = v1alpha1.RegistryAccess
	RegistryTLS    = v1alpha1.RegistryTLS
	ExtraHost      = v1alpha1.ExtraHost
	DeviceSelector = v1alpha1.DeviceSelector
)

// Types of the settings of Kubernetes' programs.
type (
	Kubelet               = v1alpha1.KubeletConfig
	IDMapping             = v1alpha1.IDMapping
	Etcd                  = v1alpha1.EtcdConfig
	APIServer             = v1alpha1.APIServerConfig
	ControllerManager     = v1alpha1.ControllerManagerConfig
	Scheduler             = v1alpha1.SchedulerConfig
	Proxy                 = v1alpha1.ProxyConfig
	CoreDNS               = v1alpha1.CoreDNSConfig
	CNI                   = v1alpha1.CNIConfig
	ExternalCloudProvider = v1alpha1.ExternalCloudProvider
	InlineManifest        = v1alpha1.InlineManifest
	VolumeMount           = v1alpha1.VolumeMount
	Resources             = v1alpha1.Resources
)

// The roles of a machine. Init is the older name for the first control plane machine.
const (
	TypeInit         = v1alpha1.TypeInit
	TypeControlPlane = v1alpha1.TypeControlPlane
	TypeWorker       = v1alpha1.TypeWorker
)

// IsTrue returns the value of a switch that is off by default.
func IsTrue(b *bool) bool { return v1alpha1.IsTrue(b) }

// IsTrueOr returns the value of a switch with a default.
func IsTrueOr(b *bool, unset bool) bool { return v1alpha1.Or(b, unset) }
