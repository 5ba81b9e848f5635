// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
)

// The ways in which machines get their configurations.
const (
	injectAPI  = "api"
	injectHTTP = "http"
)

func (f *createFlags) userDataFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.injection, "config-injection-method", injectAPI, "how machines get their configurations: "+injectAPI+
		" (from this command), or "+injectHTTP+" (virtual machines download them from their network's gateway, containers have them in their environment)")
	flags.StringVar(&f.lab.Cloud, "cloud", "", "start virtual machines as on this cloud: they get their configurations from its metadata server, as user data")
	session.Complete(cmd, "config-injection-method", injectAPI, injectHTTP)
	session.Complete(cmd, "cloud", metadata.Platforms()...)
}

// inject sets how the machines get their configurations.
func (c *creation) inject() (err error) {
	switch {
	case c.injection != injectAPI && c.injection != injectHTTP:
		return fmt.Errorf("--config-injection-method %q: want %s or %s", c.injection, injectAPI, injectHTTP)
	case c.lab.Cloud != "" && !slices.Contains(metadata.Platforms(), c.lab.Cloud):
		return fmt.Errorf("--cloud %q: want one of %s", c.lab.Cloud, strings.Join(metadata.Platforms(), ", "))
	case c.injection == injectHTTP:
		c.lab.Cloud = metadata.Metal
	}

	if c.lab.Cloud != "" && !c.skipConfig {
		c.lab.UserData, err = labcluster.UserData(c.kubernetesVersion, &c.config)
	}

	return err
}
