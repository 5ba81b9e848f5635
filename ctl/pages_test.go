// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/ctl/cluster"
)

// shown is a command in a page: in code, or after a prompt.
var shown = regexp.MustCompile("(?m)`talosctl ([^`]+)`|^ +\\$ (?:out/bin/)?talosctl (.*)$")

// TestPages checks that the commands that the documentation shows exist, with their flags.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}

	found := 0

	for _, page := range append(pages, "../README.md", "../ARCHITECTURE.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			found++

			if err := parses(m[1] + m[2]); err != nil {
				t.Errorf("%s: talosctl %s: %v", page, m[1]+m[2], err)
			}
		}
	}

	if found < 70 {
		t.Errorf("got %d commands, want more", found)
	}

	for _, bad := range []string{"patchh mc", "patch mc --dryrun", "get links -z", "inject nothing"} {
		if parses(bad) == nil {
			t.Errorf("talosctl %s: got no error", bad)
		}
	}
}

// placeholder is a word for which a reader puts another one.
var placeholder = regexp.MustCompile(`^([A-Z]+|…)$`)

// parses returns an error if a line of a shell has a command or a flag that talosctl does not have.
func parses(line string) error {
	line, _, _ = strings.Cut(strings.TrimSuffix(line, "\\"), "  #")

	var words []string

	for _, word := range strings.Fields(line) {
		if strings.ContainsAny(word[:1], "|>&") {
			break
		}

		words = append(words, word)
	}

	if placeholder.MatchString(words[0]) || strings.HasPrefix(words[0], "-") && len(words) == 1 {
		return nil // any command, and a flag of all
	}

	cmd, rest, err := New(cluster.Command()).Find(words)
	if err != nil {
		return err
	}

	err = cmd.ParseFlags(rest)

	switch args := cmd.Flags().Args(); {
	case err != nil && strings.HasPrefix(err.Error(), "flag needs an argument"): // a text about the flag
		return nil
	case err == nil && cmd.HasSubCommands() && len(args) > 0:
		return fmt.Errorf("%s has no command %s", cmd.Name(), args[0])
	default:
		return err
	}
}
