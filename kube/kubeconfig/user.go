// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
)

// environment names the files that kubectl reads, as a list of paths.
const environment = "KUBECONFIG"

// environmentProxy returns the proxy that the environment sets for a URL. It is a variable for tests, since net/http reads the environment once.
var environmentProxy = func(server *url.URL) (*url.URL, error) {
	return http.ProxyFromEnvironment(&http.Request{URL: server})
}

// userPaths returns the files that kubectl reads.
func userPaths() ([]string, error) {
	if paths := slices.DeleteFunc(filepath.SplitList(os.Getenv(environment)), func(p string) bool { return p == "" }); len(paths) > 0 {
		return paths, nil
	}

	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find kubeconfig: %w", err)
	}

	return []string{filepath.Join(home, ".kube", "config")}, nil
}

// UserPath returns the file that kubectl would change.
func UserPath() (string, error) {
	paths, err := userPaths()
	if err != nil {
		return "", err
	}

	return paths[0], nil
}

// ForUser returns config with the user's own way to the cluster: the server and proxy of the user's kubeconfig, if that has the cluster,
// else the proxy that the environment sets. An endpoint, if not empty, replaces the server.
func ForUser(config Config, endpoint string) Config {
	if own := ownCluster(config.CA); own != nil {
		config.Server, config.TLSServerName, config.ProxyURL = own.Server, own.TLSServerName, own.ProxyURL
	}

	if endpoint != "" {
		config.Server, config.TLSServerName = endpoint, ""
	}

	if server, err := url.Parse(config.Server); config.ProxyURL == "" && err == nil {
		if proxy, err := environmentProxy(server); err == nil && proxy != nil {
			config.ProxyURL = proxy.String()
		}
	}

	return config
}

// ownCluster returns the cluster with the authority in the user's own files, that of the current context if there are several. It is nil for
// none, and when a file cannot be decoded.
func ownCluster(ca []byte) *Cluster {
	paths, err := userPaths()
	if err != nil || len(bytes.TrimSpace(ca)) == 0 {
		return nil
	}

	// The first entry of a name counts, as with kubectl.
	var own File

	for _, path := range paths {
		f, err := Read(path)
		if err != nil {
			return nil
		}

		if own.CurrentContext == "" {
			own.CurrentContext = f.CurrentContext
		}

		for _, e := range f.Clusters {
			if e.Cluster != nil && e.Cluster.CAFile != "" && !filepath.IsAbs(e.Cluster.CAFile) {
				e.Cluster.CAFile = filepath.Join(filepath.Dir(path), e.Cluster.CAFile)
			}

			if find(own.Clusters, e.Name) == nil {
				own.Clusters = append(own.Clusters, e)
			}
		}

		own.Contexts = append(own.Contexts, f.Contexts...)
	}

	own.Clusters = slices.DeleteFunc(own.Clusters, func(e Entry) bool { return e.Cluster == nil || !e.Cluster.signedBy(ca) })

	if c := find(own.Contexts, own.CurrentContext); c != nil && c.Context != nil {
		if e := find(own.Clusters, c.Context.Cluster); e != nil {
			return e.Cluster
		}
	}

	if len(own.Clusters) == 0 {
		return nil
	}

	return own.Clusters[0].Cluster
}

// signedBy reports whether ca (PEM) is the cluster's authority.
func (c *Cluster) signedBy(ca []byte) bool {
	own, err := inlineOrFile(c.CA, c.CAFile)

	return err == nil && bytes.Equal(bytes.TrimSpace(own), bytes.TrimSpace(ca))
}
