// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// nodenames names the Node after the host. A registered Node keeps its name unless a person chooses the hostname: under another name it
// would be another Node, without the pods, volumes and labels of the first. After a reboot the name is read from the kubelet's certificate
// on EPHEMERAL.
type nodenames struct {
	root string
	// looked is set when EPHEMERAL was examined.
	looked bool
	// named is the name that was published last, registered is the Node's name in the cluster.
	named, registered string
}

func nodenameController(root string) controller.Controller {
	n := &nodenames{root: root}

	return &controller.Reconciler{
		ControllerName: nodenameControllerName,
		Reads: append(volume.Inputs(),
			fromconfig.Input(),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[network.HostnameSpecSpec](controller.Weak, "", network.HostnameID),
			controller.In[secrets.KubeletSpec](controller.Weak, "", secrets.KubeletID),
			controller.In[k8s.NodeStatusSpec](controller.Weak, ""),
		),
		Writes:    []controller.Output{controller.Out[k8s.NodenameSpec](controller.Exclusive), volume.Output()},
		Cleanup:   []resource.Kind{resource.KindOf[k8s.NodenameSpec]("")},
		Reconcile: n.reconcile,
	}
}

const nodenameControllerName = "k8s.NodenameController"

func (n *nodenames) reconcile(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	cfg, err := fromconfig.Active(ctx, rt)
	if err != nil || cfg == nil {
		return err
	}

	spec, err := n.decide(ctx, rt, cfg)
	if err != nil {
		return err
	}

	if spec == nil { // not known now
		return keep.Outputs[k8s.NodenameSpec](ctx, rt, k8s.NodenameID)
	}

	n.named = spec.Nodename

	return typed.Set(ctx, rt, "", k8s.NodenameID, *spec)
}

// decide returns the Node's name; nil while it is not known.
func (n *nodenames) decide(ctx context.Context, rt controller.Runtime, cfg *view.Config) (*k8s.NodenameSpec, error) {
	settings := cfg.Kubelet()

	hostname, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
	if err != nil || hostname == nil {
		return nil, err
	}

	withDomain := view.IsTrue(settings.RegisterWithFQDN)

	wanted, err := nodename(*hostname.TypedSpec(), withDomain)
	if err != nil {
		return nil, err
	}

	chosen, known, err := chosenHostname(ctx, rt, *hostname.TypedSpec(), cfg.Hostname())
	if err != nil || !known {
		return nil, err
	}

	known, err = n.look(ctx, rt)
	if err != nil || !known && !chosen {
		return nil, err
	}

	otherForm, _ := nodename(*hostname.TypedSpec(), !withDomain) // empty on error
	name, kept := stickyName(wanted, otherForm, n.registered, chosen)

	return &k8s.NodenameSpec{
		Nodename: name, HostnameVersion: hostname.Metadata().VersionString(),
		SkipNodeRegistration: view.IsTrue(settings.SkipNodeRegistration), Kept: kept,
	}, nil
}

// chosenHostname reports whether a person chose the hostname, in the configuration or in the kernel's arguments. This is not known while
// the hostname is being changed, to configured or from what an earlier configuration had: a Node that was registered with it would keep it.
func chosenHostname(ctx context.Context, rt controller.Runtime, hostname network.HostnameStatusSpec, configured string) (chosen, known bool, err error) {
	var spec network.HostnameSpecSpec

	f := typed.Read(ctx, rt, network.HostnameID, &spec)
	if f.Err != nil || !f.OK {
		return false, f.Err == nil, f.Err
	}

	var wanted network.HostnameSpecSpec
	if configured != "" {
		if err := wanted.ParseFQDN(configured); err != nil {
			return false, false, err
		}
	}

	known = spec.Hostname == hostname.Hostname && spec.Domainname == hostname.Domainname
	if spec.Layer == network.LayerConfiguration || configured != "" {
		known = known && spec.Hostname == wanted.Hostname && spec.Domainname == wanted.Domainname
	}

	return spec.Layer == network.LayerConfiguration || spec.Layer == network.LayerCmdline, known, nil
}

// look finds the name under which the Node is registered. It reports false while EPHEMERAL is not mounted.
func (n *nodenames) look(ctx context.Context, rt controller.Runtime) (known bool, err error) {
	var (
		join   secrets.KubeletSpec
		status k8s.NodeStatusSpec
	)

	mounted, err := volume.Request(ctx, rt, nodenameControllerName, k8s.NodenameID, block.VolumeEphemeral, func(context.Context) error { return nil })
	if err != nil {
		return false, err
	}

	if f := typed.Read(ctx, rt, secrets.KubeletID, &join); f.Err != nil {
		return false, f.Err
	} else if f.OK && mounted != "" && !n.looked {
		n.registered = kubelet.RegisteredName(os.DirFS(filepath.Join(n.root, kubelet.PKIDir)), join)
		n.looked = true
	}

	if n.named == "" {
		return n.looked, nil
	}

	f := typed.Read(ctx, rt, n.named, &status)
	if f.OK {
		n.registered = n.named
	}

	return n.looked, f.Err
}

// stickyName returns the Node's name, and why it is not the hostname. otherForm is the hostname with its domain, if wanted is without it, or
// the other way round: a person chooses this too.
func stickyName(wanted, otherForm, registered string, chosen bool) (name, kept string) {
	if chosen || registered == "" || registered == wanted || registered == otherForm {
		return wanted, ""
	}

	return registered, fmt.Sprintf("the hostname is %s by default or by DHCP, and the Node is registered as %s", wanted, registered)
}

// nodename turns a hostname into a Node's name (RFC 1123: lower case letters, digits, inner hyphens and dots).
func nodename(hostname network.HostnameStatusSpec, withDomain bool) (string, error) {
	name := hostname.Hostname
	if withDomain {
		name = hostname.FQDN()
	}

	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.':
			return c
		case c == '_':
			return '-'
		default:
			return -1
		}
	}, strings.ToLower(name))

	if name = strings.Trim(name, "-."); name == "" {
		return "", fmt.Errorf("hostname %q has no letter or digit that a Kubernetes node name may have", hostname.Hostname)
	}

	return name, nil
}
