// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/program"
	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

func TestRecipesAreTheImagesOfTheCache(t *testing.T) {
	var got []string
	for _, r := range imageRecipes() {
		got = append(got, r.reference)
	}

	want := images.Cache()
	slices.Sort(want)
	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-config/images +built):\n%s", diff)
	}
}

func TestImagesOfTheCacheHaveOneVersionEach(t *testing.T) {
	seen := map[string]string{}

	for _, reference := range images.Cache() {
		repository, _, tagged := strings.Cut(reference, ":")
		if !tagged {
			t.Errorf("image reference %q has no tag", reference)
		}

		if other, twice := seen[repository]; twice {
			t.Errorf("images %s and %s are two versions of one repository", other, reference)
		}

		seen[repository] = reference
	}
}

// releaseSource returns the folder of the Kubernetes release, if a build has downloaded it.
func releaseSource(t *testing.T) string {
	t.Helper()

	source, err := program.ReleaseSource(t.Context(), "../..")
	if err == nil && source == "" {
		err = fs.ErrNotExist
	}

	if err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the module k8s.io/kubernetes is not in this machine's module cache (%w): run go mod download there", err))
	}

	return source
}

func TestVersionsInsideTheKubernetesRelease(t *testing.T) {
	// The versions in config/images must be those of the release's Makefile.
	source := releaseSource(t)

	for file, test := range map[string]struct{ pattern, want string }{
		"build/pause/Makefile":        {`(?m)^TAG \?= (.*)$`, images.PauseVersion},
		"test/images/agnhost/VERSION": {`(?m)^(.*)$`, images.AgnhostVersion},
	} {
		raw, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			t.Fatal(err)
		}

		match := regexp.MustCompile(test.pattern).FindStringSubmatch(string(raw))
		if match == nil || match[1] != test.want {
			t.Errorf("%s: got version %q, config/images says %q", file, match, test.want)
		}
	}
}

func TestSourcesAreThere(t *testing.T) {
	if _, err := source.Of("../..", imageSources...); err != nil {
		t.Error(err)
	}
}
