// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// FuzzListOptions decodes a query from the wire: an error of the right class, or exactly the resources that match it one by
// one, although the store uses its label index.
func FuzzListOptions(f *testing.F) {
	for op := range v1alpha1.LabelTerm_Operation_name {
		for _, invert := range []bool{false, true} {
			in, err := proto.Marshal(&v1alpha1.ListOptions{
				LabelQuery: []*v1alpha1.LabelQuery{{Terms: []*v1alpha1.LabelTerm{
					{Key: "a", Op: v1alpha1.LabelTerm_Operation(op), Value: []string{"1Ki", "x"}, Invert: invert}, {Key: "b"},
				}}, {}},
				IdQuery: &v1alpha1.IDQuery{Regexp: "^[a-c]$"},
			})
			if err != nil {
				f.Fatal(err)
			}

			f.Add(in, "a", "1024", "b", "")
		}
	}

	f.Fuzz(func(t *testing.T, in []byte, key1, value1, key2, value2 string) {
		var options v1alpha1.ListOptions
		if proto.Unmarshal(in, &options) != nil {
			return
		}

		queries, id, err := queriesOf(&options)
		if err != nil {
			if c := status.Code(err); c != codes.InvalidArgument && c != codes.Unimplemented {
				t.Errorf("got %v", err)
			}

			return
		}

		st := memory.New()
		labels := map[string]map[string]string{
			"a": {}, "b": {key1: value1}, "c": {key2: value2}, "d": {key1: value2, key2: value1}, "e": {key1: value1, key2: value2},
		}

		for name, all := range labels {
			item := conformance.NewItem("n", name, "")
			for k, v := range all {
				item.Metadata().SetLabel(k, v)
			}

			if err := st.Create(t.Context(), item); err != nil {
				t.Fatal(err)
			}
		}

		var (
			opts []state.ListOption
			want []string
			got  []string
		)

		for _, q := range queries {
			opts = append(opts, state.WithLabelQuery(q.Terms...))
		}

		if id != nil {
			opts = append(opts, state.WithIDQuery(id))
		}

		for _, name := range slices.Sorted(maps.Keys(labels)) {
			if resource.MatchAnyQuery(queries, resource.KeyValuesOf(labels[name])) && (id == nil || id.MatchString(name)) {
				want = append(want, name)
			}
		}

		items, err := st.List(t.Context(), resource.KindOf[conformance.ItemSpec]("n"), opts...)
		if err != nil {
			t.Fatal(err)
		}

		for _, r := range items {
			got = append(got, r.Metadata().ID())
		}

		if !slices.Equal(got, want) {
			t.Errorf("%v of %v: got %q, want %q", &options, labels, got, want)
		}
	})
}
