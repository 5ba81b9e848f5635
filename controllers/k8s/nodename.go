// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// nodenameController names the Node after the host.
func nodenameController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.NodenameController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
		},
		Writes:  []controller.Output{controller.Out[k8s.NodenameSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.NodenameSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Main(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			hostname, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
			if err != nil || hostname == nil {
				return err
			}

			kubelet := &cfg.Machine.Kubelet

			name, err := nodename(*hostname.TypedSpec(), v1alpha1.IsTrue(kubelet.RegisterWithFQDN))
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", k8s.NodenameID, k8s.NodenameSpec{
				Nodename:             name,
				HostnameVersion:      hostname.Metadata().VersionString(),
				SkipNodeRegistration: v1alpha1.IsTrue(kubelet.SkipNodeRegistration),
			})
		},
	}
}

// nodename makes a Node's name (RFC 1123: lower case letters, digits, inner hyphens and dots) of a hostname.
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
