// SPDX-License-Identifier: Apache-2.0

package args_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/images"
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
			wanted: args.Set{"v": {"1"}, "audit-log-path": {"x"}},
			extra:  args.Set{"v": {"4"}},
			want:   []string{"--audit-log-path=x", "--v=4"},
		},
		"repeated": {
			extra: args.Set{"service-account-issuer": {"https://new", "https://old"}},
			want:  []string{"--service-account-issuer=https://new", "--service-account-issuer=https://old"},
		},
		"a list is added to, each element once": {
			wanted: args.Set{"feature-gates": {"AllAlpha=true,AllBeta=true"}},
			extra:  args.Set{"feature-gates": {"AllBeta=true", "OpenAPIEnums=false"}},
			want:   []string{"--feature-gates=AllAlpha=true,AllBeta=true,OpenAPIEnums=false"},
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
		"refused, without a value of the system": {
			extra: args.Set{"etcd-servers": {"https://elsewhere:2379"}},
			err:   `extra argument "etcd-servers" is not allowed`,
		},
		"the error names all refused flags": {
			extra: args.Set{"etcd-servers": {"x"}, "version": {"true"}},
			err:   "is not allowed: the system depends on it\nkube-apiserver: extra argument \"version\"",
		},
		"an underscore, which the programs accept for a dash": {
			extra: args.Set{"etcd_servers": {"https://elsewhere:2379"}},
			err:   `extra argument "etcd_servers" is not allowed: want the name of a flag`,
		},
		"two flags in a name": {
			extra: args.Set{"v=1 --etcd-servers": {"x"}},
			err:   "want the name of a flag",
		},
		"dashes before the name": {
			extra: args.Set{"--v": {"1"}},
			err:   "want the name of a flag without dashes before it",
		},
		"help": {
			extra: args.Set{"help": {"true"}},
			err:   "the program would exit at once",
		},
		"a flag that the program does not have": {
			extra: args.Set{"cloud-provider": {"external"}},
			err:   "has no flag --cloud-provider",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := args.Merge("kube-apiserver", images.DefaultKubeAPIServer, test.wanted, test.extra, policy)
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
