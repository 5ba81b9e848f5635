// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newImageBundleCommand(s *session.Session) *cobra.Command {
	var version, flannel, etcd, coredns string

	cmd := &cobra.Command{
		Use:     "k8s-bundle",
		Aliases: []string{"default"},
		Short:   "Print the images that Kubernetes on a node needs",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			references := append(images.Kubernetes(version),
				images.Flannel+":"+flannel, images.CoreDNS+":"+coredns, images.Etcd+":"+etcd, images.DefaultPause)

			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(references, "\n"))

			return err
		},
	}

	cmd.Flags().StringVar(&version, "k8s-version", images.KubernetesVersion, "version of Kubernetes")
	cmd.Flags().StringVar(&flannel, "flannel-version", images.FlannelVersion, "version of flannel")
	cmd.Flags().StringVar(&etcd, "etcd-version", images.EtcdVersion, "version of etcd")
	cmd.Flags().StringVar(&coredns, "coredns-version", images.CoreDNSVersion, "version of CoreDNS")

	return cmd
}
