// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentation checks that the page has a row for each cloud.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-zA-Z-]+) \| .* \|$`).FindAllSubmatch(page, -1) {
		if name := string(row[1]); name != "name" {
			got = append(got, name)
		}
	}

	if diff := cmp.Diff(Names(), got); diff != "" {
		t.Errorf("docs/platforms.md (-want +got):\n%s", diff)
	}
}
