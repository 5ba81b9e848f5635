// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/pki"
)

// info is the output of "config info".
type info struct {
	Context   string     `json:"context" yaml:"context"`
	Nodes     []string   `json:"nodes" yaml:"nodes"`
	Endpoints []string   `json:"endpoints" yaml:"endpoints"`
	Roles     []string   `json:"roles" yaml:"roles"`
	ProxyURL  string     `json:"proxyURL,omitempty" yaml:"proxyURL,omitempty"`
	CertTTL   string     `json:"certTTL" yaml:"certTTL"`
	CertEnd   *time.Time `json:"certNotAfter" yaml:"certNotAfter"`
}

func infoCommand(f *file) *cobra.Command {
	var output string

	cmd := &cobra.Command{
		Use:   "info",
		Short: "Show the current context",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := f.info(time.Now())
			if err != nil {
				return err
			}

			return i.print(cmd.OutOrStdout(), output)
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", "text", "output format: text, json or yaml")

	return cmd
}

func (f *file) info(now time.Time) (info, error) {
	c, path, err := f.load()
	if err != nil {
		return info{}, err
	}

	context, err := c.Find(f.context)
	if err != nil {
		return info{}, fmt.Errorf("%s: %w", path, err)
	}

	i := info{Context: cmp.Or(f.context, c.Context), Nodes: append([]string{}, context.Nodes...), Endpoints: append([]string{}, context.Dial()...)}

	if proxy, err := url.Parse(context.ProxyURL); err == nil {
		i.ProxyURL = proxy.Redacted()
	}

	if len(context.Crt) == 0 {
		return i, nil
	}

	cert, err := pki.ParseCertificate(context.Crt)
	if err != nil {
		return info{}, fmt.Errorf("%s: context %q: %w", path, i.Context, err)
	}

	i.Roles, i.CertEnd, i.CertTTL = cert.Subject.Organization, &cert.NotAfter, until(cert.NotAfter, now)

	return i, nil
}

func (i info) print(out io.Writer, format string) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")

		return encoder.Encode(i)
	case "yaml":
		return yaml.NewEncoder(out).Encode(i)
	case "text":
	default:
		return fmt.Errorf("--output %q: want text, json or yaml", format)
	}

	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)

	fmt.Fprintf(w, "Current context:\t%s\nNodes:\t%s\nEndpoints:\t%s\n", i.Context, list(i.Nodes), list(i.Endpoints))

	if i.ProxyURL != "" {
		fmt.Fprintf(w, "Proxy URL:\t%s\n", i.ProxyURL)
	}

	if i.CertEnd != nil {
		fmt.Fprintf(w, "Roles:\t%s\n", list(i.Roles))
		fmt.Fprintf(w, "Certificate expires:\t%s (%s)\n", i.CertTTL, i.CertEnd.UTC().Format(time.DateOnly))
	}

	return w.Flush()
}

func list(values []string) string { return cmp.Or(strings.Join(values, ", "), "not defined") }

// until formats how far away a time is, in the largest unit that fits.
func until(when, now time.Time) string {
	const day = 24 * time.Hour

	away, side := when.Sub(now), "from now"
	if away < 0 {
		away, side = -away, "ago"
	}

	// A year of a certificate is 365 days, less the moment that passed since.
	away += time.Hour

	for _, unit := range []struct {
		size time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}} {
		switch n := away / unit.size; {
		case n == 1:
			return fmt.Sprintf("1 %s %s", unit.name, side)
		case n > 1:
			return fmt.Sprintf("%d %ss %s", n, unit.name, side)
		}
	}

	return "within the hour"
}
