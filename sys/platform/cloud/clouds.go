// SPDX-License-Identifier: Apache-2.0

package cloud

// clouds are all clouds by the names of the kernel argument talos.platform.
var clouds = map[string]cloud{
	"akamai":        akamai,
	"alibabacloud":  alibabacloud,
	"aws":           aws,
	"azure":         azure,
	"cloudstack":    cloudstack,
	"digital-ocean": digitalOcean,
	"equinixMetal":  equinixMetal,
	"exoscale":      exoscale,
	"gcp":           gcp,
	"hcloud":        hcloud,
	"nocloud":       nocloud,
	"opennebula":    opennebula,
	"openstack":     openstack,
	"oracle":        oracle,
	"scaleway":      scaleway,
	"upcloud":       upcloud,
	"vmware":        vmware,
	"vultr":         vultr,
}

// everywhere is the address of most clouds' metadata servers.
const everywhere = "http://169.254.169.254/"
