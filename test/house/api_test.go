// SPDX-License-Identifier: Apache-2.0

package house

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/wire"
	"github.com/seed-59268b81/talos/ctl"
	"github.com/seed-59268b81/talos/ctl/cluster"
)

// apiRow is a row of a table in docs/api.md.
type apiRow struct {
	section string
	// name is the RPC or the command; about has its roles or its description.
	name, about, status, e2e string
}

const (
	commandsSection = "Commands"
	absentSection   = "What is not there"
)

// The states of a row. The last three are followed by the machine's error message; the last state is for containers only.
const (
	works        = "works"
	notYet       = "not yet: "
	refused      = "refused: "
	needsMachine = "needs a machine: "
)

// apiRows returns the rows of the tables, by RPC (with its service) or command, and the rows of missing ones.
func apiRows(t *testing.T) (rpcs, commands, absent map[string]apiRow) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}

	rpcs, commands, absent = map[string]apiRow{}, map[string]apiRow{}, map[string]apiRow{}
	section := ""

	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "##") {
			section = title
		}

		if !strings.HasPrefix(line, "| `") {
			continue
		}

		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}

		name := strings.Trim(cells[0], "`")
		into := rpcs

		switch section {
		case commandsSection:
			into = commands
		case absentSection:
			into = absent
		default:
			name = section + "/" + name
		}

		if into[name].name != "" {
			t.Errorf("docs/api.md has %s twice", name)
		}

		if section == absentSection && len(cells) == 2 {
			into[name] = apiRow{section: section, name: name, status: notYet + cells[1]}

			continue
		}

		if len(cells) != 4 {
			t.Errorf("docs/api.md: %q has %d columns, want 4", line, len(cells))

			continue
		}

		into[name] = apiRow{section: section, name: name, about: cells[1], status: cells[2], e2e: strings.Trim(cells[3], "`")}
	}

	return rpcs, commands, absent
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)

	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("docs/api.md has the %s %s, which does not exist", what, name)
		}
	}

	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("docs/api.md lacks the %s %s", what, name)
		}
	}
}

// describedRPCs returns the RPCs of api/, by service and method.
func describedRPCs(t *testing.T) []string {
	t.Helper()

	compiled, err := wire.Compile(context.Background(), os.DirFS(filepath.Join(root, "api")))
	if err != nil {
		t.Fatal(err)
	}

	var all []string

	for _, file := range compiled {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for m := range service.Methods().Len() {
				all = append(all, string(service.FullName())+"/"+string(service.Methods().Get(m).Name()))
			}
		}
	}

	return all
}

// letters of machine/server/testdata/roles.txt, which tests there compare with the rules.
var letters = map[rune]string{
	'A': "admin", 'O': "operator", 'R': "reader", 'E': "etcd:backup", 'V': "image:verifier", 'M': "meta:writer",
	'r': "reader until configured",
}

// ruledRoles returns the roles of each call with a rule, in the form of the table.
func ruledRoles(t *testing.T) map[string]string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, "machine", "server", "testdata", "roles.txt"))
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]string{}

	for line := range strings.Lines(string(text)) {
		method, who, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}

		var roles []string
		for _, letter := range who {
			roles = append(roles, letters[letter])
		}

		all[method] = strings.Join(roles, ", ")
	}

	return all
}

// TestDocumentedCalls compares the tables of RPCs with the RPCs, their roles, and the tests.
func TestDocumentedCalls(t *testing.T) {
	rpcs, _, _ := apiRows(t)
	same(t, "RPC", slices.Collect(maps.Keys(rpcs)), describedRPCs(t))

	roles := ruledRoles(t)
	for method := range roles {
		if _, ok := rpcs[method]; !ok {
			t.Errorf("machine/server has a rule for %s, but docs/api.md has no row", method)
		}
	}

	tests, sentences := e2eTests(t), unimplemented(t)

	for name, row := range rpcs {
		if want, ruled := roles[name]; ruled && row.about != want {
			t.Errorf("roles of %s: got %q, want %q", name, row.about, want)
		}

		checkStatus(t, row, sentences)

		if row.e2e == "" {
			continue
		}

		test, ok := tests[row.e2e]
		if !ok {
			t.Errorf("%s: there is no test %q in test/e2e", name, row.e2e)

			continue
		}

		if test.calls != nil && !slices.Contains(test.calls, name) {
			t.Errorf("%s: the test %q makes the calls %q", name, row.e2e, test.calls)
		}
	}

	for name, test := range tests {
		for _, call := range test.calls {
			if _, ok := rpcs[call]; !ok {
				t.Errorf("the test %q of test/e2e makes the call %s, which does not exist", name, call)
			}
		}
	}
}

// checkStatus requires a test for a call that works or is refused, unless the machine is its client, and the machine's error message for one that does not work.
func checkStatus(t *testing.T, row apiRow, sentences []string) {
	t.Helper()

	sentence, isNot := strings.CutPrefix(row.status, notYet)

	switch {
	case isNot && row.e2e != "":
		t.Errorf("%s: it does not work, but has the test %q", row.name, row.e2e)
	case isNot && row.about != noRoles && !slices.Contains(sentences, sentence):
		t.Errorf("%s: no code of machine/server returns %q", row.name, sentence)
	case !isNot && row.status != works && !strings.HasPrefix(row.status, refused) && !strings.HasPrefix(row.status, needsMachine):
		t.Errorf("%s: unknown status %q", row.name, row.status)
	case !isNot && row.e2e == "" && row.about != noRoles && row.about != noTool:
		t.Errorf("%s: %s, but has no test", row.name, row.status)
	}
}

// noTool is in the column of roles if the callers are machines of the cluster and no tool: the tests are those of the packages.
const noTool = "the cluster's secret"

// noRoles is in the column of roles if none of our programs serves the call.
const noRoles = "not served"

// TestDocumentedCommands compares the table of commands with talosctl.
func TestDocumentedCommands(t *testing.T) {
	_, documented, absent := apiRows(t)
	talosctl := ctl.New(cluster.Command())
	talosctl.InitDefaultCompletionCmd()

	shorts := map[string]string{}
	runnable(talosctl, shorts)
	same(t, "command", slices.Collect(maps.Keys(documented)), slices.Collect(maps.Keys(shorts)))

	tests, sentences := e2eTests(t), unimplemented(t)

	for name, row := range documented {
		if row.about != shorts[name] {
			t.Errorf("description of %s: got %q, want %q", name, row.about, shorts[name])
		}

		checkStatus(t, row, sentences)

		if row.e2e == "" {
			continue
		}

		if test, ok := tests[row.e2e]; !ok {
			t.Errorf("%s: there is no test %q in test/e2e", name, row.e2e)
		} else if !strings.Contains(test.text, name) {
			t.Errorf("%s: the test %q does not run it", name, row.e2e)
		}
	}

	for name := range absent {
		if _, there := shorts[name]; there {
			t.Errorf("docs/api.md says that there is no %s, but it exists", name)
		}
	}
}

// runnable returns the commands that can run, by their path below talosctl. help is cobra's.
func runnable(cmd *cobra.Command, shorts map[string]string) {
	for _, c := range cmd.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}

		if c.Runnable() && (!c.HasSubCommands() || c.RunE != nil) {
			shorts[strings.TrimPrefix(c.CommandPath(), "talosctl ")] = strings.ReplaceAll(c.Short, "|", "/")
		}

		runnable(c, shorts)
	}
}
