// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestUserData starts machines that get their configuration by themselves: a container from its environment, and virtual machines from the
// metadata server of a cloud, from a seed of NoCloud, and by talos.config.
func TestUserData(t *testing.T) {
	for _, tt := range []struct {
		cloud    string // none for a container
		platform string
		level    string
	}{
		{"", "container", ""},
		{"hcloud", "hcloud", cluster.Landing},
		{metadata.Metal, "metal", cluster.Landing},
		{metadata.NoCloud, "nocloud", cluster.All},
	} {
		t.Run(tt.platform, func(t *testing.T) {
			options := lab.Options{Provisioner: state.Container}

			if tt.cloud != "" {
				cluster.Above(t, tt.level, "boots a virtual machine")
				cluster.NeedsTime(t, 10*time.Minute)

				options = lab.Options{Provisioner: state.QEMU, Cloud: tt.cloud}
			}

			c := cluster.StartConfigured(t, options)

			c.Measured("configured by itself", c.Answers()) // to its administrator, whom it knows from the configuration

			if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err == nil {
				t.Error("a client without a certificate applied a second configuration")
			}

			knowsItself(t, c, tt.platform)

			if tt.cloud == metadata.Metal {
				downloaded(t, c)
			}

			bootsWithout(t, c)
		})
	}
}

// bootsWithout boots the machine again while its metadata server is silent: the configuration is on STATE.
func bootsWithout(t *testing.T, c *cluster.Cluster) {
	if !c.Contained() {
		if err := c.Lab.EditServices(t.Context(), state.OnlyNetwork, func(s *world.Services) { s.Metadata.Silent = true }); err != nil {
			t.Fatal(err)
		}
	}

	powerCycle(t, c)
	c.Measured("the next boot", c.Answers())
}

// knowsItself checks what the machine says about its platform: on a cloud the name that the metadata server gave it.
func knowsItself(t *testing.T, c *cluster.Cluster, platform string) {
	c.Until("the machine knows its platform", time.Minute, func(ctx context.Context) error {
		var got struct {
			Platform string `yaml:"platform"`
			Hostname string `yaml:"hostname"`
		}

		if _, err := c.Resource(ctx, "runtime", "PlatformMetadatas.talos.dev", "platformmetadata", &got); err != nil {
			return err
		}

		cloud := slices.Contains(metadata.Platforms(), platform)
		if name, _, _ := strings.Cut(got.Hostname, "."); got.Platform != platform || cloud && name != c.Node.Name {
			return fmt.Errorf("it says %+v", got)
		}

		return nil
	})
}

// downloaded checks that the machine replaced the variables of talos.config. The server refuses wrong values.
func downloaded(t *testing.T, c *cluster.Cluster) {
	log, err := os.ReadFile(c.Lab.State().LogPath())
	if err != nil {
		t.Fatal(err)
	}

	requests := regexp.MustCompile(regexp.QuoteMeta(metadata.ConfigPath)+`\?([^\s"]+)`).FindAllSubmatch(log, -1)
	if len(requests) == 0 {
		t.Fatalf("the log of the lab has no request for %s", metadata.ConfigPath)
	}

	// Before the answer of the DHCP server the machine has another name.
	query, err := url.ParseQuery(string(requests[len(requests)-1][1]))
	if err != nil {
		t.Fatal(err)
	}

	name, _, _ := strings.Cut(query.Get("hostname"), ".")

	got := []string{strings.ToLower(query.Get("uuid")), query.Get("mac"), name}
	if want := []string{c.Node.UUID, c.Node.Cards[0].MAC, c.Node.Name}; !slices.Equal(got, want) {
		t.Errorf("the machine requested its configuration with %q, want %q", got, want)
	}
}
