// SPDX-License-Identifier: Apache-2.0

package house

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgramsAreFound checks that TestProgramsAreInATable finds programs in all forms in which this project passes their
// names.
func TestProgramsAreFound(t *testing.T) {
	const head = "package a\nimport (\"context\"; \"os\"; \"os/exec\"; \"slices\"; \"testing\")\n"

	for _, tt := range []struct {
		name, code    string
		want, unknown string
	}{
		{"a literal", `func f() { exec.Command("ip", "link") }`, "ip", ""},
		{"a constant", `const tool = "ip"; func f(ctx context.Context) { exec.CommandContext(ctx, tool) }`, "ip", ""},
		{"what was looked up", `func f() { p, err := exec.LookPath("ip"); _ = err; exec.Command(p) }`, "ip", ""},
		{"through a function", `func run(n int, name string) { exec.Command(name) }; func f() { run(1, "ip") }`, "ip", ""},
		{"through two", `func a(name string) { b(name) }; func b(name string) { exec.Command(name) }; func f() { a("ip") }`, "ip", ""},
		{"the first of a list", `func run(c ...string) { exec.Command(c[0], c[1:]...) }; func f() { run("ip", "link") }`, "ip", ""},
		{"a list that is passed on", `func run(c ...string) { exec.Command(c[0], c[1:]...) }; func f() { run(append([]string{"ip"}, "link")...) }`, "ip", ""},
		{"something before the list", `func run(c ...string) { c = append([]string{"sudo"}, c...); exec.Command(c[0]) }; func f() { run("ip") }`, "ip sudo", ""},
		{"a loop", `func f() { for _, n := range []string{"as", "ld"} { exec.Command(n) } }`, "as ld", ""},
		{"a table", `func f() { for _, tt := range []struct{ n string; c []string }{{"x", []string{"ip", "a"}}, {"y", []string{"tc"}}} { exec.Command(tt.c[0]) } }`, "ip tc", ""},
		{"a map of names", `func f() { for n := range map[string]int{"ip": 1} { exec.Command(n) } }`, "ip", ""},
		{"a method", `type r struct{}; func (r) run(n string) { exec.Command(n) }; func f() { var x r; x.run("ip") }`, "ip", ""},
		{"a function that finds one", `func find() string { return "ip" }; func f() { exec.Command(find()) }`, "ip", ""},
		{"the test itself", `func f() { exec.Command(os.Args[0]) }`, "", ""},
		{"a command without Command", `func f() { _ = exec.Cmd{Path: "/bin/true"} }`, "/bin/true", ""},
		{"said", "func f(x []string) {\n\t//program:ip,tc by x\n\texec.Command(x[1])\n}", "ip tc", ""},
		{"said to be built", "func f(x []string) {\n\t//program:built kubectl\n\texec.Command(x[1])\n}", "", ""},
		{"said without a reason", "func f(x []string) {\n\t//program:built\n\texec.Command(x[1])\n}", "", "a.go:5"},
		{"not to be told", "func f(x []string) {\n\texec.Command(x[1])\n}", "", "a.go:4"},
		{"from the environment", "func f() {\n\texec.Command(os.Getenv(\"EDITOR\"))\n}", "", "a.go:4"},
		{"made of itself", "func f() {\n\tn := \"\"\n\tn = n\n\texec.Command(n)\n}", "", "a.go:6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := &goCode{packages: map[string]*goSource{}}
			if err := code.add("a.go", []byte(head+tt.code)); err != nil {
				t.Fatal(err)
			}

			code.search()

			if d := cmp.Diff(tt.want, names(code.found)); d != "" {
				t.Errorf("programs (-want +got):\n%s", d)
			}

			if d := cmp.Diff(tt.unknown, strings.Join(code.unknown, " ")); d != "" {
				t.Errorf("unknown programs (-want +got):\n%s", d)
			}
		})
	}
}

func TestShellProgramsAreFound(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"a command", "ip link", "ip"},
		{"a pipe and a substitution", `x=$(go env X | grep y); echo "$(awk 1)"`, "awk go grep"},
		{"words of the shell", "set -e; cd /; if [ -e x ]; then exit 1; fi", ""},
		{"what is run in place of the shell", "exec make test", "make"},
		{"with another's help", "nice sudo ip link", "ip nice sudo"},
		{"a function", "f() { ip; }; f", "ip"},
		{"in the tree", "out/bin/talosctl version; ./run", ""},
		{"in the image", "/usr/sbin/ip", "/usr/sbin/ip"},
		{"by a variable", `"$TOOL" x`, "a program named by a variable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := scriptPrograms("x", tt.script)
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(tt.want, names(found)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestMakeProgramsAreFound(t *testing.T) {
	found, err := makePrograms("Makefile", []byte("GO ?= go\nBUILD = $(GO) run ./build $(FLAGS)\nKIND = $(if $(filter x,$(IN)),y,z)\nall: dep\n\t@$(BUILD) --kind $(KIND)\n\t-rm -rf $$HOME/x $(OUT)\n"))
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff("go rm", names(found)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// names returns the names of the places, sorted and without duplicates.
func names(places []place) string {
	var all []string
	for _, p := range places {
		all = append(all, p.name)
	}

	slices.Sort(all)

	return strings.Join(slices.Compact(all), " ")
}
