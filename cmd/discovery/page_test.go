// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "../../docs/discovery.md"

// shown is a command of the page.
var shown = regexp.MustCompile(`(?m)^    \$ (.*)$`)

// flagged is a flag that the page mentions in the text.
var flagged = regexp.MustCompile("`-([a-z0-9-]+)")

// TestPage runs the commands of the page, in their order, except those of talosctl, which package ctl checks.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	t.Chdir(dir)
	issue(t, "tls.crt", "tls.key")

	var (
		running service
		ran     int
	)

	for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
		words := strings.Fields(m[1])
		ran++

		switch words[0] {
		case "go":
			if want := "go build -o discovery ./cmd/discovery"; m[1] != want {
				t.Errorf("got %q, want %q", m[1], want)
			}
		case "./discovery":
			// The test's own addresses replace those of the page.
			if running.stop != nil {
				running.stop()
			}

			running = start(t, withoutAddresses(words[1:])...)
		case "curl":
			line := strings.NewReplacer("127.0.0.1:3001", running.landing, "127.0.0.1:2122", running.metrics).Replace(m[1])

			// This computer need not have curl.
			out := get(t, browser(nil), strings.Fields(line)[2])

			if strings.HasSuffix(line, "/stats") && !strings.Contains(string(text), "    "+out) {
				t.Errorf("%s: %s is not on the page", line, out)
			}
		case "talosctl":
		default:
			t.Errorf("%s: the test does not run it", m[1])
		}
	}

	if ran < 5 {
		t.Errorf("the page has %d commands", ran)
	}

	running.stop()

	if _, err := os.Stat(filepath.Join(dir, "state", "discovery.binpb")); err != nil {
		t.Error(err)
	}

	var o options

	known := flag.NewFlagSet("discovery", flag.ContinueOnError)
	o.flags(known)

	for _, m := range flagged.FindAllStringSubmatch(string(text), -1) {
		if known.Lookup(m[1]) == nil {
			t.Errorf("there is no flag -%s", m[1])
		}
	}
}

// withoutAddresses returns the flags of a command without those of addresses.
func withoutAddresses(words []string) (rest []string) {
	for i := 0; i < len(words); i++ {
		if strings.HasSuffix(words[i], "addr") {
			i++ // and its value

			continue
		}

		rest = append(rest, words[i])
	}

	return rest
}
