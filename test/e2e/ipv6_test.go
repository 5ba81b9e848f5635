// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// everywhere is a server on each node, and a Service of all families that the cluster has.
const everywhere = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      containers:
        - name: server
          image: ` + images.DefaultAgnhost + `
          args: [netexec, --http-port=8080]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 2}
---
apiVersion: v1
kind: Service
metadata: {name: everywhere, labels: {app: everywhere}}
spec:
  ipFamilyPolicy: PreferDualStack
  selector: {app: everywhere}
  ports: [{port: 80, targetPort: 8080}]
`

// TestIPv6 has pods on two nodes reach each other by all their addresses, and by those of a Service, in clusters whose machines have IPv6
// alone, and both families.
func TestIPv6(t *testing.T) {
	cluster.NeedsTime(t, 10*time.Minute)

	for _, tt := range []struct {
		flag     string
		families string // of a pod's addresses, in order
	}{
		{"--ipv6-only", "6"},
		{"--ipv6", "46"},
	} {
		t.Run(strings.TrimPrefix(tt.flag, "--"), func(t *testing.T) {
			l := cluster.NewUserLab(t, "e2e-"+strings.TrimPrefix(tt.flag, "--"))
			l.Create(10*time.Minute, "cluster", "create", "container", "--workers", "1", tt.flag)

			if _, err := kubectl(t.Context(), l, everywhere, "apply", "-f", "-"); err != nil {
				t.Fatal(err)
			}

			var pods [][]netip.Addr

			until(t, 3*time.Minute, "both servers are ready", func() (err error) {
				pods, err = addresses(t.Context(), l, "pods", `jsonpath={range .items[?(@.status.containerStatuses[0].ready==true)]}{.status.podIPs[*].ip}{"\n"}{end}`)
				if err == nil && len(pods) != 2 {
					err = fmt.Errorf("got the pods' addresses %v", pods)
				}

				return err
			})

			services, err := addresses(t.Context(), l, "services", `jsonpath={range .items[*]}{.spec.clusterIPs[*]}{"\n"}{end}`)
			if err != nil || len(services) != 1 {
				t.Fatalf("got the Service's addresses %v, %v", services, err)
			}

			for _, all := range append(pods, services...) {
				if got := families(all); got != tt.families {
					t.Errorf("got the addresses %v, want the families %s", all, tt.families)
				}
			}

			from, err := kubectl(t.Context(), l, "", "get", "pods", "-l", "app=everywhere", "-o", "name")
			if err != nil {
				t.Fatal(err)
			}

			targets := map[string]bool{"everywhere.default.svc.cluster.local": true}

			for _, addr := range append(pods[0], pods[1]...) {
				targets[netip.AddrPortFrom(addr, 8080).String()] = true
			}

			for _, addr := range services[0] {
				targets[netip.AddrPortFrom(addr, 80).String()] = true
			}

			for pod := range strings.FieldsSeq(from) {
				for target := range targets {
					until(t, time.Minute, pod+" reaches "+target, func() error {
						_, err := kubectl(t.Context(), l, "", "exec", pod, "--", "timeout", "10", "wget", "-q", "-O", "-", "http://"+target+"/hostname")

						return err
					})
				}
			}
		})
	}
}

// addresses returns the addresses of objects with the label app=everywhere, of which the output has a line each.
func addresses(ctx context.Context, l *cluster.UserLab, kind, output string) (out [][]netip.Addr, err error) {
	text, err := kubectl(ctx, l, "", "get", kind, "-l", "app=everywhere", "-o", output)
	if err != nil {
		return nil, err
	}

	for line := range strings.Lines(text) {
		var all []netip.Addr

		for field := range strings.FieldsSeq(line) {
			addr, err := netip.ParseAddr(field)
			if err != nil {
				return nil, err
			}

			all = append(all, addr)
		}

		out = append(out, all)
	}

	return out, nil
}

func families(all []netip.Addr) (out string) {
	for _, addr := range all {
		if addr.Is4() {
			out += "4"
		} else {
			out += "6"
		}
	}

	return out
}
