// SPDX-License-Identifier: Apache-2.0

//go:build linux

package platform

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/capability"
)

const inside, outside = "pid:[4026532234]", initialPIDNamespace

var (
	all        = capability.Rights{Effective: 0x1ffffffffff}
	noResource = capability.Rights{Effective: 0x1fffeffffff}
	user       = capability.Rights{Effective: 0x1ffffffffff, UserNamespace: true}
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name  string
		found found
		want  Platform
	}{
		{"a computer", found{pidNamespace: outside, rights: all}, Platform{}},
		{"a kernel argument", found{mode: "container", userData: "x", pidNamespace: outside, rights: all}, Platform{}},
		{
			"a container with all rights",
			found{mode: "container", userData: "e30=", pidNamespace: inside, rights: all, cgroup2: true},
			Platform{Mode: Container, UserData: "e30="},
		},
		{
			"a host with cgroup v1 that keeps a capability",
			found{mode: "container", pidNamespace: inside, rights: noResource},
			Platform{Mode: Container, Limits: Limits{CgroupV1: true, NoResource: true}},
		},
		{
			"a limit of the memory",
			found{mode: "container", pidNamespace: inside, rights: all, cgroup2: true, memory: 24 << 30, memoryLimit: "4294967296\n"},
			Platform{Mode: Container, Limits: Limits{ForeignMemory: 20 << 30}},
		},
		{
			"a limit of more than there is",
			found{mode: "container", pidNamespace: inside, rights: all, cgroup2: true, memory: 24 << 30, memoryLimit: "9223372036854771712\n"},
			Platform{Mode: Container},
		},
		{
			"no limit",
			found{mode: "container", pidNamespace: inside, rights: all, cgroup2: true, memory: 24 << 30, memoryLimit: "max\n"},
			Platform{Mode: Container},
		},
		{
			// The capability counts in the initial user namespace only.
			"without root",
			found{mode: "container", pidNamespace: inside, rights: user, cgroup2: true},
			Platform{Mode: Container, Limits: Limits{UserNamespace: true, NoResource: true}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decide(tt.found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A container without the variable must not be treated as a computer, because it would change the host's kernel.
func TestUndeclaredContainer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		found found
		fails bool
	}{
		{"a computer", found{pidNamespace: outside}, false},
		{"a computer without /proc", found{}, false},
		{"a kernel argument", found{mode: "container", pidNamespace: outside}, false},
		{"a container", found{mode: "container", pidNamespace: inside}, false},
		{"a container without the variable", found{pidNamespace: inside}, true},
		{"a container with another word", found{mode: "docker", pidNamespace: inside}, true},
	} {
		if err := tt.found.undeclared(); (err != nil) != tt.fails {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func TestConditions(t *testing.T) {
	if got := (Platform{}).Conditions(); len(got) != 0 {
		t.Errorf("a computer of its own has conditions %v", got)
	}

	for _, tt := range []struct {
		name   string
		limits Limits
		also   []Facility
	}{
		{"with all rights", Limits{}, nil},
		{"cgroup v1", Limits{CgroupV1: true}, []Facility{CgroupReservations}},
		{"little memory", Limits{ForeignMemory: 1}, []Facility{Memory}},
		{"no capability", Limits{NoResource: true}, []Facility{OOMScores}},
		{"no root", Limits{UserNamespace: true, NoResource: true}, []Facility{OOMScores, RootUser}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Platform{Mode: Container, Limits: tt.limits}
			want := map[Facility]bool{}

			for _, f := range append(tt.also, KernelModules, KernelParameters, KernelArguments, KernelLog, FileSystems, Disks, Clock, CrashEvidence, NetworkCards) {
				want[f] = true
			}

			got := map[Facility]bool{}

			for _, c := range p.Conditions() {
				got[c.Facility] = true

				if c.Reason == "" || c.Message == "" || p.Owns(c.Facility) {
					t.Errorf("%s: got reason %q, message %q, owned %t", c.Facility, c.Reason, c.Message, p.Owns(c.Facility))
				}
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A condition must correspond to code: each facility is used outside of this package.
func TestEveryFacilityIsAskedFor(t *testing.T) {
	root := filepath.Join("..", "..")
	asked := map[string]bool{}

	for _, part := range []string{"machine", "controllers", "sys"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/platform/") {
				return err
			}

			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}

			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "platform" {
						asked[s.Sel.Name] = true
					}
				}

				return true
			})

			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	file, err := parser.ParseFile(token.NewFileSet(), "facilities.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	count := 0

	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}

		for _, s := range g.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && v.Type != nil {
				if count++; !asked[v.Names[0].Name] {
					t.Errorf("no code asks whether the machine owns platform.%s", v.Names[0].Name)
				}
			}
		}
	}

	if count != len(facilities) {
		t.Errorf("%d facilities have a constant, %d a row", count, len(facilities))
	}
}
