// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/layout"
)

func (c *check) machine(m *v1alpha1.MachineConfig) {
	switch m.Type {
	case "":
		c.wrong("machine.type", "is missing: want controlplane or worker")
	case v1alpha1.TypeInit:
		c.warn("machine.type", "init is deprecated: use controlplane, and run \"talosctl bootstrap\" on one machine")
	}

	c.token("machine.token", m.Token)

	if c.controlPlane {
		c.issuing("machine.ca", m.CA)
	} else {
		c.trusted("machine.ca.crt", m.CA.Crt)

		if len(m.CA.Key) > 0 {
			c.warn("machine.ca.key", "a worker does not need the key of the authority: remove it")
		}
	}

	c.accepted("machine.acceptedCAs", m.AcceptedCAs)
	c.kernel(m)
	c.container(m)
	c.files(m.Files)
	c.nodeMeta(m)

	if m.Time.BootTimeout < 0 {
		c.wrong("machine.time.bootTimeout", "%s is negative", m.Time.BootTimeout)
	}

	for i, server := range m.Time.Servers {
		if _, err := netip.ParseAddr(server); err != nil && !dnsName(server) && !strings.HasPrefix(server, "/dev/") {
			c.wrong(index("machine.time.servers", i), "%q is neither a hostname nor an address", server)
		}
	}

	for i, d := range m.Logging.Destinations {
		at := index("machine.logging.destinations", i)
		c.oneOf(at+".endpoint", d.Endpoint.Scheme, "tcp", "udp")

		if d.Endpoint.Host != "" && d.Endpoint.Port() == "" {
			c.wrong(at+".endpoint", "has no port")
		}

		c.oneOf(at+".format", d.Format, "json_lines")
	}
}

func (c *check) kernel(m *v1alpha1.MachineConfig) {
	for i, module := range m.Kernel.Modules {
		if module.Name == "" || strings.ContainsAny(module.Name, "/ \t\n") {
			c.wrong(index("machine.kernel.modules", i)+".name", "%q is not the name of a kernel module", module.Name)
		}
	}

	for key := range m.Sysctls {
		if key == "" || strings.Contains(key, "..") || strings.HasPrefix(key, "/") || strings.ContainsAny(key, " \t\n") {
			c.wrong("machine.sysctls", "%q is not a sysctl: want a name such as net.ipv4.ip_forward", key)
		}
	}

	for i, profile := range m.Seccomp {
		if profile.Name == "" || profile.Name != filepath.Base(profile.Name) {
			c.wrong(index("machine.seccompProfiles", i)+".name", "%q is not a file name", profile.Name)
		}
	}
}

func (c *check) files(files []v1alpha1.MachineFile) {
	for i, f := range files {
		at := index("machine.files", i)

		if !filepath.IsAbs(f.Path) {
			c.wrong(at+".path", "%q is not an absolute path", f.Path)
		}

		if name := path.Clean(f.Path); filepath.IsAbs(f.Path) && !strings.HasPrefix(name, "/etc/") && !strings.HasPrefix(name, layout.VarDir+"/") {
			c.warn(at+".path", "%q is not written: only files below /etc and %s are", f.Path, layout.VarDir)
		}

		if f.Op == "" {
			c.wrong(at+".op", "is missing: want create, append or overwrite")
		}

		c.oneOf(at+".op", f.Op, "create", "append", "overwrite")
	}
}

// nodeMeta checks labels, annotations and taints as Kubernetes does.
func (c *check) nodeMeta(m *v1alpha1.MachineConfig) {
	for key, value := range m.NodeLabels {
		at := strict.Join("machine.nodeLabels", key)

		if !labelKey(key) {
			c.wrong(at, "is not the key of a Kubernetes label")
		}

		if value != "" && !labelName.MatchString(value) {
			c.wrong(at, "%q is not the value of a Kubernetes label: want up to 63 letters, digits, dots, dashes and underscores", value)
		}
	}

	for key := range m.Annotations {
		if !labelKey(key) {
			c.wrong(strict.Join("machine.nodeAnnotations", key), "is not the key of a Kubernetes annotation")
		}
	}

	for key, taint := range m.Taints {
		at := strict.Join("machine.nodeTaints", key)
		value, effect, found := strings.Cut(taint, ":")

		if !found {
			value, effect = "", taint
		}

		if !labelKey(key) {
			c.wrong(at, "is not the key of a Kubernetes taint")
		}

		if value != "" && !labelName.MatchString(value) || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			c.wrong(at, "%q is not a taint: want VALUE:EFFECT, the effect one of NoSchedule, PreferNoSchedule, NoExecute", taint)
		}
	}
}

func (c *check) install(in *v1alpha1.InstallConfig) {
	selector := in.DiskSelector != v1alpha1.InstallDiskSelector{}

	if c.mode == Metal && in.Disk == "" && !selector && !c.installs {
		c.wrong("machine.install", "names no disk: set machine.install.disk (such as /dev/sda) or machine.install.diskSelector")
	}

	if in.Disk != "" && selector {
		c.warn("machine.install.diskSelector", "overrides machine.install.disk (%s): keep one", in.Disk)
	}

	if !v1alpha1.Or(in.Bootloader, true) {
		c.warn("machine.install.bootloader", "false has no effect: a disk without a boot loader would not start")
	}

	if !v1alpha1.Or(in.GrubUseUKICmdline, true) {
		c.warn("machine.install.grubUseUKICmdline", "false has no effect: the kernel gets the arguments of the release, and those of extraKernelArgs besides")
	}

	c.image("machine.install.image", in.Image)

	if len(in.Extensions) > 0 {
		c.warn("machine.install.extensions", "is deprecated: use an installer image that has the extensions")
	}
}

func (c *check) features(f *v1alpha1.FeaturesConfig) {
	if f.RBAC != nil && !*f.RBAC {
		c.warn("machine.features.rbac", "false has no effect: the roles of clients are always checked")
	}

	c.oneOf("machine.features.nodeAddressSortAlgorithm", f.NodeAddressSortAlgorithm, "v1", "v2")

	if port := f.KubePrism.Port; port < 0 || port > 65535 {
		c.wrong("machine.features.kubePrism.port", "%d is not a port", port)
	}

	if c.mode == Container && (!v1alpha1.IsTrue(f.HostDNS.Enabled) || !v1alpha1.IsTrue(f.HostDNS.ForwardKubeDNSToHost)) {
		c.wrong("machine.features.hostDNS", "a machine in a container needs both enabled and forwardKubeDNSToHost set to true")
	}

	access := f.KubernetesTalosAPIAccess

	if !v1alpha1.IsTrue(access.Enabled) {
		return
	}

	if !c.controlPlane {
		c.wrong("machine.features.kubernetesTalosAPIAccess", "is for control plane machines: remove it from workers")
	}

	for i, role := range access.AllowedRoles {
		c.oneOf(index("machine.features.kubernetesTalosAPIAccess.allowedRoles", i), role, contract.Roles()...)
	}
}
