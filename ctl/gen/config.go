// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/secrets"
)

// configFlags holds the flags of "gen config".
type configFlags struct {
	secretsFile                             string
	patches, controlPlanePatch, workerPatch []string
	mirrors                                 []string
	kubernetesVersion, talosVersion         string
	discovery                               bool
	kubeSpan                                bool
	types                                   []string
	output                                  string
	opts                                    generate.Options
}

func configCommand(force *bool) *cobra.Command {
	var f configFlags

	cmd := &cobra.Command{
		Use:   "config <cluster name> <cluster endpoint>",
		Short: "Generate the machine configurations of a cluster and its client configuration",
		Long: `Generate controlplane.yaml, worker.yaml and talosconfig.

The cluster endpoint is the URL of the Kubernetes API servers, of one machine or of a load balancer:
https://10.5.0.2:6443.`,
		Example: `  talosctl gen config demo https://10.5.0.2:6443
  talosctl gen secrets && talosctl gen config demo https://10.5.0.2:6443 --with-secrets secrets.yaml
  talosctl gen config demo https://10.5.0.2:6443 --output-types worker --output -`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1], *force) },
	}

	flags := cmd.Flags()
	flags.StringVar(&f.secretsFile, "with-secrets", "", "file with the secrets of the cluster, from \"gen secrets\" (default: generate them)")
	flags.StringArrayVar(&f.patches, "config-patch", nil, "patch all machine configurations (inline, or @file)")
	flags.StringArrayVar(&f.controlPlanePatch, "config-patch-control-plane", nil, "patch the control plane configuration (inline, or @file)")
	flags.StringArrayVar(&f.workerPatch, "config-patch-worker", nil, "patch the worker configuration (inline, or @file)")
	flags.StringVar(&f.opts.InstallDisk, "install-disk", generate.DefaultInstallDisk, "the disk to install to")
	flags.StringVar(&f.opts.InstallImage, "install-image", "", "the image to install from (default: the installer of this release)")
	flags.StringVar(&f.kubernetesVersion, "kubernetes-version", strings.TrimPrefix(images.KubernetesVersion, "v"), "Kubernetes version to run")
	flags.StringVar(&f.talosVersion, "talos-version", "", talosVersionUsage)
	flags.StringSliceVar(&f.opts.AdditionalSANs, "additional-sans", nil, "additional names and addresses of the APIs")
	flags.StringVar(&f.opts.DNSDomain, "dns-domain", "cluster.local", "the DNS domain of the cluster")
	flags.StringSliceVar(&f.mirrors, "registry-mirror", nil, "registry mirrors, as HOST=URL")
	flags.BoolVar(&f.kubeSpan, "with-kubespan", false, "encrypt the traffic between the machines by KubeSpan (not available: must be false)")
	flags.BoolVar(&f.discovery, "with-cluster-discovery", true, "let the machines discover each other")
	flags.BoolVar(&f.opts.Docs, "with-docs", false, "explain the keys in comments")
	flags.BoolVar(&f.opts.Examples, "with-examples", false, "show keys and documents that could be added, as comments")
	flags.StringSliceVarP(&f.types, "output-types", "t", allTypes, "what to generate: "+strings.Join(allTypes, ", "))
	flags.StringVarP(&f.output, "output", "o", "", "directory for the files, or the file for a single output type, or - for the standard output")

	return cmd
}

func (f *configFlags) run(cmd *cobra.Command, name, endpoint string, force bool) error {
	// Without KubeSpan the traffic would not be encrypted.
	if f.kubeSpan {
		return fmt.Errorf("--with-kubespan: KubeSpan is not available in this version: omit it")
	}

	contract, err := contractOf(f.talosVersion)
	if err != nil {
		return err
	}

	f.opts.Contract = contract

	paths, err := destinations(f.types, f.output)
	if err != nil {
		return err
	}

	if err := f.complete(); err != nil {
		return err
	}

	for _, t := range f.types {
		if err := refuseExisting([]string{paths[t]}, force); err != nil {
			return err
		}
	}

	if err := warnRefused(cmd.ErrOrStderr(), contract); err != nil {
		return err
	}

	if f.opts.Secrets == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "generating PKI and tokens")
	}

	out, err := generate.New(name, endpoint, f.kubernetesVersion, f.opts)
	if err != nil {
		return err
	}

	texts := map[string][]byte{typeControlPlane: out.ControlPlane, typeWorker: out.Worker, typeTalosconfig: out.Talosconfig}

	for _, t := range f.types {
		if err := write(cmd.OutOrStdout(), paths[t], texts[t], force); err != nil {
			return err
		}

		if paths[t] != stdout {
			fmt.Fprintf(cmd.ErrOrStderr(), "Created %s\n", paths[t])
		}
	}

	return nil
}

// complete reads the files and values of the flags into the options.
func (f *configFlags) complete() (err error) {
	f.opts.NoClusterDiscovery = !f.discovery
	f.opts.NoInstall = f.opts.InstallDisk == ""

	if f.secretsFile != "" {
		if f.opts.Secrets, err = secrets.Load(f.secretsFile); err != nil {
			return err
		}
	}

	for _, p := range []struct {
		flag string
		args []string
		into *[]patch.Patch
	}{
		{"--config-patch", f.patches, &f.opts.Patches},
		{"--config-patch-control-plane", f.controlPlanePatch, &f.opts.ControlPlanePatches},
		{"--config-patch-worker", f.workerPatch, &f.opts.WorkerPatches},
	} {
		if *p.into, err = patch.Load(p.args); err != nil {
			return fmt.Errorf("%s: %w", p.flag, err)
		}
	}

	for _, mirror := range f.mirrors {
		host, url, found := strings.Cut(mirror, "=")
		if !found || host == "" || url == "" {
			return fmt.Errorf("--registry-mirror %q: want HOST=URL, such as docker.io=http://127.0.0.1:5000", mirror)
		}

		if f.opts.RegistryMirrors == nil {
			f.opts.RegistryMirrors = map[string][]string{}
		}

		f.opts.RegistryMirrors[host] = append(f.opts.RegistryMirrors[host], url)
	}

	return nil
}
