// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/mutation"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// HostSpec is a host with the requested name.
type HostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

var hostDefinition = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}

func (HostSpec) Definition() *resource.Definition { return hostDefinition }

// printing is a testing.TB that prints.
type printing struct{ atEnd []func() }

func (*printing) Helper()             {}
func (p *printing) Cleanup(fn func()) { p.atEnd = append(p.atEnd, fn) }
func (*printing) Errorf(format string, args ...any) {
	first, _, _ := strings.Cut(fmt.Sprintf(format, args...), ": a reader wrote")
	fmt.Println(first)
}

// Code that changes a spec which it has read is found when the test ends.
func Example() {
	ctx, t := context.Background(), &printing{}
	st := mutation.Detect(t, memory.New())

	if err := typed.Set(ctx, st, "", "web", HostSpec{Name: "www"}); err != nil {
		panic(err)
	}

	host, err := typed.Get[HostSpec](ctx, st, "", "web")
	if err != nil {
		panic(err)
	}

	host.TypedSpec().Name = "changed for all readers"

	for _, fn := range t.atEnd {
		fn()
	}
	// Output:
	// mutation of Hosts.example.org(default/web@1): spec.Name was "www", is "changed for all readers"
}
