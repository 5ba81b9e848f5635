// SPDX-License-Identifier: Apache-2.0

package args_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/args"
)

func TestMerge(t *testing.T) {
	policy := args.Policy{"feature-gates": args.Additive, "etcd-servers": args.Denied}

	for name, test := range map[string]struct {
		wanted, extra args.Set
		want          []string
		err           string
	}{
		"nothing": {want: []string{}},
		"sorted and replaced": {
			wanted: args.Set{"v": {"1"}, "a": {"x"}},
			extra:  args.Set{"v": {"4"}},
			want:   []string{"--a=x", "--v=4"},
		},
		"repeated": {
			extra: args.Set{"service-account-issuer": {"https://new", "https://old"}},
			want:  []string{"--service-account-issuer=https://new", "--service-account-issuer=https://old"},
		},
		"a list is added to, each element once": {
			wanted: args.Set{"feature-gates": {"A=true,B=true"}},
			extra:  args.Set{"feature-gates": {"B=true", "C=false"}},
			want:   []string{"--feature-gates=A=true,B=true,C=false"},
		},
		"no value removes the flag": {
			wanted: args.Set{"profiling": {"false"}},
			extra:  args.Set{"profiling": {}},
			want:   []string{},
		},
		"refused": {
			wanted: args.Set{"etcd-servers": {"https://localhost:2379"}},
			extra:  args.Set{"etcd-servers": {"https://elsewhere:2379"}},
			err:    `kube-apiserver: extra argument "etcd-servers" is not allowed`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := args.Merge("kube-apiserver", test.wanted, test.extra, policy)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
		})
	}
}
