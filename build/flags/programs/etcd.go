// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Etcd prints etcd's flags, from etcd's flag set: etcd FLAG TYPE, one line each. It also prints
// the feature gates: etcd NAME gate. It is compiled in the module build/modules/etcd.
package main

import (
	"flag"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/pkg/v3/featuregate"
	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	set := flag.NewFlagSet("etcd", flag.ContinueOnError)
	config := embed.NewConfig()
	config.AddFlags(set)

	// The program adds these flags to those of the library (server/etcdmain/config.go); other packages cannot call that code.
	for _, name := range []string{"config-file", "discovery-fallback", "initial-cluster-state", "v2-deprecation"} {
		set.String(name, "", "")
	}

	set.Bool("version", false, "")

	var lines []string

	for name, spec := range config.ServerFeatureGate.(featuregate.MutableFeatureGate).GetAll() {
		kind := "gate"
		if spec.LockToDefault {
			kind = fmt.Sprintf("gate=%t", spec.Default)
		}

		lines = append(lines, fmt.Sprintf("etcd %s %s", name, kind))
	}

	set.VisitAll(func(f *flag.Flag) { lines = append(lines, "etcd "+f.Name+" "+kind(f.Value)) })
	slices.Sort(lines)

	for _, line := range lines {
		fmt.Println(line)
	}
}

// kind returns pflag's name of a value's type.
func kind(v flag.Value) string {
	getter, ok := v.(flag.Getter)
	if !ok {
		return "string"
	}

	switch getter.Get().(type) {
	case bool:
		return "bool"
	case int:
		return "int"
	case int64:
		return "int64"
	case uint:
		return "uint"
	case uint64:
		return "uint64"
	case float64:
		return "float64"
	case time.Duration:
		return "duration"
	default:
		return "string"
	}
}
