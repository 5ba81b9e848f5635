// SPDX-License-Identifier: Apache-2.0

package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link is a link or a picture of Markdown.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// heading is a heading of Markdown.
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// unlinked are the characters of a heading that its anchor does not have.
	unlinked = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors are the names by which links reach the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Error(err)
	}

	found := map[string]bool{}

	for _, m := range heading.FindAllSubmatch(text, -1) {
		found[strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(string(m[1])), ""), " ", "-")] = true
	}

	return found
}

// TestLinks checks that what pages link to exists, and that README.md links to every page of docs.
func TestLinks(t *testing.T) {
	linked, links := map[string]bool{}, 0

	each(t, ".md", func(file string, text []byte) {
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}

			links++

			to, anchor, _ := strings.Cut(m[1], "#")

			target := file
			if to != "" {
				target = path.Join(path.Dir(file), to)
			}

			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], err)
			}

			if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s: link to %s: the page has no such heading", file, m[1])
			}

			if file == "README.md" {
				linked[target] = true
			}
		}
	})

	if links < 50 {
		t.Errorf("got %d links, want more", links)
	}

	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}

	for _, page := range pages {
		if name := "docs/" + filepath.Base(page); !linked[name] {
			t.Errorf("README.md has no link to %s", name)
		}
	}
}
