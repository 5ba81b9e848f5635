// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Kubernetes prints the flags of Kubernetes' programs, from their flag sets: PROGRAM FLAG TYPE, one line each. It also
// prints the feature gates: PROGRAM NAME gate, or gate=VALUE for a gate that cannot be changed. It is compiled in the module
// build/modules/kubernetes, from the same code as the programs.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app/options"
)

func main() {
	program := os.Args[1]

	switch program {
	case "types":
		listTypes()

		return
	case "pods":
		pods(os.Args[2])

		return
	}

	set, err := flagsOf(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	set.VisitAll(func(f *pflag.Flag) { fmt.Println(program, f.Name, f.Value.Type()) })

	gates := utilfeature.DefaultMutableFeatureGate.GetAll()
	names := make([]string, 0, len(gates))

	for name := range gates {
		names = append(names, string(name))
	}

	slices.Sort(names)

	for _, name := range names {
		kind := "gate"
		if spec := gates[featuregate.Feature(name)]; spec.LockToDefault {
			kind = fmt.Sprintf("gate=%t", spec.Default)
		}

		fmt.Println(program, name, kind)
	}
}

func flagsOf(program string) (*pflag.FlagSet, error) {
	switch program {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand().Flags(), nil
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand().Flags(), nil
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand().Flags(), nil
	case "kube-proxy":
		return proxy.NewProxyCommand().Flags(), nil
	case "kubelet":
		// Its command has no cobra flags: it parses its own flag set, which consists of these three.
		config, err := kubelet.NewKubeletConfiguration()
		if err != nil {
			return nil, err
		}

		set := pflag.NewFlagSet(program, pflag.ContinueOnError)
		kubelet.NewKubeletFlags().AddFlags(set)
		kubelet.AddKubeletConfigFlags(set, config)
		kubelet.AddGlobalFlags(set)

		return set, nil
	default:
		return nil, fmt.Errorf("flags: unknown program %s", program)
	}
}
