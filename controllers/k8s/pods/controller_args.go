// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

var controllerManagerPolicy = args.Policy{
	"controllers":   args.Additive,
	"feature-gates": args.Additive,

	"service-cluster-ip-range":         args.Denied,
	"cluster-cidr":                     args.Denied,
	"cluster-signing-cert-file":        args.Denied,
	"cluster-signing-key-file":         args.Denied,
	"authentication-kubeconfig":        args.Denied,
	"authorization-kubeconfig":         args.Denied,
	"kubeconfig":                       args.Denied,
	"root-ca-file":                     args.Denied,
	"service-account-private-key-file": args.Denied,
}

// ControllerManagerArgs returns the command line of kube-controller-manager.
func ControllerManagerArgs(cfg k8s.ControllerManagerConfigSpec) ([]string, error) {
	const c = ControllerManager

	kubeconfig := secret(c, "kubeconfig")

	wanted := args.Set{
		"allocate-node-cidrs":       {"true"},
		"authentication-kubeconfig": {kubeconfig},
		"authorization-kubeconfig":  {kubeconfig},
		"bind-address":              {"127.0.0.1"},
		// Without these two the controller manager reads them from the cluster at its start, and exits if the API server has not written them yet.
		"client-ca-file":               {secret(c, "accepted-ca.crt")},
		"requestheader-client-ca-file": {secret(c, "aggregator-ca.crt")},
		"requestheader-allowed-names":  {secrets.FrontProxyName},
		"cluster-cidr":                 {strings.Join(cfg.PodCIDRs, ",")},
		"cluster-signing-cert-file":    {secret(c, "ca.crt")},
		"cluster-signing-key-file":     {secret(c, "ca.key")},
		"configure-cloud-routes":       {"false"},
		// The token cleaner removes expired bootstrap tokens. "*" does not include it.
		"controllers":                      {"*,tokencleaner"},
		"kubeconfig":                       {kubeconfig},
		"leader-elect":                     {"true"},
		"profiling":                        {"false"},
		"root-ca-file":                     {secret(c, "accepted-ca.crt")},
		"service-account-private-key-file": {secret(c, "service-account.key")},
		"service-cluster-ip-range":         {strings.Join(cfg.ServiceCIDRs, ",")},
		"terminated-pod-gc-threshold":      {"100"},
		"tls-min-version":                  {"VersionTLS13"},
		"use-service-account-credentials":  {"true"},
	}

	if cfg.CloudProvider != "" {
		wanted["cloud-provider"] = []string{cfg.CloudProvider}
	}

	if err := nodeMasks(cfg, wanted); err != nil {
		return nil, err
	}

	return args.Merge(c, cfg.Image, wanted, args.Of(cfg.ExtraArgs), controllerManagerPolicy)
}

// nodeMasks adds the lengths of the prefixes of nodes' pod networks. The program does not start with that of a family without a pod network,
// nor with the flag for both families beside these.
func nodeMasks(cfg k8s.ControllerManagerConfigSpec, wanted args.Set) error {
	const both = "node-cidr-mask-size"

	for _, family := range []struct {
		flag string
		bits int
		is6  bool
	}{{both + "-ipv4", cfg.NodeCIDRMaskSizeIPv4, false}, {both + "-ipv6", cfg.NodeCIDRMaskSizeIPv6, true}} {
		has := slices.ContainsFunc(cfg.PodCIDRs, func(cidr string) bool { return strings.Contains(cidr, ":") == family.is6 })
		if family.bits == 0 || !has {
			continue
		}

		if _, conflict := cfg.ExtraArgs[both]; conflict {
			return fmt.Errorf("%s: extra argument %q is not allowed: KubeNetworkConfig sets the size already", ControllerManager, both)
		}

		wanted[family.flag] = []string{strconv.Itoa(family.bits)}
	}

	return nil
}

var schedulerPolicy = args.Policy{
	"feature-gates": args.Additive,

	"kubeconfig":                args.Denied,
	"authentication-kubeconfig": args.Denied,
	"authorization-kubeconfig":  args.Denied,
	"config":                    args.Denied,
	"write-config-to":           args.Denied,
}

// SchedulerArgs returns the command line of kube-scheduler.
func SchedulerArgs(cfg k8s.SchedulerConfigSpec) ([]string, error) {
	const c = Scheduler

	kubeconfig := secret(c, "kubeconfig")

	return args.Merge(c, cfg.Image, args.Set{
		"authentication-kubeconfig": {kubeconfig},
		"authorization-kubeconfig":  {kubeconfig},
		"bind-address":              {"127.0.0.1"},
		"config":                    {config(c, "scheduler-config.yaml")},
		"leader-elect":              {"true"},
		"profiling":                 {"false"},
		"tls-min-version":           {"VersionTLS13"},
	}, args.Of(cfg.ExtraArgs), schedulerPolicy)
}
